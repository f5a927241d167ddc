// What a step of a model takes, on paper: the formulas of gpt2_edu/flops.py.

/**
 * n_layer, n_embd, n_head, vocab_size, block_size.
 * @typedef {[number, number, number, number, number]} Sizes
 */
/** @typedef {{flops: number, bytes: number, held: number, requests: number, tokens: number}} Work
 *   of one step; held: bytes in the device's memory at once */

/**
 * @param {Sizes} sizes
 * @param {string} job
 * @param {number} batch
 * @param {number} T  tokens of a text; those in its cache, when it is written
 * @param {number} width  bytes of a number that is multiplied
 * @param {[number, number]} requests  outside of the blocks, in each block
 * @returns {Work}
 */
export function work([N, C, H, V, window], job, batch, T, width, [outside, inside]) {
  const matrices = 12 * N * C * C + V * C;
  const parameters = matrices + 13 * N * C + 2 * C + window * C;
  const common = { requests: outside + N * inside };
  if (job === "write") {
    const flops = batch * (2 * matrices + 4 * N * C * T); // T keys are seen
    const held = width * (parameters + batch * T * 2 * N * C);
    return { ...common, flops, bytes: held - width * window * C, held, tokens: batch };
  }
  const tokens = batch * T;
  // What autograd keeps of a token: two LayerNorms, q, k and v, the heads, the MLP; ln_f, lm_head.
  const block = 2 * (4 * C + 8) + width * (15 * C - C) + 4 * H;
  const activations = tokens * (N * block + 4 * C + 8 + width * C);
  const copies = width < 4 ? width * (matrices + 9 * N * C) : 0;
  const held = 16 * parameters + copies + activations + tokens * V * (width + 12);
  // Each byte that is held is written once and read once.
  const flops = tokens * (6 * matrices + 6 * N * C * T);
  return { ...common, flops, bytes: 2 * held, held, tokens };
}
