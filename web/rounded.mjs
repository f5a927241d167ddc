// Rounded weights as a file: the bytes of each tensor as they stand in memory, so that a later visit
// reads fewer of them and rounds nothing. It is a safetensors file with our own layout of bytes.

import { expectedShapes } from "./shapes.mjs";
import { moduleOf } from "./weights.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { GPT2 } from "./model.mjs" */
/** @import { Entry } from "./safetensors.mjs" */
/** @import { Weights } from "./weights.mjs" */
/** @import { WholeBackend } from "./whole.mjs" */

const PIECE = 1 << 22; // bytes that are read at a time

/**
 * The file, piece by piece; the header is the first.
 * @param {GPT2} model
 */
export function* toFile({ config, weights, backend }) {
  const { bytesOf } = /** @type {WholeBackend} */ (backend);
  const names = [...expectedShapes(config).keys()];
  const bytes = (/** @type {string} */ name) => {
    const [module, parameter] = moduleOf(name);
    return bytesOf.call(backend, /** @type {any} */ (weights[module])[parameter]);
  };
  let end = 0;
  const tensors = names.map((name) => {
    const { length } = bytes(name);
    end += length;
    return [name, { dtype: "U8", shape: [length], data_offsets: [end - length, end] }];
  });
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(tensors)));
  const start = new Uint8Array(8 + header.length);
  new DataView(start.buffer).setUint32(0, header.length, true);
  start.set(header, 8);
  yield start;
  for (const name of names) yield bytes(name);
}

/**
 * Into the memory of a backend of the same kind.
 * @param {Map<string, Entry>} entries
 * @param {(start: number, end: number) => Promise<Uint8Array> | Uint8Array} bytes
 * @param {Config} config
 * @param {WholeBackend} backend
 * @param {(share: number) => void} progress
 * @returns {Promise<Weights>}
 */
export async function fromFile(entries, bytes, config, backend, progress) {
  /** @type {Record<string, any>} */
  const weights = {};
  const total = [...entries.values()].reduce((sum, { start, end }) => sum + end - start, 0);
  let done = 0;
  for (const [name, shape] of expectedShapes(config)) {
    const tensor = roomFor(name, shape, backend);
    const entry = entries.get(name);
    const { length } = backend.bytesOf(tensor);
    if (entry?.shape[0] !== length) throw new Error(`${name} does not have ${length} bytes`);
    for (let at = 0; at < length; at += PIECE) {
      const [start, end] = [entry.start + at, Math.min(entry.start + at + PIECE, entry.end)];
      const piece = await bytes(start, end);
      backend.bytesOf(tensor).set(piece, at);
      progress((done += piece.length) / total);
    }
    const [module, parameter] = moduleOf(name);
    weights[module] ??= {};
    weights[module][parameter] = tensor;
  }
  return weights;
}

/**
 * @param {string} name
 * @param {number[]} shape  as expectedShapes gives it
 * @param {WholeBackend} backend
 */
function roomFor(name, [rows, columns], backend) {
  if (columns === undefined) return backend.keep([rows]);
  if (name.startsWith("h.")) return backend.matrix(columns, rows); // maps are given as (in, out)
  return name === "wpe.weight" ? backend.table(rows, columns) : backend.matrix(rows, columns);
}
