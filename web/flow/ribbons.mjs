// The ribbons of level 0: what a token takes from another, in each head, and what runs along them.

import { svg } from "lit/html.js";
import { onCurve } from "./layout.mjs";
import { press } from "./press.mjs";

/** @import { Layout } from "./layout.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { View } from "./scenes.mjs" */

export const DRAWN = 0.08; // a weight below this has no ribbon
const STRONG = 0.12; // of a folded block

export const THICK = 11; // px of a ribbon of weight 1 into the chosen lane
export const THIN = 7; // into the others
const ROOM = 10; // heads whose ribbons begin beside each other on a lane; more are closer

/**
 * The ribbons that one of the passes draws: those that only the other draws are thin now, so that
 * they grow or shrink where the text changes.
 * @param {View} view
 * @param {Layout} layout
 * @param {Pass[]} passes  what is shown now, and what was
 */
export function ribbonsOf({ at }, layout, passes) {
  const [{ weights, tokens, nHead }] = passes;
  const T = tokens.length;
  const { first, folded, gathers } = layout;
  /** @type {{name: string, block: number, head: number, query: number, key: number, weight: number,
   *   into: boolean, lane: number, side: number, points: [number, number][]}[]} */
  const ribbons = [];
  weights.forEach((block, b) =>
    block.forEach((_, h) => {
      for (let query = first; query < T; query++) {
        if (folded && query !== at) continue;
        const row = passes.map(({ weights }) => {
          const values = weights[b][h];
          const all = Array.from({ length: T }, (_, k) =>
            folded && !k ? 0 : values[query * T + k],
          );
          const [old, own] = [all.slice(0, first), all.slice(first)];
          return [...(first ? [old.reduce((sum, w) => sum + w, 0)] : []), ...own];
        });
        row[0].forEach((weight, i) => {
          const lane = layout.lane(query);
          if (i === lane || !row.some((one) => one[i] >= (folded ? STRONG : DRAWN))) return;
          const side = folded ? 0 : (h - (nHead - 1) / 2) * Math.min(1, ROOM / nHead);
          const shift = /** @type {[number, number]} */ ([3 * side, 2 * side]);
          ribbons.push({
            name: `${b}.${h}.${T - query}.${lane - i}`,
            block: b,
            head: h,
            query,
            key: first && !i ? -1 : first ? first + i - 1 : i,
            weight,
            into: query === at,
            lane: i,
            side: shift[0],
            points: layout.curve(b + 1 + gathers[0], b + 1 + gathers[1], i, lane, shift),
          });
        });
      }
    }),
  );
  return ribbons.sort((a, b) => Number(a.into) - Number(b.into)); // those into the chosen lane on top
}

/** @param {[number, number][]} points  of a cubic curve */
export function path([p0, p1, p2, p3]) {
  const text = (/** @type {[number, number]} */ [x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${text(p0)}C${text(p1)} ${text(p2)} ${text(p3)}`;
}

const SCISSORS = "M-3.6-6L2.5 3a2 2 0 1 1-.1 .1M3.6-6L-2.5 3a2 2 0 1 0 .1 .1";

/**
 * The heads of a block: each opens, and scissors below it, on a phone beside it, cut it.
 * @param {View} view
 * @param {number} block
 * @param {{x: number, y: number, wide: boolean, w: number}} where  `w`: px of the block
 */
export function pillsOf({ pass, cut, go, toggle }, block, { x, y, wide, w }) {
  const { nHead } = pass;
  const part = Math.min(22, w / 3 / nHead); // px of a number, and beside it of scissors
  const size = wide ? Math.min(24, w / 2 / nHead) : 2 * part;
  return Array.from({ length: nHead }, (_, head) => {
    const name = `${block}.${head}`;
    const off = cut.includes(name);
    const px = (wide ? x : x + w - nHead * size - 8) + head * size;
    const [dx, dy] = wide ? [0, 17] : [part, 0];
    const own = size - dx; // px of either
    /** @type {[string, string, () => void, number, number, unknown][]} */
    const parts = [
      [
        "head",
        "open",
        () => go({ block, head }),
        px,
        y,
        svg`<rect class="pill" x=${px + 2} y=${y + 2} width=${size - 4} height="16" rx="8"></rect><text x=${px + own / 2} y=${y + 14}>${head}</text>`,
      ],
      [
        "snip",
        off ? "put back" : "cut",
        () => toggle(name),
        px + dx,
        y + dy,
        svg`<path transform="translate(${px + dx + own / 2} ${y + dy + 10})" d=${SCISSORS}></path>`,
      ],
    ];
    return parts.map(
      ([
        kind,
        does,
        act,
        x,
        y,
        part,
      ]) => svg`<g class=${`${kind} h${head % 4}${off ? " cut" : ""}`} data-of=${name} tabindex=${head || block ? -1 : 0} role="button"
      aria-label="${does} head ${name}" data-rove=${kind} @click=${act} @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, act)}>
      ${part}<rect class="touch" x=${x} y=${y} width=${own} height="20"></rect><title>${does} head ${name}</title></g>`,
    );
  });
}

const RUNS = { into: 0.2, other: 0.5 }; // a weight below this has no beads
const MOST = 6; // ribbons of a block that have some
const TRAIN = 3; // beads along a ribbon of weight 1, and along the chosen lane
const APART = 0.09; // of a block, from one bead to the next

/**
 * What runs: along the chosen lane, and through each block along the lanes that the strongest ribbons
 * begin at, and these.
 * @param {ReturnType<typeof ribbonsOf>} ribbons
 * @param {Layout} layout
 * @param {number} chosen  lane
 * @returns {import("./pulses.mjs").Bead[]}
 */
export function beadsOf(ribbons, layout, chosen) {
  const { nLayer, folded, gathers } = layout;
  const strong = Array.from({ length: nLayer }, (_, block) =>
    ribbons
      .filter((one) => one.block === block && one.weight > RUNS[one.into ? "into" : "other"])
      .sort((a, b) => Number(b.into) - Number(a.into) || b.weight - a.weight)
      .slice(0, folded ? 2 : MOST),
  ).flat();
  /** @type {(many: number, bead: import("./pulses.mjs").Bead) => import("./pulses.mjs").Bead[]} */
  const train = (many, { from, to, where, strength }) =>
    Array.from({ length: many }, (_, i) => {
      const late = i * APART;
      const at = (/** @type {number} */ depth) => where(depth - late);
      return { from: from + late, to: to + late, where: at, strength: strength * 0.8 ** i };
    });
  return [
    ...strong.flatMap(({ block, lane, side, points, weight, into }) => {
      const [from, to] = gathers.map((part) => block + 1 + part);
      const where = (/** @type {number} */ depth) =>
        depth < from
          ? layout.point(depth, lane, side)
          : onCurve(points, Math.min(1, (depth - from) / (to - from)));
      const many = into ? Math.ceil(TRAIN * weight) : 1;
      return train(many, { from: from - 0.16, to, where, strength: into ? 1 : 0.5 });
    }),
    ...train(TRAIN, {
      from: 0.88,
      to: nLayer + 1,
      where: (depth) => layout.point(depth, chosen),
      strength: 1,
    }),
  ];
}

/**
 * Where the weights are drawn: at the middle of their ribbons.
 * @param {ReturnType<typeof ribbonsOf>} ribbons
 * @returns {Map<string, import("./camera.mjs").Square>}
 */
export function squaresOf(ribbons) {
  return new Map(
    ribbons
      .filter(({ weight, key }) => weight >= DRAWN && key >= 0)
      .map(({ block, head, query, key, weight, into, points }) => {
        const [x, y] = onCurve(points, 0.5);
        const size = Math.max(3, weight * (into ? THICK : THIN));
        const box = { x: x - size / 2, y: y - size / 2, width: size, height: size };
        return [`${block}.${head}.${query}.${key}`, { ...box, head, weight }];
      }),
  );
}
