// What a head does, while it happens: the followed token's query meets each key and both become a
// score, what is later is masked, shares grow, and values flow into their sum. Here every part has its
// place, its turn and its way; the style sheet moves it (deep_style.mjs), and where nothing is to
// move, only the end is seen.

import { nothing, svg } from "lit/html.js";
import { heat } from "./cells.mjs";

const SLOWEST = 420; // milliseconds of a turn
const WHOLE = 4000; // of all turns, however many tokens

/** Milliseconds of a turn among so many. @param {number} turns */
export const turnOf = (turns) => Math.min(SLOWEST, WHOLE / (turns + 2));

/**
 * When each step ends that is played, milliseconds: score, scale, mask, share, mix.
 * @param {number} turns
 */
export function endsOf(turns) {
  const long = turnOf(turns) * (turns + 2) + 900;
  let sum = 0;
  return [long, 2000, 2000, 2200, long].map((takes) => (sum += takes));
}

/**
 * What is in the sum after each value.
 * @param {ArrayLike<number>[]} values
 * @param {ArrayLike<number>} shares
 */
export function mixing(values, shares) {
  const sum = new Float64Array(values[0].length);
  return values.map((one, i) => sum.map((_, d) => (sum[d] += shares[i] * one[d])));
}

/**
 * A strip with its numbers and its place. `scale`: of the numbers.
 * @typedef {{values: ArrayLike<number>, y: number, scale?: number}} Row
 */

/**
 * What flies.
 * @param {number} step
 * @param {{q: Row, keys: Row[], values: Row[], shares: number[], sum: Row}} rows  of all tokens that are
 *   shown, and their values' sum
 * @param {{x: number, width: number, high: number, size: number, D: number,
 *   cell: (i: number) => [number, number]}} where  strips begin and how they lie; the matrix's cells
 */
export function operation(step, { q, keys, values, shares, sum }, where) {
  const { x, width, high, size, D, cell } = where;
  const strip = (/** @type {Row} */ { values, y, scale }, role = "plain") =>
    heat(values, { x, y, columns: D, cell: width / D, high, gap: 1, role, scale });
  const lights = (/** @type {number} */ y, /** @type {number} */ i) =>
    svg`<rect class="lights row-frame" style="--i:${i}" x=${x - 2} y=${y - 2} width=${width + 3} height=${high + 3}></rect>`;
  if (step === 0)
    return keys.map(({ values: k, y }, i) => {
      const [cx, cy] = cell(i);
      const [sx, sy] = [size / width, size / high];
      const products = Array.from(q.values, (value, d) => value * k[d]);
      const to = `translate(${cx - x * sx}px,${cy - y * sy}px) scale(${sx},${sy})`;
      return svg`${lights(q.y, i)}${lights(y, i)}<g class="meets" style="--i:${i};--by:${y - q.y}px">${strip(q, "q")}</g>
        <g class="lands" style="--i:${i};--to:${to}">${strip({ values: products, y })}</g>`;
    });
  if (step < 4) return nothing;
  const sums = mixing(
    values.map((one) => one.values),
    shares,
  );
  return values.map((one, i) => {
    const [by, share] = [sum.y - one.y, shares[i].toFixed(4)];
    return svg`${lights(one.y, i)}<g class="adds" style="--i:${i};--by:${by}px;--share:${share}">${strip(one, "v")}</g>
      <g class="partial" style="--i:${i}">${strip({ ...sum, values: sums[i] }, "v")}</g>`;
  });
}
