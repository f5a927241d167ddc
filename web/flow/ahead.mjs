// What a pass that plays has not yet reached: the model without anything in it, so that all of it is
// seen from the first moment, and what the pass brings is not.

import { svg } from "lit/html.js";
import { slotsOf } from "./lanes.mjs";
import { DEEP, WIDER } from "./layout.mjs";
import { facesOf, sides } from "./tiles.mjs";

/** @import { Box, Layout } from "./layout.mjs" */

/**
 * Rooms and their names, empty lanes, MLPs and slots.
 * @param {Layout} layout
 * @param {{chosen: number, rooms: Box[], titles: unknown, bars: number, begins: number}} more
 *   `chosen`: lane; `bars`: of the next token; `begins`: depth at which lanes begin
 */
export function ahead(layout, { chosen, rooms, titles, bars, begins }) {
  const { nLayer, lanes, plank } = layout;
  /** Boxes of one depth. @type {(boxes: Box[], deep: number) => unknown} */
  const solids = (boxes, deep) => {
    const faces = boxes.map((box) => facesOf(box, deep));
    const fronts = boxes.map(
      ({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`,
    );
    const [tops, rights] = [0, 1].map((i) => faces.map((both) => both[i]).join(""));
    return svg`<path class="top" d=${tops}></path><path class="side" d=${rights}></path><path d=${fronts.join("")}></path>`;
  };
  const shapes = Array.from({ length: lanes }, (_, lane) => {
    const thick = lane === chosen ? 5 : 3;
    const pipe = layout.bar(begins, nLayer + 1.01, lane, thick);
    const slabs = Array.from({ length: nLayer }, (_, block) => layout.slab(block, lane, thick));
    return [solids([pipe], plank), solids(slabs, WIDER * plank)];
  });
  /** @type {(box: Box, rx: number, kind: string) => unknown} */
  const box = ({ x, y, width, height }, rx, kind) =>
    svg`<rect class=${kind} x=${x} y=${y} width=${width} height=${height} rx=${rx}></rect>`;
  return svg`${rooms.map((room) => [sides(room, DEEP), box(room, 0, "place")])}${shapes}
    ${slotsOf(layout, bars).map((slot) => box(slot, 6, "bare"))}${titles}`;
}
