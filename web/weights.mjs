// The weights of a GPT-2 or a Llama under the names that model.mjs and llama.mjs use, from a safetensors
// file in Hugging Face's layout, or of integers, as gpt2_edu/quantize.py saves them. Here a row of a
// matrix is an output.

import { shown } from "./messages.mjs";
import { decode, FLOATS } from "./safetensors.mjs";
import { expectedShapes, isTurned, numParameters } from "./shapes.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Matrix, Tensor } from "./memory.mjs" */
/** @import { Backend } from "./plain.mjs" */
/** @import { Entry } from "./safetensors.mjs" */

/**
 * By the names of the modules that hold them in model.py or llama.py: "transformer.h.0.attn.c_attn".
 * Most of Llama's have no bias.
 * @typedef {Record<string, {weight: Matrix & Tensor, bias: Tensor}>} Weights
 */

const DROPPED = /\.attn\.(masked_)?bias$|\.rotary_emb\.inv_freq$/; // buffers of older files

export const HEAD = "lm_head.weight"; // some files hold a tied wte a second time, as this

/**
 * Hugging Face's names in a Llama's file, and ours, in the order in which they are replaced.
 * @type {[string, string][]}
 */
const RENAMED = [
  ["model.layers.", "h."],
  ["model.embed_tokens.", "wte."],
  ["model.norm.", "ln_f."],
  [".self_attn.", ".attn."],
  [".input_layernorm.", ".ln_1."],
  [".post_attention_layernorm.", ".ln_2."],
];

/**
 * A tensor's name without "transformer.".
 * @param {string} full  as the file has it
 * @param {Config} config
 */
function nameOf(full, { llama }) {
  if (!llama) return full.replace(/^transformer\.(?!lm_head)/, "");
  return RENAMED.reduce((name, [theirs, ours]) => name.replace(theirs, ours), full);
}

/**
 * What a file has of a model: each tensor, or in place of a matrix integers and their scales, with a
 * row for each output.
 * @param {Config} config
 * @returns {Map<string, {shape: number[], types: string[]}>}
 */
function storedShapes(config) {
  const { rounding } = config;
  const stored = new Map();
  for (const [name, shape] of expectedShapes(config)) {
    if (!rounding || !isRounded(name, shape)) {
      stored.set(name, { shape, types: FLOATS });
      continue;
    }
    const { bits, group } = rounding;
    const [rows, columns] = isTurned(config, name, shape) ? [shape[1], shape[0]] : shape;
    const each = group ?? columns;
    if (columns % each) throw new Error(`groups of ${each} columns do not divide ${name}`);
    const width = bits === 4 ? Math.ceil(columns / 2) : columns;
    const types = bits === 4 ? ["U8"] : ["I8"];
    stored.set(integersOf(name), { shape: [rows, width], types });
    stored.set(scalesOf(name), { shape: [rows, columns / each], types: FLOATS });
  }
  return stored;
}

const integersOf = (/** @type {string} */ name) => name.replace(/weight$/, "integers");
const scalesOf = (/** @type {string} */ name) => name.replace(/weight$/, "scales");
/** Positions, norms and biases are floats. @type {(name: string, shape: number[]) => boolean} */
const isRounded = (name, shape) => shape.length > 1 && name !== "wpe.weight";

/**
 * Compare what a file holds with what the config asks for; all problems in one message.
 * @param {Map<string, Entry>} entries
 * @param {Config} config
 * @returns {Map<string, Entry>}  under the names of storedShapes
 */
export function matchEntries(entries, config) {
  if (config.nLayer > entries.size) {
    throw new Error(`n_layer is ${config.nLayer}, but the file has only ${entries.size} tensors`);
  }
  const plain = new Map();
  const problems = [];
  for (const [full, entry] of entries) {
    if (DROPPED.test(full)) continue;
    const name = nameOf(full, config);
    if (plain.has(name)) problems.push(`${name} is there with and without "transformer."`);
    plain.set(name, entry);
  }
  const expected = storedShapes(config);
  if (plain.has(HEAD)) {
    expected.set(HEAD, { shape: [config.vocabSize, config.nEmbd], types: FLOATS });
  }
  for (const [name, { shape, types }] of expected) {
    const entry = plain.get(name);
    if (!entry) problems.push(`${name} is missing`);
    else if (entry.shape.join() !== shape.join()) {
      problems.push(`${name} is ${entry.shape.join(" × ")}, not ${shape.join(" × ")}`);
    } else if (!types.includes(entry.dtype)) {
      problems.push(`${name} has the type ${entry.dtype}, not ${types.join(", ")}`);
    }
  }
  for (const name of plain.keys()) {
    const family = config.llama ? "Llama" : "GPT-2";
    if (!expected.has(name)) problems.push(`${shown(name)} is no tensor of a ${family}`);
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
 * The same of a matrix of integers: each times the scale of its group, in float32, as in Python.
 * @param {Entry} integers
 * @param {Entry} scales
 * @param {number} columns
 * @param {(start: number, end: number) => Promise<Uint8Array> | Uint8Array} bytes
 * @returns {AsyncGenerator<[number, Float32Array], void>}
 */
async function* restored(integers, scales, columns, bytes) {
  const units = decode(await bytes(scales.start, scales.end), scales);
  const [rows, width] = integers.shape;
  const each = columns / scales.shape[1];
  const many = Math.max(1, Math.floor(PIECE / columns));
  for (let first = 0; first < rows; first += many) {
    const last = Math.min(first + many, rows);
    const some = await bytes(integers.start + first * width, integers.start + last * width);
    const numbers = new Float32Array((last - first) * columns);
    for (let i = 0; i < numbers.length; i++) {
      const [row, c] = [Math.floor(i / columns), i % columns];
      const whole =
        integers.dtype === "U8" // two to a byte, the first one low
          ? ((some[row * width + (c >> 1)] >> (4 * (c & 1))) & 15) - 8
          : (some[row * width + c] << 24) >> 24;
      numbers[i] = whole * units[Math.floor((first * columns + i) / each)];
    }
    yield [first, numbers];
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
   * @param {string} name  as expectedShapes has it
   * @param {number[]} shape
   * @param {(first: number, numbers: Float32Array) => void | Promise<void>} put
   */
  const read = async (name, shape, put) => {
    const own = entries.get(name);
    const [integers, scales] = [integersOf, scalesOf].map((of) => entries.get(of(name)));
    const rows = own
      ? pieces(own, bytes)
      : restored(/** @type {Entry} */ (integers), /** @type {Entry} */ (scales), shape[1], bytes);
    for await (const [first, numbers] of rows) {
      await put(first, numbers);
      progress((done += numbers.length) / total);
    }
  };
  let room = new Float32Array(0); // for the largest map
  /** @type {(name: string, shape: number[]) => Promise<Tensor | Matrix>} */
  const load = async (name, shape) => {
    if (shape.length === 1) {
      const whole = new Float32Array(shape[0]);
      await read(name, shape, (first, numbers) => whole.set(numbers, first));
      return backend.vector(whole);
    }
    const turned = isTurned(config, name, shape);
    const [outputs, inputs] = turned ? [shape[1], shape[0]] : shape;
    // A table of positions is only looked up; that of tokens is a map, too: to the logits.
    const matrix =
      name === "wpe.weight" ? backend.table(outputs, inputs) : backend.matrix(outputs, inputs);
    if (!turned || config.rounding) {
      await read(name, [outputs, inputs], (first, numbers) =>
        backend.store(matrix, first, numbers),
      );
      return matrix;
    }
    const length = inputs * outputs;
    if (room.length < length) room = new Float32Array(length);
    const whole = room.subarray(0, length);
    await read(name, shape, (first, numbers) => turn(numbers, outputs, whole, inputs, first));
    await backend.store(matrix, 0, whole);
    return matrix;
  };
  /** @type {Record<string, any>} */
  const weights = {};
  for (const [name, shape] of expectedShapes(config)) {
    const [module, parameter] = moduleOf(name);
    weights[module] ??= {};
    weights[module][parameter] = await load(name, shape);
  }
  return weights;
}

/**
 * @param {string} name  as expectedShapes has it
 * @returns {string[]}  the module in model.py or llama.py, "weight" or "bias"
 */
export function moduleOf(name) {
  return `${name === HEAD ? "" : "transformer."}${name}`.split(/\.(?=weight|bias)/);
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
