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
 * @typedef {object} BlockWeights
 * @property {{weight: Tensor, bias: Tensor}} ln1
 * @property {Matrix} cAttn
 * @property {Tensor} cAttnBias
 * @property {Matrix} cProj
 * @property {Tensor} cProjBias
 * @property {{weight: Tensor, bias: Tensor}} ln2
 * @property {Matrix} cFc
 * @property {Tensor} cFcBias
 * @property {Matrix} cProjMlp
 * @property {Tensor} cProjMlpBias
 */

/**
 * @typedef {object} Weights
 * @property {Matrix} wte
 * @property {Matrix} wpe
 * @property {Matrix} head  lm_head, which is wte
 * @property {BlockWeights[]} blocks
 * @property {{weight: Tensor, bias: Tensor}} lnF
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
  for (let n = 0; n < nLayer; n++) {
    for (const [name, rows, columns] of /** @type {[string, number, number][]} */ ([
      ["attn.c_attn", C, 3 * C],
      ["attn.c_proj", C, C],
      ["mlp.c_fc", C, 4 * C],
      ["mlp.c_proj", 4 * C, C],
    ])) {
      shapes.set(`h.${n}.${name}.weight`, [rows, columns]).set(`h.${n}.${name}.bias`, [columns]);
    }
    for (const name of ["ln_1", "ln_2"]) {
      shapes.set(`h.${n}.${name}.weight`, [C]).set(`h.${n}.${name}.bias`, [C]);
    }
  }
  return shapes.set("ln_f.weight", [C]).set("ln_f.bias", [C]);
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
   * The rows of a tensor in pieces: (first row, numbers).
   * @param {string} name
   * @param {(first: number, numbers: Float32Array) => void | Promise<void>} put
   */
  const read = async (name, put) => {
    const entry = /** @type {Entry} */ (entries.get(name));
    const [rows, columns = 1] = entry.shape;
    const width = (entry.end - entry.start) / rows; // bytes of a row
    const many = Math.max(1, Math.floor(PIECE / columns));
    for (let first = 0; first < rows; first += many) {
      const last = Math.min(first + many, rows);
      const piece = await bytes(entry.start + first * width, entry.start + last * width);
      await put(first, decode(piece, entry));
      progress((done += (last - first) * columns) / total);
    }
  };
  /** @param {string} name */
  const vector = async (name) => {
    const numbers = new Float32Array(/** @type {Entry} */ (entries.get(name)).shape[0]);
    await read(name, (first, piece) => numbers.set(piece, first));
    return backend.vector(numbers);
  };
  /** @param {string} name */
  const norm = async (name) => ({
    weight: await vector(`${name}.weight`),
    bias: await vector(`${name}.bias`),
  });
  /** @param {string} name  of a table, a row for each token or position */
  const table = async (name) => {
    const [rows, columns] = /** @type {Entry} */ (entries.get(name)).shape;
    const matrix = backend.matrix(rows, columns);
    await read(name, (first, piece) => backend.store(matrix, first, piece));
    return matrix;
  };
  let room = new Float32Array(0); // for the largest map
  /** @param {string} name  of a map that is stored as (in, out) */
  const map = async (name) => {
    const [inputs, outputs] = /** @type {Entry} */ (entries.get(name)).shape;
    const length = inputs * outputs;
    if (room.length < length) room = new Float32Array(length);
    const turned = room.subarray(0, length);
    await read(name, (first, piece) => turn(piece, outputs, turned, inputs, first));
    const matrix = backend.matrix(outputs, inputs);
    await backend.store(matrix, 0, turned);
    return matrix;
  };
  const wte = await table("wte.weight");
  const wpe = await table("wpe.weight");
  const blocks = [];
  for (let n = 0; n < config.nLayer; n++) {
    blocks.push({
      ln1: await norm(`h.${n}.ln_1`),
      cAttn: await map(`h.${n}.attn.c_attn.weight`),
      cAttnBias: await vector(`h.${n}.attn.c_attn.bias`),
      cProj: await map(`h.${n}.attn.c_proj.weight`),
      cProjBias: await vector(`h.${n}.attn.c_proj.bias`),
      ln2: await norm(`h.${n}.ln_2`),
      cFc: await map(`h.${n}.mlp.c_fc.weight`),
      cFcBias: await vector(`h.${n}.mlp.c_fc.bias`),
      cProjMlp: await map(`h.${n}.mlp.c_proj.weight`),
      cProjMlpBias: await vector(`h.${n}.mlp.c_proj.bias`),
    });
  }
  return { wte, wpe, head: wte, blocks, lnF: await norm("ln_f") };
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
