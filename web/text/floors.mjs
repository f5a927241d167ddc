// The losses of models that look back by no token or by one: chapter 13's frequencies and pairs.

import { IGNORED } from "../train/loss.mjs";

/** @import { Rows } from "../runs/run.mjs" */

const ADD = 0.01; // to each count, so that no token is impossible

/**
 * Mean losses in nats on rows for validation: of the frequencies of tokens, and of pairs of tokens,
 * counted in other rows. Only pairs of the rows for validation are counted.
 * @param {Rows} counted
 * @param {Rows} held
 * @param {number} V
 */
export function countedLosses(counted, held, V) {
  const tokens = new Float64Array(V);
  const before = new Float64Array(V); // how often a token has one after it
  let total = 0;
  /** @type {Map<number, number>} */
  const pairs = new Map();
  each(held, (id, target) => pairs.set(id * V + target, 0));
  each(counted, (id, target) => {
    total++;
    tokens[target]++;
    before[id]++;
    const pair = pairs.get(id * V + target);
    if (pair !== undefined) pairs.set(id * V + target, pair + 1);
  });
  let [unigram, bigram, n] = [0, 0, 0];
  each(held, (id, target) => {
    n++;
    unigram -= Math.log((tokens[target] + ADD) / (total + ADD * V));
    const pair = /** @type {number} */ (pairs.get(id * V + target));
    bigram -= Math.log((pair + ADD) / (before[id] + ADD * V));
  });
  return { unigram: unigram / n, bigram: bigram / n };
}

/**
 * The mean over rows of the loss at each position of a text.
 * @param {Rows} held
 * @param {number} eot  that each text begins with
 * @param {number[]} byPosition  losses of the first token of a text, the second, …
 */
export function lossByPosition({ ids, targets }, eot, byPosition) {
  let [position, loss, n] = [0, 0, 0];
  ids.forEach((id, t) => {
    position = id === eot ? 0 : position + 1;
    if (targets[t] === IGNORED) return;
    loss += byPosition[Math.min(position, byPosition.length - 1)];
    n++;
  });
  return loss / n;
}

/**
 * @param {Rows} rows
 * @param {(id: number, target: number) => void} pair
 */
function each({ ids, targets }, pair) {
  for (let t = 0; t < ids.length; t++) if (targets[t] !== IGNORED) pair(ids[t], targets[t]);
}
