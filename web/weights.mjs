// The weights of a GPT-2 under the names that model.mjs uses, from a safetensors file in Hugging
// Face's layout. Hugging Face stores the maps of a block as (in, out); here a row is an output.

import { numParameters } from "./config.mjs";
import { shown } from "./messages.mjs";
import { decode, FLOATS } from "./safetensors.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Matrix, Tensor } from "./memory.mjs" */
/** @import { Backend } from "./plain.mjs" */
/** @import { Entry } from "./safetensors.mjs" */

/**
 * By the names of the modules that hold them in model.py: "transformer.h.0.attn.c_attn".
 * @typedef {Record<string, {weight: Matrix & Tensor, bias: Tensor}>} Weights
 */

const DROPPED = /\.attn\.(masked_)?bias$/; // buffers of older files

export const HEAD = "lm_head.weight"; // some files hold wte a second time, as this

/**
 * The shape of every tensor of the file, under Hugging Face's name without "transformer.".
 * @param {Config} config
 * @returns {Map<string, number[]>}
 */
export function expectedShapes({ vocabSize: V, blockSize, nLayer, nEmbd: C }) {
  const shapes = new Map([
    ["wte.weight", [V, C]],
    ["wpe.weight", [blockSize, C]],
  ]);
  const module = (/** @type {string} */ name, /** @type {number[]} */ ...shape) =>
    shapes.set(`${name}.weight`, shape).set(`${name}.bias`, shape.slice(-1));
  for (let n = 0; n < nLayer; n++) {
    module(`h.${n}.ln_1`, C);
    module(`h.${n}.attn.c_attn`, C, 3 * C);
    module(`h.${n}.attn.c_proj`, C, C);
    module(`h.${n}.ln_2`, C);
    module(`h.${n}.mlp.c_fc`, C, 4 * C);
    module(`h.${n}.mlp.c_proj`, 4 * C, C);
  }
  return module("ln_f", C);
}

/**
 * Compare what a file holds with what the config asks for; all problems in one message.
 * @param {Map<string, Entry>} entries
 * @param {Config} config
 * @returns {Map<string, Entry>}  under the names of expectedShapes
 */
export function matchEntries(entries, config) {
  if (config.nLayer > entries.size) {
    throw new Error(`n_layer is ${config.nLayer}, but the file has only ${entries.size} tensors`);
  }
  const plain = new Map();
  const problems = [];
  for (const [full, entry] of entries) {
    if (DROPPED.test(full)) continue;
    const name = full.replace(/^transformer\.(?!lm_head)/, "");
    if (plain.has(name)) problems.push(`${name} is there with and without "transformer."`);
    plain.set(name, entry);
  }
  const expected = expectedShapes(config);
  if (plain.has(HEAD)) expected.set(HEAD, [config.vocabSize, config.nEmbd]);
  for (const [name, shape] of expected) {
    const entry = plain.get(name);
    if (!entry) problems.push(`${name} is missing`);
    else if (entry.shape.join() !== shape.join()) {
      problems.push(`${name} is ${entry.shape.join(" × ")}, not ${shape.join(" × ")}`);
    } else if (!FLOATS.includes(entry.dtype)) {
      problems.push(`${name} has the type ${entry.dtype}, not ${FLOATS.join(", ")}`);
    }
  }
  for (const name of plain.keys()) {
    if (!expected.has(name)) problems.push(`${shown(name)} is no tensor of a GPT-2`);
  }
  if (problems.length) {
    const rest = problems.length > 5 ? ` … and ${problems.length - 5} more` : "";
    const first = problems.slice(0, 5).join("; ").slice(0, 300);
    throw new Error(`config and weights do not fit: ${first}${rest}`);
  }
  return plain;
}

const PIECE = 1 << 20; // numbers that are read at a time, so that memory holds a file only once

/**
 * The rows of a tensor piece by piece: [number of the first row, numbers].
 * @param {Entry} entry
 * @param {(start: number, end: number) => Promise<Uint8Array> | Uint8Array} bytes
 * @returns {AsyncGenerator<[number, Float32Array], void>}
 */
export async function* pieces(entry, bytes) {
  const { start, end, shape } = entry;
  const [rows, columns = 1] = shape;
  const width = (end - start) / rows; // bytes of a row
  const many = Math.max(1, Math.floor(PIECE / columns));
  for (let first = 0; first < rows; first += many) {
    const last = Math.min(first + many, rows);
    yield [first, decode(await bytes(start + first * width, start + last * width), entry)];
  }
}

/**
 * Read the tensors piece by piece into the backend's memory.
 * @param {Map<string, Entry>} entries  as matchEntries gives them
 * @param {(start: number, end: number) => Promise<Uint8Array> | Uint8Array} bytes
 * @param {Config} config
 * @param {Backend} backend
 * @param {(share: number) => void} [progress]
 * @returns {Promise<Weights>}
 */
export async function loadWeights(entries, bytes, config, backend, progress = () => {}) {
  const total = numParameters(config);
  let done = 0;
  /**
   * @param {Entry} entry
   * @param {(first: number, numbers: Float32Array) => void | Promise<void>} put
   */
  const read = async (entry, put) => {
    for await (const [first, numbers] of pieces(entry, bytes)) {
      await put(first, numbers);
      progress((done += numbers.length) / total);
    }
  };
  let room = new Float32Array(0); // for the largest map
  const load = {
    /** @param {Entry} entry */
    async vector(entry) {
      const whole = new Float32Array(entry.shape[0]);
      await read(entry, (first, numbers) => whole.set(numbers, first));
      return backend.vector(whole);
    },
    /**
     * @param {Entry} entry  a row for each token or position
     * @param {string} name  as expectedShapes has it
     */
    async table(entry, name) {
      const [rows, columns] = entry.shape;
      const head = name === "wte.weight"; // also a map: to the logits
      const matrix = head ? backend.matrix(rows, columns) : backend.table(rows, columns);
      await read(entry, (first, numbers) => backend.store(matrix, first, numbers));
      return matrix;
    },
    /** @param {Entry} entry  stored as (in, out) */
    async map(entry) {
      const [inputs, outputs] = entry.shape;
      const length = inputs * outputs;
      if (room.length < length) room = new Float32Array(length);
      const turned = room.subarray(0, length);
      await read(entry, (first, numbers) => turn(numbers, outputs, turned, inputs, first));
      const matrix = backend.matrix(outputs, inputs);
      await backend.store(matrix, 0, turned);
      return matrix;
    },
  };
  /** @type {Record<string, any>} */
  const weights = {};
  for (const [name, shape] of expectedShapes(config)) {
    const kind = shape.length === 1 ? "vector" : name.startsWith("w") ? "table" : "map";
    const [module, parameter] = moduleOf(name);
    weights[module] ??= {};
    weights[module][parameter] = await load[kind](/** @type {Entry} */ (entries.get(name)), name);
  }
  return weights;
}

/**
 * @param {string} name  as expectedShapes has it
 * @returns {string[]}  the module in model.py, "weight" or "bias"
 */
export function moduleOf(name) {
  return `transformer.${name}`.split(/\.(?=weight|bias)/);
}

const SIDE = 16; // numbers that memory brings at once

/**
 * Rows become columns, the first of them column `first`; in strips, as memory likes it.
 * @param {Float32Array} rows  of `width` numbers
 * @param {number} width
 * @param {Float32Array} turned  rows of `length` numbers
 * @param {number} length
 * @param {number} first
 */
function turn(rows, width, turned, length, first) {
  for (let left = 0; left < width; left += SIDE) {
    const right = Math.min(left + SIDE, width);
    for (let i = 0; i * width < rows.length; i++) {
      for (let r = left; r < right; r++) turned[r * length + first + i] = rows[i * width + r];
    }
  }
}
