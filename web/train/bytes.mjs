// How much memory a run takes, before it is taken.

import { numParameters } from "../config.mjs";

/** @import { Config } from "../config.mjs" */

const MOST = 2 ** 31; // bytes; a browser gives WebAssembly at most twice as much, and a phone less

/**
 * About how many bytes a trainer takes. Parameters, their gradients and both moments; and every
 * tensor of a row with its gradient, counted in graph.mjs: of a block 46 of (T, C) and two of
 * (H, T, T), before and after the blocks seven of (T, C), logits, and a copy that a product makes.
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
