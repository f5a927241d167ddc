// A model of two numbers, whose loss can be followed by hand: how likely *ate* is after a place and
// a crane. It is logistic regression; its gradient is what PyTorch's autograd gives.

const POINTS = 60; // of a line of equal loss

/**
 * @typedef {[number, number]} Pair  the two numbers: one for all texts, one for the place
 * @typedef {{place: number, ate: number, lifted: number}} Count  how often each verb follows, place
 *   being 1 in the marsh and −1 in the city
 */

/**
 * The probability of *ate*.
 * @param {Pair} numbers
 * @param {number} place
 */
export function pAte([a, b], place) {
  return 1 / (1 + Math.exp(-(a + b * place)));
}

/**
 * The mean of −ln p of the verb that came, and how it changes with each number.
 * @param {Count[]} counts
 * @param {Pair} numbers
 * @returns {{loss: number, slope: Pair}}
 */
export function measure(counts, numbers) {
  let loss = 0;
  const slope = /** @type {Pair} */ ([0, 0]);
  const n = counts.reduce((sum, { ate, lifted }) => sum + ate + lifted, 0);
  for (const { place, ate, lifted } of counts) {
    const p = pAte(numbers, place);
    loss -= (ate * Math.log(p) + lifted * Math.log(1 - p)) / n;
    const push = ((ate + lifted) * p - ate) / n; // of the score
    slope[0] += push;
    slope[1] += push * place;
  }
  return { loss, slope };
}

/**
 * Downhill from a start: each step subtracts rate × slope from each number that may change.
 * @param {Count[]} counts
 * @param {{start: Pair, steps: number, rate: number, both: boolean}} run
 * @returns {Pair[]}
 */
export function walk(counts, { start, steps, rate, both }) {
  const path = [start];
  for (let step = 0; step < steps; step++) {
    const [a, b] = path[step];
    const { slope } = measure(counts, path[step]);
    path.push([a - rate * slope[0], both ? b - rate * slope[1] : b]);
  }
  return path;
}

/**
 * The lowest point, from which lines of equal loss are drawn. The loss is convex: small steps find it.
 * @param {Count[]} counts
 * @param {boolean} both
 */
export function lowest(counts, both) {
  return walk(counts, { start: [0, 0], steps: 2000, rate: 2, both })[2000];
}

/**
 * A line of equal loss around the lowest point.
 * @param {Count[]} counts
 * @param {number} level
 * @returns {Pair[]}
 */
export function contour(counts, level) {
  const home = lowest(counts, true);
  return Array.from({ length: POINTS + 1 }, (_, i) => {
    const way = (2 * Math.PI * i) / POINTS;
    const at = (/** @type {number} */ r) =>
      /** @type {Pair} */ ([home[0] + r * Math.cos(way), home[1] + r * Math.sin(way)]);
    let [low, high] = [0, 50];
    for (let half = 0; half < 40; half++) {
      const middle = (low + high) / 2;
      if (measure(counts, at(middle)).loss < level) low = middle;
      else high = middle;
    }
    return at(low);
  });
}
