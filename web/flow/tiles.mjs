// The weights below the whole: every matrix with its true area, those of a block below that block.

import { nothing, svg } from "lit/html.js";

/** @import { Box, Layout } from "./layout.mjs" */
/** A matrix, by its module; `label`: what is written beside it. @typedef {Box & {module: string,
 *   label: string, block?: number}} Tile */
/** `blockSize`: not known before the model is there. @typedef {Partial<import("./source.mjs").Widths> &
 *   {nEmbd: number, vocabSize: number, blockSize?: number}} Drawn */

export const BAND = 96; // px that they have, where depth runs to the right
const SIDE = 30; // px at most of as many weights as a vector has numbers
const HIGH = 3 * SIDE; // px of a block's at most
const NAMES = 94; // px beside a block's

/**
 * The matrices of a block, line by line, and how many such sides each is wide.
 * @param {Drawn} sizes
 * @returns {[string, number][][]}
 */
function linesOf({ nEmbd: C, llama, nHead = 1, nKvHead = nHead, headSize: D = 0, nInner: F = 0 }) {
  if (!llama) {
    const attention = /** @type {[string, number][]} */ ([
      ["attn.c_attn", 3],
      ["attn.c_proj", 1],
    ]);
    return [attention, [["mlp.c_fc", 4]], [["mlp.c_proj", 4]]];
  }
  const [queries, keys, units] = [nHead * D, nKvHead * D, F].map((n) => n / C);
  const heads = { q: queries, k: keys, v: keys, o: queries };
  return [
    Object.entries(heads).map(([name, wide]) => [`attn.${name}_proj`, wide]),
    ...["gate", "up", "down"].map((name) => [
      /** @type {[string, number]} */ ([`mlp.${name}_proj`, units]),
    ]),
  ];
}

/**
 * @param {Layout} layout
 * @param {Drawn} sizes
 */
export function tilesOf(layout, sizes) {
  const { nEmbd: C, vocabSize: V, llama } = sizes;
  const S = llama ? 0 : (sizes.blockSize ?? 0); // rows of the table of positions
  const ownHead = llama?.tied === false;
  const lines = linesOf(sizes);
  const long = Math.max(...lines.map((line) => line.reduce((sum, [, wide]) => sum + wide, 0)));
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
    HIGH / lines.length,
    (first.width - 2 * edge) / long,
    most(V, last),
    S || ownHead ? most(S || V, begin) : SIDE,
  );
  const gap = Math.min(1, side / 8);
  const y = end + (wide ? 16 : lines.length * side + 18);
  /** @type {(name: string, rows: number, box: {x: number, width: number}) => Tile} */
  const table = (name, rows, box) => {
    const width = Math.min(room(box), (rows / C) * side);
    return {
      module: name,
      label: name,
      x: box.x + 8,
      y,
      width,
      height: ((rows / C) * side ** 2) / width,
    };
  };
  const blocks = Array.from({ length: nLayer }, (_, block) =>
    lines.flatMap((line, down) => {
      let x = first.x + edge + block * (layout.wide ? first.width + 6 : first.width);
      return line.map(([name, wide], i) => {
        const left = x;
        x += wide * side;
        const names = line.map(([path]) => path.slice(path.indexOf(".") + 1));
        return {
          module: `h.${block}.${name}`,
          label: i + 1 < line.length ? "" : names.join(", ").replaceAll("_proj,", ","),
          block,
          x: left,
          y: end + down * side,
          width: wide * side - gap,
          height: side - gap,
        };
      });
    }),
  );
  /** @type {Tile[]} */
  const tiles = [...blocks.flat(), table(ownHead ? "lm_head" : "wte", V, last)];
  if (ownHead) tiles.push(table("wte", V, begin));
  if (S) tiles.push(table("wpe", S, begin));
  return { tiles, named: wide && room(first) - long * side > NAMES };
}

/**
 * Their outlines and names.
 * @param {ReturnType<typeof tilesOf>} all
 */
export function outlines({ tiles, named }) {
  return tiles.map(({ label, x, y, width, height, block }) => {
    const own = block === undefined;
    const [tx, ty] = own ? [x, y + height + 13] : [x + width + 6, y + height / 2 + 4];
    return svg`<rect class="tile" x=${x} y=${y} width=${width} height=${height}></rect>
      ${own || (named && label) ? svg`<text class="part" x=${tx} y=${ty}>${label}</text>` : nothing}`;
  });
}
