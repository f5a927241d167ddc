// A model from its two files: config.json and model.safetensors.

import { readConfig } from "./config.mjs";
import { GPT2 } from "./model.mjs";
import { headerLength, readHeader } from "./safetensors.mjs";
import { loadWeights, matchEntries } from "./weights.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Backend } from "./plain.mjs" */

/**
 * Bytes that are somewhere: in memory, in a file that was dropped on the page, in the browser's
 * storage.
 * @typedef {{size: number, read: (start: number, end: number) => Promise<Uint8Array> | Uint8Array}} Source
 */

/** @param {Uint8Array} bytes */
export function inMemory(bytes) {
  const read = (/** @type {number} */ start, /** @type {number} */ end) =>
    bytes.subarray(start, end);
  return { size: bytes.length, read };
}

/**
 * Everything is checked before the first number is read. Throws an Error that says in a sentence
 * what is wrong.
 * @param {string} configText
 * @param {Source} weights
 * @param {(config: Config) => Promise<Backend> | Backend} pickBackend
 * @param {(share: number) => void} [progress]
 */
export async function loadModel(configText, weights, pickBackend, progress) {
  const config = readConfig(configText);
  const length = headerLength(await weights.read(0, 8), weights.size);
  const entries = readHeader(await weights.read(8, 8 + length), weights.size);
  const matched = matchEntries(entries, config);
  const backend = await pickBackend(config);
  return new GPT2(
    config,
    await loadWeights(matched, weights.read, config, backend, progress),
    backend,
  );
}
