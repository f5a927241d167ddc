// What is written below folded blocks: what their marks and lines mean, and how many weights there are.

import { nothing, svg } from "lit/html.js";
import { fixed, grouped, quoted } from "../exhibits/dom.mjs";
import { mean, sinksOf } from "./folded.mjs";
import { linesOf, plainOf } from "./tiles.mjs";

/** @import { Layout } from "./layout.mjs" */
/** @import { View } from "./scenes.mjs" */
/** @import { Drawn } from "./tiles.mjs" */

const SINK = 0.3; // of attention: so much makes a sink
const LETTER = 7; // px of a note
const LINE = 17; // px
const CLOSE = 15; // and at least
const DASH = 22; // px of a thin line before its note

/** @param {number} n  parameters */
const millions = (n) => (n < 1e5 ? grouped(n) : `${(n / 1e6).toFixed(1)} M`);

/**
 * How many parameters there are.
 * @param {Drawn} sizes
 * @param {number} nLayer
 * @returns {{matrices: string[], each: number, all: number}}  `each`: of a block
 */
export function countOf(sizes, nLayer) {
  const { nEmbd: C, vocabSize: V, llama, blockSize: S = 0 } = sizes;
  const own = linesOf(sizes).flat();
  const back = /(mlp\.c|o|down)_proj/; // into the stream
  const matrices = own.map(([path, wide]) => {
    const both = [C, Math.round(wide * C)].map(grouped);
    return `${path.slice(path.indexOf(".") + 1)} ${(back.test(path) ? both.reverse() : both).join(" × ")}`;
  });
  const weights = own.reduce((sum, [, wide]) => sum + Math.round(wide * C) * C, 0);
  const each = weights + (llama ? 2 * C : 13 * C); // norms, and in GPT-2 what is added
  const tables = llama ? (llama.tied ? 1 : 2) * V : V + S;
  return { matrices, each, all: each * nLayer + tables * C + (llama ? C : 2 * C) };
}

/**
 * What the marks and lines mean, and how many weights there are.
 * @param {View} view
 * @param {Layout} layout
 * @param {{tiles: import("./tiles.mjs").Tile[], sizes: Drawn}} weights
 */
export function notesOf({ pass, at }, layout, { tiles, sizes }) {
  const { wide, nLayer, width, foot, height } = layout;
  const { nHead, tokens } = pass;
  const own = tiles.filter(({ block }) => block === undefined); // tables
  const below = Math.max(...own.map(({ y, height }) => y + height)) + 52; // their names
  const end = layout.zone(nLayer);
  const [x, room, top] = wide
    ? [layout.zone(0).x + 4, end.x + end.width - 10, foot + 16]
    : [8, width - 16, below];
  const free = wide ? 46 : height - 40 - below; // px
  const { matrices, each, all } = countOf({ nHead, ...sizes }, nLayer);
  const share = mean(sinksOf(pass, at).flat());
  const sink =
    share > Math.max(SINK, 2 / (at + 1)) ? ", a sink where it does no harm (chapter 17)" : "";
  const sums = own.map(
    ({ label }) => `${millions(rowsOf(label, sizes) * sizes.nEmbd)} for ${plainOf(label)}`,
  );
  const first = at
    ? `${fixed(share, 2)} of the attention of ${quoted(tokens[at])} rests on the first token${sink}: the thin lines.`
    : "The first token sees only itself.";
  const light = wide ? [] : ["Each head is as bright as the rest of its attention."];
  const scale = `Each block: ${matrices.join(", ")} = ${millions(each)}.`;
  const sum = `To scale: ${[`${millions(each)} × ${nLayer} blocks`, ...sums].join(" + ")} = ${millions(all)} parameters.`;
  const none = pass.only ? ["No weights are kept with this pass."] : [];
  const most = Math.floor(room / LETTER);
  /** @type {string[]} */
  let rows = [];
  for (const notes of [[first, ...light, sum, ...none], [first, ...none], [first]]) {
    rows = notes.flatMap((one) => wrapped(one, most));
    if (rows.length <= 1 + free / CLOSE) break; // else the least important is left out
  }
  const line = Math.min(LINE, free / Math.max(1, rows.length - 1));
  return [
    rows.map(
      (row, i) =>
        svg`<text class="note" x=${x + (at && !i ? DASH : 0)} y=${top + i * line}>${row}<title>${scale}</title></text>`,
    ),
    at ? svg`<path class="sink dash" d="M${x} ${top - 4}h${DASH - 6}"></path>` : nothing,
    tablesOf(layout, { tiles, sizes }, Boolean(pass.only)),
  ];
}

/** @param {string} label @param {Drawn} sizes */
const rowsOf = (label, { vocabSize, blockSize = 0 }) => (label === "wpe" ? blockSize : vocabSize);

/**
 * The names of the tables, and how large they are.
 * @param {Layout} layout
 * @param {{tiles: import("./tiles.mjs").Tile[], sizes: Drawn}} weights
 * @param {boolean} stored  else the last norm is a link
 */
function tablesOf(layout, { tiles, sizes }, stored) {
  const { nEmbd: C, llama } = sizes;
  const { nLayer } = layout;
  return tiles.map(({ label, block, x, y, width, height, deep = 0 }) => {
    if (block !== undefined) return nothing;
    const n = rowsOf(label, sizes);
    const size = [`${grouped(n)} × ${grouped(C)}`, millions(n * C)];
    const say = (/** @type {string} */ told, /** @type {number} */ x, /** @type {number} */ y) =>
      svg`<text class="part" x=${x} y=${y}>${told}<title>${label}</title></text>`;
    const plain = plainOf(label);
    const [long, short] = [`${plain} ${size.join(" = ")}`, `${plain} ${size[1]}`];
    const ty = y + height + 16;
    const zone = layout.zone(label === "wpe" ? 0 : nLayer + 1);
    if (layout.wide && width < 40) {
      const tx = x + width + deep + 6; // beside it there is room
      const narrow = LETTER * (plain.length + 1 + size[0].length) > zone.x + zone.width - tx;
      const first = narrow ? plain : `${plain} ${size[0]}`;
      return [say(first, tx, y + height / 2), say(size[1], tx, y + height / 2 + 15)];
    }
    if (width < 40) return say(short, Math.min(x, layout.width - LETTER * short.length), ty);
    const norm =
      stored && label !== "wpe"
        ? say(`${llama ? "norm " : "LayerNorm 2 × "}${grouped(C)}`, x, ty + 15)
        : nothing;
    return [say(LETTER * long.length > zone.width + 12 ? short : long, x, ty), norm];
  });
}

/**
 * @param {string} text
 * @param {number} most  letters of a line
 */
function wrapped(text, most) {
  /** @type {string[]} */
  const rows = [];
  for (const word of text.split(" ")) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + word.length < most) rows.push(`${rows.pop()} ${word}`);
    else rows.push(word);
  }
  return rows;
}
