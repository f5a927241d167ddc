// How much memory a run will take, so that too large a one is refused before any is allocated.

import { numParameters } from "../shapes.mjs";

/** @import { Config } from "../config.mjs" */

const MOST = 2 ** 31; // bytes; a browser gives WebAssembly at most twice as much, and a phone less

/**
 * An estimate of the bytes that a trainer allocates: parameters, their gradients and both moments, and
 * the tensors that graph.mjs makes for one row, with gradients. Those of a block are as large as 46 of
 * (T, C) and 2 of (H, T, T), those outside the blocks as 7 of (T, C) and 2 of (T, V); and a product
 * may take a copy of the logits' gradient.
 * @param {Config} config
 * @param {{T?: number}} [options]  tokens of a row
 */
export function bytesOf(config, { T = config.blockSize } = {}) {
  const { vocabSize: V, nLayer: N, nHead: H, nEmbd: C } = config;
  const block = T * (46 * C + 2 * H * T);
  return 4 * (4 * numParameters(config) + N * block + T * (7 * C + 3 * V));
}

/**
 * Throws an Error for rows that the model cannot read, and for a run that takes too much memory.
 * @param {Config} config
 * @param {number} T
 */
export function checkSizes(config, T) {
  const { blockSize } = config;
  if (!(Number.isInteger(T) && T >= 1 && T <= blockSize)) {
    throw new Error(`a row must have a whole number of tokens from 1 to ${blockSize}, not ${T}`);
  }
  const bytes = bytesOf(config, { T });
  if (!(bytes <= MOST)) {
    const size = Math.ceil(bytes / 1e9);
    throw new Error(
      `this run takes up to ${size} GB of memory, and a page has at most 2: ${CHOOSE}`,
    );
  }
}

export const CHOOSE = "choose a smaller model, or fewer tokens in a row";
