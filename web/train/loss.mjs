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
 * The sum of -log p(target) over the positions of a row that count, p = softmax(logits), each times
 * its weight. Its gradient with respect to the logits is p - 1 at the target and p elsewhere: what was
 * thought likely and did not come goes down, what came goes up. That gradient, times `share`, is left
 * in logits.grad. A negative weight turns it round: what came goes down.
 * @param {Variable} logits  (T, V)
 * @param {Int32Array} targets  (T)
 * @param {number} share  of a position in the mean over a batch
 * @param {typeof softmaxRow} row  simd.mjs has a faster one
 * @param {Float32Array} weights  (T)
 */
export function crossEntropy(logits, targets, share, row, weights) {
  const [T, V] = logits.shape;
  const [scores, d] = [logits.data, logits.grad.data];
  let loss = 0;
  for (let t = 0; t < T; t++) {
    const target = targets[t];
    const counts = target !== IGNORED;
    const factor = share * weights[t];
    const logSum = row(scores, d, t * V, V, counts ? factor : 0);
    if (!counts) continue;
    loss += weights[t] * (logSum - scores[t * V + target]);
    d[t * V + target] -= factor;
  }
  return loss;
}

/**
 * Over the positions of a row that count, the sums of the predictions' entropy, -Σ p log p, and of
 * their divergence from those of other logits, KL(p ‖ q) = Σ p (log p - log q). `factor` times its
 * gradient, p (log p - log q - KL), is added to logits.grad.
 * @param {Variable} logits  (T, V)
 * @param {Float32Array} others  (T, V)
 * @param {Int32Array} targets  (T)
 * @param {number} factor
 */
export function divergence(logits, others, targets, factor) {
  const [T, V] = logits.shape;
  const d = logits.grad.data;
  const [p, q] = [new Float64Array(V), new Float64Array(V)];
  const sums = { entropy: 0, divergence: 0 };
  for (let t = 0; t < T; t++) {
    if (targets[t] === IGNORED) continue;
    logSoftmax(logits.data, t * V, p);
    logSoftmax(others, t * V, q);
    let kl = 0;
    for (let i = 0; i < V; i++) {
      const share = Math.exp(p[i]);
      sums.entropy -= share * p[i];
      q[i] = p[i] - q[i];
      p[i] = share;
      kl += share * q[i];
    }
    sums.divergence += kl;
    if (factor) for (let i = 0; i < V; i++) d[t * V + i] += factor * p[i] * (q[i] - kl);
  }
  return sums;
}

/**
 * @param {Float32Array} x
 * @param {number} first
 * @param {Float64Array} out  log softmax(x), for as many numbers from `first` on
 */
function logSoftmax(x, first, out) {
  let [largest, sum] = [-Infinity, 0];
  for (let i = 0; i < out.length; i++) largest = Math.max(largest, x[first + i]);
  for (let i = 0; i < out.length; i++) sum += Math.exp(x[first + i] - largest);
  const log = Math.log(sum) + largest;
  for (let i = 0; i < out.length; i++) out[i] = x[first + i] - log;
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
