// From logits to the next token, by the rules and in the order of generation.py.

import { shown } from "./messages.mjs";
import { softmax } from "./numbers.mjs";

const GREEDY_BELOW = 2 ** -126; // a smaller temperature is as good as 0

/** @typedef {{temperature?: number, topK?: number | null, topP?: number | null, minP?: number | null}} Knobs */

/** @param {Knobs} knobs */
export function checkKnobs({ temperature = 1, topK = null, topP = null, minP = null }) {
  if (!(Number.isFinite(temperature) && temperature >= 0)) {
    throw new Error(`the temperature must be 0 (greedy) or above, not ${shown(temperature)}`);
  }
  if (topK !== null && !(Number.isInteger(topK) && topK >= 1)) {
    throw new Error(`top-k keeps a whole number of tokens, at least 1, not ${shown(topK)}`);
  }
  if (topP !== null && !(Number.isFinite(topP) && topP > 0 && topP <= 1)) {
    throw new Error(`top-p is a probability above 0 and at most 1, not ${shown(topP)}`);
  }
  if (minP !== null && !(Number.isFinite(minP) && minP >= 0 && minP <= 1)) {
    throw new Error(`min-p is a share of the largest from 0 to 1, not ${shown(minP)}`);
  }
}

/**
 * Logits (V) → probabilities (V): temperature, then top-k with ties, then top-p, then min-p.
 * @param {Float32Array} logits
 * @param {Knobs} [knobs]
 * @returns {Float64Array}
 */
export function nextProbabilities(logits, knobs = {}) {
  checkKnobs(knobs);
  const { temperature = 1, topK = null, topP = null, minP = null } = knobs;
  const best = argmax(logits);
  const probabilities = new Float64Array(logits.length);
  if (temperature < GREEDY_BELOW) {
    probabilities[best] = 1;
    return probabilities;
  }
  for (let i = 0; i < logits.length; i++)
    probabilities[i] = (logits[i] - logits[best]) / temperature;
  if (topK !== null && topK < logits.length) {
    const smallestKept = Float64Array.from(probabilities).sort()[logits.length - topK];
    for (let i = 0; i < logits.length; i++) {
      if (probabilities[i] < smallestKept) probabilities[i] = -Infinity;
    }
  }
  softmax(probabilities);
  if (topP !== null && topP < 1) keepNucleus(probabilities, topP);
  if (minP) keepShare(probabilities, minP);
  return probabilities;
}

/**
 * Keep the tokens with at least this share of the largest probability.
 * @param {Float64Array} probabilities
 * @param {number} share
 */
function keepShare(probabilities, share) {
  const threshold = share * probabilities.reduce((a, b) => Math.max(a, b));
  const kept = probabilities.map((p) => (p < threshold ? 0 : p));
  const sum = kept.reduce((a, b) => a + b);
  probabilities.set(kept.map((p) => p / sum));
}

/**
 * Keep the fewest tokens that sum to at least p, the likeliest first; of equals, the lower id.
 * @param {Float64Array} probabilities
 * @param {number} p
 */
function keepNucleus(probabilities, p) {
  const order = Array.from(probabilities.keys()).sort(
    (a, b) => probabilities[b] - probabilities[a] || a - b,
  );
  let sum = 0;
  let kept = 0;
  while (kept < order.length && (kept === 0 || sum < p)) sum += probabilities[order[kept++]];
  for (const id of order.slice(kept)) probabilities[id] = 0;
  for (const id of order.slice(0, kept)) probabilities[id] /= sum;
}

/** @param {Float32Array} logits */
export function argmax(logits) {
  let best = 0;
  for (let i = 0; i < logits.length; i++) {
    if (Number.isNaN(logits[i])) throw new Error("the model's logits are not numbers");
    if (logits[i] > logits[best]) best = i;
  }
  if (logits[best] === Infinity || logits[best] === -Infinity) {
    throw new Error("the model's logits are not finite");
  }
  return best;
}

/**
 * Draw an id by its probability.
 * @param {Float64Array} probabilities
 * @param {() => number} random  from 0 to below 1
 */
export function draw(probabilities, random) {
  let left = random();
  let last = 0;
  for (let i = 0; i < probabilities.length; i++) {
    if (probabilities[i] === 0) continue;
    left -= probabilities[i];
    last = i;
    if (left < 0) return i;
  }
  return last; // the sum was a little below 1
}

/**
 * Random numbers from 0 to below 1, the same for the same seed: "sfc32" of PractRand (Doty-Humphrey).
 * @param {number} seed
 */
export function randomNumbers(seed) {
  if (!Number.isSafeInteger(seed)) {
    throw new Error(`the seed must be a whole number, not ${shown(seed)}`);
  }
  let [a, b, c, counter] = [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 0, 1];
  const next = () => {
    const sum = (a + b + counter++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next(); // until the seed has reached every bit
  return next;
}
