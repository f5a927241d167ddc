// The weights below the whole: every matrix with its true area, those of a block below that block.

import { nothing, svg } from "lit/html.js";

/** @import { Box, Layout } from "./layout.mjs" */
/** A matrix, by its module. @typedef {Box & {module: string, name: string, block?: number}} Tile */

export const BAND = 96; // px that they have, where depth runs to the right
const SIDE = 30; // px at most of as many weights as a vector has numbers
const NAMES = 94; // px beside a block's
/** Of a block, in such sides: what stands where. @type {[string, number, number, number][]} */
const BLOCK = [
  ["attn.c_attn", 0, 0, 3],
  ["attn.c_proj", 3, 0, 1],
  ["mlp.c_fc", 0, 1, 4],
  ["mlp.c_proj", 0, 2, 4],
];

/**
 * @param {Layout} layout
 * @param {{nEmbd: number, vocabSize: number, blockSize?: number}} sizes  `blockSize`: not known before
 *   the model is there
 */
export function tilesOf(layout, { nEmbd: C, vocabSize: V, blockSize: S = 0 }) {
  const { wide, nLayer, width, end } = layout;
  /** @type {{x: number, width: number}[]} */
  const [begin, first, last] = wide
    ? [0, 1, nLayer + 1].map((n) => layout.zone(n))
    : [
        { x: width - 76, width: 76 },
        { x: 2, width: (width - 8) / nLayer },
        { x: 0, width: width - 80 },
      ];
  const room = (/** @type {{width: number}} */ { width }) => width - 16;
  const most = (/** @type {number} */ rows, /** @type {{width: number}} */ box) =>
    Math.sqrt((2 * SIDE * room(box) * C) / rows);
  const edge = Math.min(8, first.width / 8);
  const side = Math.min(
    SIDE,
    (first.width - 2 * edge) / 4,
    most(V, last),
    S ? most(S, begin) : SIDE,
  );
  const gap = Math.min(1, side / 8);
  const y = end + (wide ? 16 : 3 * side + 18);
  /** @type {(name: string, rows: number, box: {x: number, width: number}) => Tile} */
  const table = (name, rows, box) => {
    const width = Math.min(room(box), (rows / C) * side);
    return { module: name, name, x: box.x + 8, y, width, height: ((rows / C) * side ** 2) / width };
  };
  const blocks = Array.from({ length: nLayer }, (_, block) =>
    BLOCK.map(([name, a, b, wide]) => ({
      module: `h.${block}.${name}`,
      name: name.slice(name.indexOf(".") + 1),
      block,
      x: first.x + edge + block * (layout.wide ? first.width + 6 : first.width) + a * side,
      y: end + b * side,
      width: wide * side - gap,
      height: side - gap,
    })),
  );
  /** @type {Tile[]} */
  const tiles = [...blocks.flat(), table("wte", V, last)];
  if (S) tiles.push(table("wpe", S, begin));
  return { tiles, named: wide && room(first) - 4 * side > NAMES };
}

/**
 * Their outlines and names.
 * @param {ReturnType<typeof tilesOf>} all
 */
export function outlines({ tiles, named }) {
  return tiles.map(({ name, x, y, width, height, block }, i) => {
    const own = block === undefined;
    const [tx, ty] = own ? [x, y + height + 13] : [x + width + 6, y + height / 2 + 4];
    const beside = tiles[i - 1]?.name === "c_attn" ? "c_attn, c_proj" : name;
    return svg`<rect class="tile" x=${x} y=${y} width=${width} height=${height}></rect>
      ${own || (named && name !== "c_attn") ? svg`<text class="part" x=${tx} y=${ty}>${own ? name : beside}</text>` : nothing}`;
  });
}
