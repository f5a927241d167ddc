// A valley of two numbers, one steep and one flat, and three ways down, step for step what
// torch.optim does: SGD, SGD with momentum 0.9, AdamW without decay.

/** @typedef {{method: string, rate: number, schedule: boolean, clip: boolean, wild: boolean}} Run */
/** @typedef {{at: [number, number], loss: number, rate: number}} Step  where it has led */

export const STEPS = 100;
export const CURVES = /** @type {[number, number]} */ ([10, 0.1]); // steep, flat
export const START = /** @type {[number, number]} */ ([1, -2]);
export const WILD = { step: 50, gradient: /** @type {[number, number]} */ ([0, 50]) };
export const LIMIT = 1; // of a gradient's length, where it is clipped
const WARMUP = 10; // steps
const LEAPT = 1e6; // a loss at which a run is broken off

/** @param {number[]} at */
export function loss(at) {
  return at.reduce((sum, value, i) => sum + (CURVES[i] * value ** 2) / 2, 0);
}

/**
 * The learning rate of a step, counted from 0: up in a straight line, down along half a cosine to a
 * tenth; the chapter's `rate`.
 * @param {number} step
 * @param {Run} run
 */
function rateOf(step, { rate, schedule }) {
  if (!schedule) return rate;
  if (step < WARMUP) return (rate * (step + 1)) / WARMUP;
  const done = (step + 1 - WARMUP) / (STEPS - WARMUP);
  return rate / 10 + ((rate - rate / 10) * (1 + Math.cos(Math.PI * done))) / 2;
}

/**
 * The whole path; it ends early where it has leapt out.
 * @param {Run} run
 * @returns {Step[]}
 */
export function descend(run) {
  let at = START;
  const m = [0, 0];
  const v = [0, 0];
  const path = [{ at, loss: loss(at), rate: 0 }];
  for (let step = 0; step < STEPS; step++) {
    let g = at.map((value, i) => CURVES[i] * value);
    if (run.wild && step + 1 === WILD.step) g = WILD.gradient;
    const long = Math.hypot(...g);
    if (run.clip) g = g.map((value) => value * Math.min(1, LIMIT / (long + 1e-6)));
    const rate = rateOf(step, run);
    const move = (/** @type {number} */ value, /** @type {number} */ i) => {
      if (run.method === "plain") return value - rate * g[i];
      if (run.method === "momentum") {
        m[i] = 0.9 * m[i] + g[i];
        return value - rate * m[i];
      }
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] ** 2;
      const [mean, square] = [m[i] / (1 - 0.9 ** (step + 1)), v[i] / (1 - 0.999 ** (step + 1))];
      return value - (rate * mean) / (Math.sqrt(square) + 1e-8);
    };
    at = [move(at[0], 0), move(at[1], 1)];
    path.push({ at, loss: loss(at), rate });
    if (loss(at) > LEAPT) break;
  }
  return path;
}
