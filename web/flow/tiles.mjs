// The weights below the whole: every matrix with its true area, those of a block below that block.

import { nothing, svg } from "lit/html.js";

/** @import { Box, Layout } from "./layout.mjs" */
/** A matrix, by its module; `label`: what is written beside it; `deep`: px, of folded blocks. @typedef {Box &
 *   {module: string, label: string, block?: number, deep?: number}} Tile */
/** `blockSize`: not known before the model is there. @typedef {Partial<import("./source.mjs").Widths> &
 *   {nEmbd: number, vocabSize: number, blockSize?: number}} Drawn */

export const BAND = 120; // px that they have, where depth runs to the right
const SIDE = 34; // px at most of as many weights as a vector has numbers
const HIGH = 3 * SIDE; // px of a block's at most
const NAMES = 92; // px beside a block's
const LEAST = 24; // px of a side that makes room for them
const DEEP = 14; // px of a brick
const FOLDED = { high: 56, deep: 5, edge: 3 }; // px: of the weights of folded blocks

/**
 * The matrices of a block, line by line, and how many such sides each is wide.
 * @param {Drawn} sizes
 * @returns {[string, number][][]}
 */
export function linesOf({
  nEmbd: C,
  llama,
  nHead = 1,
  nKvHead = nHead,
  headSize: D = 0,
  nInner: F = 0,
}) {
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
 * Those of folded blocks: each as wide as its block, and as high as its area wants.
 * @param {Drawn} sizes
 * @param {{side: number, room: number, edge: number, top: number, lefts: number[], deep: number}} where
 * @returns {Tile[]}
 */
function stacked(sizes, { side, room, edge, top, lefts, deep }) {
  return lefts.flatMap((left, block) => {
    let y = top;
    return linesOf(sizes)
      .flat()
      .map(([name, wide]) => {
        const height = (wide * side ** 2) / room;
        y += height;
        const module = `h.${block}.${name}`;
        return {
          module,
          label: "",
          block,
          x: left + edge,
          y: y - height,
          width: room,
          height,
          deep,
        };
      });
  });
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
  const { wide, nLayer, width, end, folded } = layout;
  const top = end + (folded ? FOLDED.deep + 2 : DEEP - 4); // of the fronts
  /** @type {{x: number, width: number}[]} */
  const [begin, first, last] = wide
    ? [0, 1, nLayer + 1].map((n) => layout.zone(n))
    : [
        { x: width - 76, width: 76 },
        { x: 2, width: (width - 8) / nLayer },
        { x: 0, width: width - 80 },
      ];
  const room = (/** @type {{width: number}} */ { width }) => width - 16 - deep;
  const most = (/** @type {number} */ rows, /** @type {{width: number}} */ box) =>
    Math.sqrt((2 * SIDE * room(box) * C) / rows);
  const edge = Math.min(folded ? FOLDED.edge : 8, first.width / 8);
  const deep = folded ? Math.min(FOLDED.deep, layout.deep) : DEEP;
  const inner = Math.max(1, first.width - 2 * edge - deep);
  const units = lines.flat().reduce((sum, [, wide]) => sum + wide, 0);
  const named = wide && !folded && inner - NAMES > LEAST * long;
  const side = Math.min(
    folded ? Math.sqrt((FOLDED.high * inner) / units) : HIGH / lines.length,
    folded ? Infinity : (inner - (named ? NAMES : 0)) / long,
    most(V, last) * (folded ? 0.95 : 1),
    S || ownHead ? most(S || V, begin) : SIDE,
  );
  const gap = Math.min(1, side / 8);
  const high = folded ? (units * side ** 2) / inner : lines.length * side;
  const y = top + (wide ? (folded ? 0 : 16) : high + 40);
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
      deep: folded ? deep : undefined,
    };
  };
  const lefts = Array.from({ length: nLayer }, (_, block) =>
    wide ? layout.zone(block + 1).x : first.x + block * first.width,
  );
  const where = { side, room: inner, edge, top, lefts, deep };
  const blocks = lefts.map((from, block) =>
    lines.flatMap((line, down) => {
      let x = edge + from;
      return line.map(([name, wide], i) => {
        const left = x;
        x += wide * side;
        const names = line.map(([path]) => path.slice(path.indexOf(".") + 1));
        return {
          module: `h.${block}.${name}`,
          label: i + 1 < line.length ? "" : names.join(", ").replaceAll("_proj,", ","),
          block,
          x: left,
          y: top + down * side,
          width: wide * side - gap,
          height: side - gap,
        };
      });
    }),
  );
  /** @type {Tile[]} */
  const own = folded ? stacked(sizes, where) : blocks.flat();
  const tiles = [...own, table(ownHead ? "lm_head" : "wte", V, last)];
  if (ownHead) tiles.push(table("wte", V, begin));
  if (S) tiles.push(table("wpe", S, begin));
  return { tiles, named };
}

/**
 * What is seen of a box from above and from the right, beside its front: one projection for all that
 * has depth.
 * @param {Box} box
 * @param {number} deep  px
 * @returns {[string, string]}
 */
export function facesOf({ x, y, width: w, height: h }, deep) {
  const [over, along] = [`l${deep} ${-deep}`, `l${-deep} ${deep}`];
  return [`M${x} ${y}${over}h${w}${along}z`, `M${x + w} ${y}${over}v${h}${along}z`];
}

/**
 * @param {Box} box
 * @param {number} deep  px
 */
export function sides(box, deep) {
  const [top, side] = facesOf(box, deep);
  return svg`<path class="top" d=${top}></path><path class="side" d=${side}></path>`;
}

/**
 * Their weights in few pixels, until they come: a picture for each block, then for each table.
 * @param {Tile[]} tiles
 * @param {string[]} pictures
 */
export function faint(tiles, pictures) {
  const tables = tiles.filter(({ block }) => block === undefined);
  const blocks = tiles.reduce((most, { block = -1 }) => Math.max(most, block + 1), 0);
  return pictures.map((href, n) => {
    const own = n < blocks ? tiles.filter(({ block }) => block === n) : [tables[n - blocks]];
    if (!own[0]) return nothing; // positions, before their number is known
    const [{ x, y }, end] = [own[0], own[own.length - 1]];
    return svg`<image class="faint" href=${href} x=${x} y=${y} width=${end.x + end.width - x} height=${end.y + end.height - y} preserveAspectRatio="none"></image>`;
  });
}

/** What a table is of, or what a matrix of an MLP does. @param {string} name  in the code */
export function plainOf(name) {
  if (name === "wpe") return "positions";
  if (/wte|head/.test(name)) return "tokens";
  return /fc|up/.test(name) ? "widens" : /gate/.test(name) ? "gates" : "narrows";
}

/** What a matrix makes: the colour of its plate. @param {string} module */
function inksOf(module) {
  const name = module.slice(module.lastIndexOf(".") + 1);
  if (name === "c_attn") return ["q", "k", "v"];
  if (!module.includes(".attn.")) return [];
  return [/^[qk]_/.test(name) ? name[0] : "v"];
}

/**
 * They stand there as bricks, with their names.
 * @param {ReturnType<typeof tilesOf>} all
 */
export function bricks({ tiles, named }) {
  const behind = [...tiles].sort((a, b) => b.y - a.y || a.x - b.x); // the nearer ones last
  return behind.map((tile) => {
    const { label, module, x, y, width, height, block, deep } = tile;
    const own = block === undefined;
    const [tx, ty] = own ? [x, y + height + 13] : [x + width + DEEP + 6, y + height / 2 + 4];
    const verb = own
      ? label === "wpe"
        ? "look up"
        : "choose"
      : module.includes(".mlp.")
        ? "think"
        : "gather";
    const foot = own || tile === behind.find((one) => one.block === block);
    return svg`${foot ? svg`<rect class="shade" x=${x} y=${y + height} width=${width} height="9" fill="url(#flow-shade)"></rect>` : nothing}<g class="brick" data-when="${own ? "" : `block ${block}: `}${verb}">${sides(tile, Math.min(deep ?? DEEP, height))}<rect class="tile" x=${x} y=${y} width=${width} height=${height}></rect>${inksOf(module).map((ink, i, { length }) => svg`<rect class=${`ink ${ink}`} x=${x + (i * width) / length} y=${y} width=${width / length} height=${height}></rect>`)}</g>
      ${(own && !deep) || (named && label) ? svg`<text class="part" x=${tx} y=${ty}>${own ? plainOf(label) : svg`<tspan class="does" x=${tx} dy="-8">${verb === "think" ? "MLP" : "attention"}</tspan><tspan x=${tx} dy="15">${verb === "think" ? plainOf(label) : "gathers"}</tspan>`}<title>${label}</title></text>` : nothing}`;
  });
}
