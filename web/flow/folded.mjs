// What a block has where there are many: its heads as small marks, its MLPs as plates, one line to the
// first token, and below all blocks what is in them.

import { nothing, svg } from "lit/html.js";
import { fixed, grouped, quoted } from "../exhibits/dom.mjs";
import { press } from "./press.mjs";
import { WIDER } from "./layout.mjs";
import { path } from "./ribbons.mjs";
import { facesOf, linesOf } from "./tiles.mjs";

/** @import { Layout } from "./layout.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { View } from "./scenes.mjs" */
/** @import { Drawn } from "./tiles.mjs" */

const HEADS = { y: 6, high: 40 }; // px below the edge of a room
const SINK = 0.3; // of attention: so much makes a sink
const LETTER = 6.3; // px of a note
const LINE = 17; // px

/**
 * How much of a token's attention rests on the first token, which gives almost nothing: of each block
 * and head. Where blocks are folded, it has no ribbons, but one thin line a block.
 * @param {Pick<Pass, "weights" | "tokens">} pass
 * @param {number} at
 */
export function sinksOf({ weights, tokens }, at) {
  return weights.map((heads) => heads.map((values) => values[at * tokens.length]));
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;

/**
 * Where marks stand: as large as they can be.
 * @param {number} many
 * @param {{width: number, height: number}} room
 * @returns {[number, number]}  columns, and px of a mark
 */
export function gridOf(many, { width, height }) {
  /** @type {[number, number]} */
  let best = [1, 0];
  for (let columns = 1; columns <= many; columns++) {
    const size = Math.min(width / columns, height / Math.ceil(many / columns));
    if (size > best[1]) best = [columns, size];
  }
  return best;
}

/**
 * The heads of a block: as bright as the part of their attention that does not rest on the first token.
 * @param {View} view
 * @param {Layout} layout
 * @param {number} block
 */
export function marksOf({ pass, at, cut, go }, layout, block) {
  const { x, y, width } = layout.zone(block + 1);
  const { nHead, tokens } = pass;
  const room = layout.wide
    ? { x: x + 2, y: y + HEADS.y, width: width - 4, height: HEADS.high }
    : { x: x + 88, y: y + 5, width: width - 94, height: 22 };
  const [columns, size] = gridOf(nHead, room);
  const rows = Math.ceil(nHead / columns);
  const [w, h] = [room.width / columns, Math.min(room.height / rows, 1.2 * size)];
  const gap = Math.min(2, w / 4, h / 4);
  return sinksOf(pass, at)[block].map((sink, head) => {
    const name = `${block}.${head}`;
    const open = () => go({ block, head });
    const told = `head ${name}: ${fixed(1 - sink, 2)} of the attention of ${quoted(tokens[at])} does not rest on the first token`;
    const off = cut.includes(name);
    return svg`<rect class=${`lamp h${head % 4}${off ? " cut" : ""}`} data-of=${name} data-rove="heads" tabindex=${head || block ? -1 : 0} role="button"
      aria-label="${told}${off ? ", and it is cut" : ""}: open it" style="--lit:${(100 * (1 - sink)).toFixed(0)}%"
      x=${room.x + (head % columns) * w + gap / 2} y=${room.y + Math.floor(head / columns) * h + gap / 2} width=${w - gap} height=${h - gap} rx=${gap}
      @click=${open} @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, open)}><title>${told}; click to open it</title></rect>`;
  });
}

/**
 * What the light of a head means, beside those of the first block.
 * @param {View} view
 * @param {Layout} layout
 */
export function scaleOf({ pass }, layout) {
  const { x, y, width } = layout.zone(0);
  if (!layout.wide) return nothing;
  const [left, size] = [x + 4, Math.min(16, (width - 40) / 6)];
  const marks = Array.from({ length: 6 }, (_, i) => {
    return svg`<rect class="lamp h1" style="--lit:${20 * i}%" x=${left + 12 + i * (size + 2)} y=${y + 26} width=${size} height="12" rx="2"></rect>`;
  });
  const first = Array.from(pass.tokens[0]).slice(0, 7).join("");
  return svg`<text class="part" x=${left} y=${y + 18}>heads: not on ${quoted(first)}</text>
    <text class="part" x=${left} y=${y + 36}>0</text>${marks}<text class="part" x=${left + 16 + 6 * (size + 2)} y=${y + 36}>1</text>`;
}

/**
 * The MLPs of a block, on all lanes. Where it is known which units are lit, more of them give more light.
 * @param {View} view
 * @param {Layout} layout
 * @param {number} block
 * @param {{chosen: number, style: string, tokenOf: (lane: number) => number, thick: (lane: number) => number}} more
 */
export function platesOf({ pass, go, pick, at }, layout, block, { chosen, style, tokenOf, thick }) {
  const { lit, units, tokens } = pass;
  const many = lit ? Math.max(1, ...lit.flat().map((ones) => ones.length)) : 1;
  const lanes = Array.from({ length: layout.lanes }, (_, lane) => lane);
  const boxes = lanes.map((lane) => layout.slab(block, lane, thick(lane)));
  const deep = WIDER * layout.plank;
  const faces = boxes.map((box) => facesOf(box, deep));
  const front = boxes.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`);
  const open = () => pass.only || (pick(at), go({ block, mlp: true }));
  const others = lanes.filter((lane) => lane !== chosen);
  /** @type {(lanes: number[], kind: string) => unknown} */
  const solid = (of, kind) => {
    const joined = (/** @type {string[]} */ all) => of.map((lane) => all[lane]).join("");
    return svg`<g class=${kind} style=${kind === "mlp" ? "" : style} data-when="block ${block}: think" @click=${open}>
      <path class="top" d=${joined(faces.map(([top]) => top))}></path><path class="side" d=${joined(faces.map(([, side]) => side))}></path><path class="shape" d=${joined(front)}></path>
      ${lit ? of.map((lane) => shine(lane)) : nothing}<title>MLP of block ${block}${lit ? `: ${grouped(lit[block][at].length)} of ${grouped(units)} units are lit at ${quoted(tokens[at])}` : ""}${pass.only ? "" : "; click to open it"}</title></g>`;
  };
  const shine = (/** @type {number} */ lane) => {
    const ones = lit?.[block][tokenOf(lane)]?.length ?? 0;
    if (!ones) return nothing;
    return svg`<path class="alight" d=${faces[lane][layout.wide ? 0 : 1]} style="fill-opacity:${((0.9 * ones) / many).toFixed(2)}"></path>`;
  };
  const { x, y } = boxes[0];
  const name = layout.across > 28 || !layout.wide;
  return [
    others.length ? solid(others, "mlp") : nothing,
    solid([chosen], "mlp chosen"),
    layout.wide && name ? svg`<text class="part" x=${x + boxes[0].width + deep} y=${y - deep - 3} text-anchor="end">MLP</text>` : nothing,
  ];
}

/**
 * Where all lanes but one are written into: of each a ring.
 * @param {Layout} layout
 * @param {number[]} depths
 * @param {number} chosen
 */
export function ringsOf(layout, depths, chosen) {
  const dots = Array.from({ length: layout.lanes }, (_, lane) =>
    lane === chosen
      ? ""
      : depths
          .map((depth) => `M${layout.point(depth, lane).map((px) => px.toFixed(1))}h0`)
          .join(""),
  ).join("");
  return ["rim", "hole"].map((kind) => svg`<path class=${kind} d=${dots}></path>`);
}

/**
 * What rests on the first token: a thin line in each block.
 * @param {View} view
 * @param {Layout} layout
 * @param {number} chosen  lane
 */
export function sinkLines({ pass, at }, layout, chosen) {
  if (!at) return nothing;
  const [from, to] = layout.gathers;
  return sinksOf(pass, at).map((shares, block) => {
    const share = mean(shares);
    const points = layout.curve(block + 1 + from, block + 1 + to, 0, chosen, [0, 0]);
    return svg`<path class="sink" d=${path(points)} style="stroke-opacity:${(0.25 + 0.55 * share).toFixed(2)}"><title>block ${block}: ${fixed(share, 2)} of its attention rests on the first token</title></path>`;
  });
}

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
  const [x, room] = wide
    ? [layout.zone(1).x, layout.zone(nLayer).x + layout.zone(nLayer).width - layout.zone(1).x]
    : [8, width - 16];
  const { matrices, each, all } = countOf({ nHead, ...sizes }, nLayer);
  const share = mean(sinksOf(pass, at).flat());
  const sink = share > SINK ? ", a sink where it does no harm (chapter 17)" : "";
  const tables = tiles.filter(({ block }) => block === undefined);
  const sums = tables.map(
    ({ label }) => `${millions(rowsOf(label, sizes) * sizes.nEmbd)} in ${label}`,
  );
  const notes = [
    at
      ? `Thin lines: ${fixed(share, 2)} of the attention of ${quoted(tokens[at])} rests on the first token${sink}.`
      : "The first token sees only itself.",
    `Weights to scale. Each block: ${matrices.join(", ")} = ${millions(each)}.`,
    `${[`${millions(each)} × ${nLayer} blocks`, ...sums].join(" + ")} = ${millions(all)} parameters.${pass.only ? " No weights are kept with this pass." : ""}`,
  ];
  const most = Math.floor(room / LETTER);
  const rows = notes.flatMap((one) => wrapped(one, most));
  const high = (wide ? height - 34 : height - 34) - foot;
  const top = wide ? foot + 20 : height - 34 - rows.length * LINE;
  const line = Math.min(LINE, (high - 12) / Math.max(1, rows.length - 1));
  return [
    rows.map(
      (row, i) => svg`<text class="note" x=${x} y=${top + i * (wide ? line : LINE)}>${row}</text>`,
    ),
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
function tablesOf({ wide }, { tiles, sizes }, stored) {
  const { nEmbd: C, llama } = sizes;
  return tiles.map(({ label, block, x, y, width, height, deep = 0 }) => {
    if (block !== undefined) return nothing;
    const n = rowsOf(label, sizes);
    const size = [`${grouped(n)} × ${grouped(C)}`, millions(n * C)];
    const [tx, ty] = [x + width + deep + 6, y + height / 2];
    const say = (/** @type {string} */ told, /** @type {number} */ x, /** @type {number} */ y) =>
      svg`<text class="part" x=${x} y=${y}>${told}</text>`;
    const small = width < 40; // beside it there is room
    if (small && wide)
      return [say(label, tx, ty - 10), say(size[0], tx, ty + 5), say(size[1], tx, ty + 20)];
    if (small) return say(`${label} ${size[1]}`, x, y + height + 13);
    const norm =
      stored && label !== "wpe"
        ? say(`ln_f ${llama ? "" : "2 × "}${grouped(C)}`, x, y + height + 29)
        : nothing;
    return [say(`${label} ${size.join(" = ")}`, x, y + height + 13), norm];
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
