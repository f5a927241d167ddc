// A model from its two files: config.json and model.safetensors.

import { readConfig } from "./config.mjs";
import { Llama } from "./llama.mjs";
import { GPT2 } from "./model.mjs";
import { fromFile } from "./rounded.mjs";
import { headerLength, readHeader } from "./safetensors.mjs";
import { numParameters } from "./shapes.mjs";
import { HEAD, loadWeights, matchEntries, pieces } from "./weights.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Backend } from "./plain.mjs" */
/** @import { Entry } from "./safetensors.mjs" */

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
 * @param {boolean} [rounded]  the file is one of rounded.mjs, written by such a backend
 */
export async function loadModel(configText, weights, pickBackend, progress = () => {}, rounded) {
  const config = readConfig(configText);
  const length = headerLength(await weights.read(0, 8), weights.size);
  const entries = readHeader(await weights.read(8, 8 + length), weights.size);
  const matched = rounded ? entries : matchEntries(entries, config);
  if (config.llama?.tied !== false) await checkTied(matched, weights);
  const backend = await pickBackend(config);
  try {
    const load = rounded ? fromFile : loadWeights;
    const loaded = await load(
      matched,
      weights.read,
      config,
      /** @type {any} */ (backend),
      progress,
    );
    return new (config.llama ? Llama : GPT2)(config, loaded, backend);
  } catch (error) {
    backend.close();
    if (!(error instanceof RangeError)) throw error; // a browser's own, where memory ends
    const millions = Math.ceil(numParameters(config) / 1e6);
    throw new Error(
      `this browser has no room for ${millions} million parameters: ` +
        "choose a smaller model, or weights as int8 or int4",
      { cause: error },
    );
  }
}

/**
 * A file may hold lm_head too, where it is the table of tokens.
 * @param {Map<string, Entry>} entries
 * @param {Source} weights
 */
async function checkTied(entries, weights) {
  const [head, wte] = [entries.get(HEAD), entries.get("wte.weight")];
  if (!head || !wte) return;
  const others = pieces(wte, weights.read);
  for await (const [, numbers] of pieces(head, weights.read)) {
    const [, own] = /** @type {[number, Float32Array]} */ ((await others.next()).value);
    if (numbers.some((value, i) => value !== own[i])) {
      throw new Error(`${HEAD} differs from wte.weight, and the model has one table for both`);
    }
  }
}
