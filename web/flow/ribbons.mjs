// The ribbons of level 0: what a token takes from another, in each head.

/** @import { Layout } from "./layout.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { View } from "./scenes.mjs" */

export const DRAWN = 0.08; // a weight below this has no ribbon

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
  const { first, folded } = layout;
  /** @type {{name: string, block: number, head: number, query: number, key: number, weight: number,
   *   into: boolean, points: [number, number][]}[]} */
  const ribbons = [];
  weights.forEach((block, b) =>
    block.forEach((_, h) => {
      for (let query = first; query < T; query++) {
        if (folded && query !== at) continue;
        const row = passes.map(({ weights }) => {
          const values = weights[b][h];
          const old = Array.from({ length: first }, (_, k) => values[query * T + k]);
          const own = Array.from({ length: T - first }, (_, k) => values[query * T + first + k]);
          return [...(first ? [old.reduce((sum, w) => sum + w, 0)] : []), ...own];
        });
        row[0].forEach((weight, i) => {
          const lane = layout.lane(query);
          if (i === lane || !row.some((one) => one[i] >= (folded ? 0.3 : DRAWN))) return;
          const side = folded ? 0 : (h - (nHead - 1) / 2) * Math.min(1, ROOM / nHead);
          const shift = /** @type {[number, number]} */ ([3 * side, 2 * side]);
          const [from, to] = folded ? [b + 1.05, b + 1.9] : [b + 1.08, b + 1.45];
          ribbons.push({
            name: `${b}.${h}.${T - query}.${lane - i}`,
            block: b,
            head: h,
            query,
            key: first && !i ? -1 : first ? first + i - 1 : i,
            weight,
            into: query === at,
            points: layout.curve(from, to, i, lane, shift),
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
