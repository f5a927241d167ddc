// The knobs of sampling, one after the other in any order; and the darts. With temperature, k, p,
// m it is what next_probabilities in sampling.py computes.

import { softmax } from "../numbers.mjs";

/** @typedef {{temperature: number, k: number, p: number, m?: number}} Knobs */
/** @typedef {(z: Float64Array, knobs: Knobs) => Float64Array} Knob  of logits */

const GREEDY_BELOW = 2 ** -126; // a smaller temperature is as good as 0

/** Orders of the knobs, and who has them. */
export const ORDERS = /** @type {[string, string][]} */ ([
  ["tkpm", "τ, k, p, m (this book)"],
  ["tpkm", "τ, p, k, m"],
  ["kpmt", "k, p, m, τ (llama.cpp)"],
]);

/** @type {Record<string, Knob>} */
const TURN = { t: heat, k: keepK, p: keepP, m: keepM };

/**
 * Logits (V) → probabilities (V).
 * @param {ArrayLike<number>} logits
 * @param {Knobs} knobs
 * @param {string} [order]  such as "tkpm"
 */
export function turn(logits, knobs, order = "tkpm") {
  /** @type {Float64Array} */
  let z = Float64Array.from(logits);
  for (const name of order) z = TURN[name](z, knobs);
  return softmax(z);
}

/** @type {Knob} */
function heat(z, { temperature }) {
  const most = z.reduce((a, b) => Math.max(a, b));
  if (temperature >= GREEDY_BELOW) return z.map((value) => (value - most) / temperature);
  const winner = z.indexOf(most);
  return z.map((_, i) => (i === winner ? 0 : -Infinity));
}

/** @type {Knob} */
function keepK(z, { k }) {
  if (k >= z.length) return z;
  const last = Float64Array.from(z).sort()[z.length - k]; // what ties with it stays too
  return z.map((value) => (value < last ? -Infinity : value));
}

/** @type {Knob} */
function keepP(z, { p }) {
  if (p >= 1) return z;
  const shares = softmax(z.slice());
  const kept = new Float64Array(z.length).fill(-Infinity);
  let before = 0; // what likelier tokens hold
  for (const id of ranked(shares)) {
    if (before >= p) break;
    kept[id] = z[id];
    before += shares[id];
  }
  return kept;
}

/** @type {Knob} */
function keepM(z, { m = 0 }) {
  if (m === 0) return z;
  const threshold = z.reduce((a, b) => Math.max(a, b)) + Math.log(m); // the same for any sum
  return z.map((value) => (value < threshold ? -Infinity : value));
}

/**
 * Ids, the likeliest first; of equals, the lower id.
 * @param {Float64Array} shares
 */
export function ranked(shares) {
  return Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a] || a - b);
}

/**
 * The token whose piece of the line from 0 to 1 a dart hits.
 * @param {number} dart
 * @param {Float64Array} shares
 * @param {number[]} order  in which the pieces lie
 */
export function hit(dart, shares, order) {
  let end = 0;
  let last = order[0];
  for (const id of order) {
    if (shares[id] === 0) break; // cut off, and all behind it
    end += shares[id];
    last = id;
    if (dart < end) break;
  }
  return last;
}

/**
 * Darts from 0 to below 1, the same for the same seed ("mulberry32", Tommy Ettinger).
 * @param {number} seed
 */
export function thrower(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Among how many equally likely tokens a choice would be as open: e to the entropy.
 * @param {Float64Array} shares
 */
export function choices(shares) {
  return Math.exp(shares.reduce((sum, p) => (p > 0 ? sum - p * Math.log(p) : sum), 0));
}
