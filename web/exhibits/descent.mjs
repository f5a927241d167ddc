// A valley over two numbers, with a steep and a flat direction, and three ways down, step for step
// what torch.optim does: SGD, SGD with momentum 0.9, AdamW without decay. The valley lies along the
// axes, or is turned; a step sees the two numbers only.

import { learningRate } from "../train/adamw.mjs";

/**
 * @typedef {[number, number]} Pair
 * @typedef {{method: string, rate: number, turn: number, schedule: boolean, clip: boolean,
 *   wild: boolean, start?: Pair}} Run  `turn` in degrees; `start`: steep, flat
 * @typedef {{at: Pair, along: Pair, loss: number, rate: number}} Step  where it has led: the two
 *   numbers, and how far from home that is in the steep and in the flat direction
 */

export const STEPS = 100;
export const CURVES = /** @type {Pair} */ ([10, 0.1]); // steep, flat; so are the next two
export const START = /** @type {Pair} */ ([1, -2]);
export const WILD = { step: 50, gradient: /** @type {Pair} */ ([0, 50]) };
export const LIMIT = 1; // of a gradient's length, where it is clipped
const WARMUP = 10; // steps
const LEAPT = 1e6; // a loss at which a run is broken off

/** @param {Pair} along  steep, flat */
export function loss(along) {
  return along.reduce((sum, value, i) => sum + (CURVES[i] * value ** 2) / 2, 0);
}

/**
 * Steep and flat → the two numbers, in a valley turned by so many degrees.
 * @param {Pair} along
 * @param {number} degrees
 * @returns {Pair}
 */
export function turned([steep, flat], degrees) {
  const [cos, sin] = [Math.cos, Math.sin].map((of) => of((degrees * Math.PI) / 180));
  return [cos * steep + sin * flat, cos * flat - sin * steep];
}

/**
 * The learning rate of a step, counted from 0; the chapter's `rate`.
 * @param {number} step
 * @param {Run} run
 */
function rateOf(step, { rate, schedule }) {
  const settings = { steps: STEPS, lr: rate, minLr: rate / 10, warmupSteps: WARMUP };
  return schedule ? learningRate(step, settings) : rate;
}

/**
 * The whole path; it ends early where it has leapt out.
 * @param {Run} run
 * @returns {Step[]}
 */
export function descend(run) {
  const { start = START } = run;
  let at = turned(start, run.turn);
  const m = [0, 0];
  const v = [0, 0];
  const path = [{ at, along: start, loss: loss(start), rate: 0 }];
  for (let step = 0; step < STEPS; step++) {
    const [steep, flat] = path[step].along;
    const wild = run.wild && step + 1 === WILD.step;
    const slope = /** @type {Pair} */ ([CURVES[0] * steep, CURVES[1] * flat]);
    let g = turned(wild ? WILD.gradient : slope, run.turn);
    const share = run.clip ? Math.min(1, LIMIT / (Math.hypot(...g) + 1e-6)) : 1;
    g = [g[0] * share, g[1] * share];
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
    const along = turned(at, -run.turn);
    path.push({ at, along, loss: loss(along), rate });
    if (loss(along) > LEAPT) break;
  }
  return path;
}
