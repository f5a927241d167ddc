// Cross-entropy: how surprised the model was, on average, by the tokens that came.

/** @import { Config } from "../config.mjs" */
/** @import { Variable } from "./graph.mjs" */

export const IGNORED = -100; // the target of a position that does not count, as in PyTorch

/**
 * The share of a position in the mean over a batch. Throws an Error for ids and targets that are not
 * B rows of T tokens, or if no position counts.
 * @param {ArrayLike<number>} ids
 * @param {ArrayLike<number>} targets
 * @param {number} T
 * @param {Config} config
 * @param {number} [count]  of the positions that count, if this is only a part of the batch
 */
export function shareOf(ids, targets, T, { vocabSize: V }, count) {
  if (!ids.length || ids.length % T || targets.length !== ids.length) {
    throw new Error(
      `${ids.length} ids and ${targets.length} targets are not the same number of rows of ${T}`,
    );
  }
  let own = 0;
  for (let t = 0; t < ids.length; t++) {
    const counts = targets[t] !== IGNORED;
    if (!isToken(ids[t], V) || (counts && !isToken(targets[t], V))) {
      throw new Error(
        `the id ${ids[t]} or the target ${targets[t]} is outside the vocabulary 0 … ${V - 1}`,
      );
    }
    if (counts) own++;
  }
  if (!(count ?? own)) {
    throw new Error("every target is ignored: there is nothing to learn from");
  }
  return 1 / (count ?? own);
}

/**
 * @param {number} id
 * @param {number} V
 */
const isToken = (id, V) => Number.isInteger(id) && id >= 0 && id < V;

/**
 * The sum of -log p(target) over the positions of a row that count, p = softmax(logits). Its gradient
 * with respect to the logits is p - 1 at the target and p elsewhere: what was thought likely and did
 * not come goes down, what came goes up. That gradient, times `share`, is left in logits.grad.
 * @param {Variable} logits  (T, V)
 * @param {Int32Array} targets  (T)
 * @param {number} share  of a position in the mean over a batch
 * @param {typeof softmaxRow} row  simd.mjs has a faster one
 */
export function crossEntropy(logits, targets, share, row) {
  const [T, V] = logits.shape;
  const [scores, d] = [logits.data, logits.grad.data];
  let loss = 0;
  for (let t = 0; t < T; t++) {
    const target = targets[t];
    const counts = target !== IGNORED;
    const logSum = row(scores, d, t * V, V, counts ? share : 0);
    if (!counts) continue;
    loss += logSum - scores[t * V + target];
    d[t * V + target] -= share;
  }
  return loss;
}

/**
 * out = scale · softmax(x), for the V numbers from `first` on; returns the logarithm of Σ eˣ.
 * @param {Float32Array} x
 * @param {Float32Array} out
 * @param {number} first
 * @param {number} V
 * @param {number} scale
 */
export function softmaxRow(x, out, first, V, scale) {
  let largest = -Infinity;
  for (let i = first; i < first + V; i++) if (x[i] > largest) largest = x[i];
  let sum = 0;
  for (let i = first; i < first + V; i++) sum += out[i] = Math.exp(x[i] - largest);
  for (let i = first; i < first + V; i++) out[i] *= scale / sum;
  return Math.log(sum) + largest;
}
