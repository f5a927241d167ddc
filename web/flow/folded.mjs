// What a block has where there are many: its heads as small marks, its MLPs as plates, one line to the
// first token, and below all blocks what is in them.

import { nothing, svg } from "lit/html.js";
import { fixed, grouped, quoted } from "../exhibits/dom.mjs";
import { press } from "./press.mjs";
import { WIDER } from "./layout.mjs";
import { path } from "./ribbons.mjs";
import { facesOf } from "./tiles.mjs";

/** @import { Layout } from "./layout.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { View } from "./scenes.mjs" */
/** @import { Drawn } from "./tiles.mjs" */

const HEADS = { y: 6, high: 40 }; // px below the edge of a room

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
export const mean = (values) => values.reduce((sum, one) => sum + one, 0) / values.length;

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
 * What the light of a head means, beside those of the first block; and where no temperature can be set,
 * what stands there.
 * @param {View} view
 * @param {Layout} layout
 * @param {Drawn} sizes
 */
export function scaleOf({ pass }, layout, sizes) {
  const { x, y, width } = layout.zone(0);
  const { wide } = layout;
  const end = layout.zone(layout.nLayer + 1);
  const many = `likeliest of ${grouped(sizes.vocabSize)}${end.width > 190 ? " tokens" : ""}`;
  const above = pass.only
    ? svg`<text class="part" x=${end.x + 10} y=${wide ? y + 36 : end.y + 46}>${many}</text>`
    : nothing;
  if (!wide) return above;
  const [left, size] = [x + 4, Math.min(16, (width - 40) / 6)];
  const lamps = Array.from({ length: 6 }, (_, i) => {
    return svg`<rect class="lamp h1" style="--lit:${20 * i}%" x=${left + 12 + i * (size + 2)} y=${y + 26} width=${size} height="12" rx="2"></rect>`;
  });
  const first = Array.from(pass.tokens[0])
    .slice(0, Math.max(2, width / 6.5 - 18))
    .join("");
  return svg`<text class="part" x=${left} y=${y + 18}>attention not on ${quoted(first)}</text>
    <text class="part" x=${left} y=${y + 36}>0</text>${lamps}<text class="part" x=${left + 16 + 6 * (size + 2)} y=${y + 36}>1</text>${above}`;
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
  const named = layout.wide && layout.across > 28 && layout.ring === 4;
  return [
    others.length ? solid(others, "mlp") : nothing,
    solid([chosen], "mlp chosen"),
    named
      ? svg`<text class="part" x=${x + boxes[0].width - 2} y=${y - deep - 3} text-anchor="end">MLP</text>`
      : nothing,
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
  const width = 1.75 * layout.ring;
  return svg`<path class="rim" d=${dots} style="stroke-width:${width}px"></path><path class="hole" d=${dots} style="stroke-width:${0.57 * width}px"></path>`;
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

const STEPS = [0.07, 0.13, 0.24, 0.45]; // of the mean of a block's heads

/**
 * What the other tokens take from each other: of all heads of a block together.
 * @param {View} view
 * @param {Layout} layout
 */
export function othersOf({ pass, at }, layout) {
  const { weights, tokens } = pass;
  const { first, gathers } = layout;
  const T = tokens.length;
  return weights.map((heads, block) => {
    const all = STEPS.map(() => "");
    for (let query = first || 1; query < T; query++) {
      if (query === at) continue;
      for (let key = first || 1; key < query; key++) {
        const share = mean(heads.map((values) => values[query * T + key]));
        const step = STEPS.filter((least) => share >= least).length - 1;
        if (step < 0) continue;
        const [from, to] = gathers.map((part) => block + 1 + part);
        all[step] += path(layout.curve(from, to, layout.lane(key), layout.lane(query), [0, 0]));
      }
    }
    return all.map((d, step) =>
      d
        ? svg`<path class="others" d=${d} style="stroke-width:${1 + 1.2 * step}px;stroke-opacity:${0.16 + 0.1 * step}"></path>`
        : nothing,
    );
  });
}
