// What a draft is worth on the machine at hand: tokens a second with it and without, in turns, and how
// long the passes take that decide it.

import { stream } from "./generation.mjs";
import { KVCache } from "./model.mjs";
import { nextProbabilities } from "./sampling.mjs";
import { speculate } from "./speculative.mjs";

/** @import { GPT2 } from "./model.mjs" */
/**
 * Tokens a second in each turn; `perPass`: tokens for a pass of the large model; `passes`: milliseconds
 * of its pass over one token, of its pass over all that are drafted and one more, of the draft's pass.
 * @typedef {{plain: number[], drafted: number[], perPass: number,
 *   passes: {one: number, many: number, draft: number}}} Race
 */

const LEAST = 200; // milliseconds that are measured, because the clock is coarse
const TURNS = 5;

/**
 * @param {GPT2} model
 * @param {GPT2} draft
 * @param {number[]} ids
 * @param {number} n  tokens of each text, which does not end before
 * @param {{ahead?: number, draftTemperature?: number, turns?: number, least?: number}} [settings]
 * @param {(share: number) => Promise<void> | void} [told]  how much is done; it may throw, to stop
 * @returns {Promise<Race>}
 */
export async function race(model, draft, ids, n, settings = {}, told = () => {}) {
  const { ahead = 4, draftTemperature, turns = TURNS, least = LEAST } = settings;
  const alone = (/** @type {number} */ seed) => stream(model, ids, n, { seed });
  const withDraft = (/** @type {number} */ seed) =>
    speculate(model, draft, ids, n, { ahead, draftTemperature, seed });
  /** @type {Leg[]} */
  const plain = [];
  /** @type {Leg[]} */
  const drafted = [];
  for (let turn = 0; turn <= turns; turn++) {
    const legs = [await leg(alone, n, least), await leg(withDraft, n, least)];
    await told((turn + 1) / (turns + 2));
    if (!turn) continue; // it has warmed up
    plain.push(legs[0]);
    drafted.push(legs[1]);
  }
  const timed = (/** @type {GPT2} */ one, /** @type {number} */ T) => pass(one, ids, T, least / 2);
  const passes = {
    one: await timed(model, 1),
    many: await timed(model, ahead + 1),
    draft: await timed(draft, 1),
  };
  const speeds = (/** @type {Leg[]} */ legs) => legs.map(({ speed }) => speed);
  const perPass = drafted.reduce((sum, one) => sum + one.perPass, 0) / turns;
  return { plain: speeds(plain), drafted: speeds(drafted), perPass, passes };
}

/** @typedef {{speed: number, perPass: number}} Leg */

/**
 * Texts, one after the other.
 * @param {(seed: number) => AsyncGenerator} write
 * @param {number} n
 * @param {number} least
 * @returns {Promise<Leg>}
 */
async function leg(write, n, least) {
  let [texts, passes, took] = [0, 0, 0];
  for (const began = performance.now(); took < least; took = performance.now() - began) {
    const text = write(texts++);
    while (!(await text.next()).done) passes++;
  }
  return { speed: (1000 * n * texts) / took, perPass: (n * texts) / passes };
}

/**
 * Milliseconds of a pass over T tokens after a text, with the probabilities after each.
 * @param {GPT2} model
 * @param {number[]} ids
 * @param {number} T
 * @param {number} least
 */
async function pass(model, ids, T, least) {
  const V = model.config.vocabSize;
  const cache = new KVCache(model.config, model.backend, ids.length + T);
  try {
    await model.forward(ids, { cache, lastOnly: true });
    let [passes, took] = [0, 0];
    for (const began = performance.now(); took < least; took = performance.now() - began) {
      cache.cut(ids.length);
      const logits = await model.forward(Array(T).fill(ids[0]), { cache });
      for (let i = 0; i < T; i++) nextProbabilities(logits.subarray(i * V, (i + 1) * V));
      passes++;
    }
    return took / passes;
  } finally {
    cache.free(model.backend);
  }
}
