// Level 1: a block.
import { svg } from "lit/html.js";
/** @import { Scene, View } from "./flow.mjs" */
/** @param {View} view @returns {Scene} */
export function block({ place, width }) {
  return {
    height: 420,
    body: svg`<text x="20" y="40">block ${place.block}</text><rect x="0" y="0" width=${width} height="420" fill="none" stroke="gray"></rect>`,
    boxes: () => ({ x: 100, y: 50, width: 300, height: 200 }),
  };
}
