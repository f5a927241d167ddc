// What a pass that plays has not yet reached: the model without anything in it, so that all of it is
// seen from the first moment, and what the pass brings is not.

import { svg } from "lit/html.js";
import { slabOf, slotsOf, WIDER } from "./lanes.mjs";
import { DEEP } from "./layout.mjs";
import { facesOf, sides } from "./tiles.mjs";

/** @import { Box, Layout } from "./layout.mjs" */

/**
 * Rooms and their names, empty lanes, MLPs and slots.
 * @param {Layout} layout
 * @param {{chosen: number, rooms: Box[], titles: unknown, bars: number}} more  `chosen`: lane; `bars`:
 *   of the next token
 */
export function ahead(layout, { chosen, rooms, titles, bars }) {
  const { nLayer, lanes, folded, wide, plank } = layout;
  const whole = (/** @type {Box} */ box, /** @type {number} */ deep) =>
    `M${box.x} ${box.y}h${box.width}v${box.height}h${-box.width}z${facesOf(box, deep).join("")}`;
  const shapes = Array.from({ length: lanes }, (_, lane) => {
    const thick = lane === chosen ? 5 : 3;
    const pipe = layout.bar(wide ? 0.86 : 0.8, nLayer + 1.01, lane, thick);
    const slabs = Array.from({ length: folded ? 0 : nLayer }, (_, block) =>
      whole(slabOf(layout, block, lane, thick), WIDER * plank),
    );
    return svg`<path d=${whole(pipe, plank)}></path><path d=${slabs.join("")}></path>`;
  });
  /** @type {(box: Box, rx: number, kind: string) => unknown} */
  const box = ({ x, y, width, height }, rx, kind) =>
    svg`<rect class=${kind} x=${x} y=${y} width=${width} height=${height} rx=${rx}></rect>`;
  return svg`${rooms.map((room) => [sides(room, DEEP), box(room, 0, "place")])}${shapes}
    ${slotsOf(layout, bars).map((slot) => box(slot, 6, "bare"))}${titles}`;
}
