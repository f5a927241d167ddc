// The safetensors format: eight bytes with the length of a header, the header as JSON, the numbers.
// Source: https://github.com/huggingface/safetensors

import { readObject, shown } from "./messages.mjs";
import { fromHalf } from "./numbers.mjs";

/** @typedef {{name: string, dtype: string, shape: number[], start: number, end: number}} Entry */

// Bytes of a number of each type; some may be in a file that are not read.
const WIDTHS = new Map(
  [
    ["BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"],
    ["U16", "I16", "F16", "BF16"],
    ["U32", "I32", "F32"],
    ["U64", "I64", "F64"],
  ].flatMap((types, i) => types.map((type) => [type, 2 ** i])),
);
export const FLOATS = ["F32", "F16", "BF16"]; // the types of weights
const LONGEST_HEADER = 1_000_000; // bytes; the largest GPT-2 needs 60,000
const MOST_AXES = 8;

/**
 * How many bytes the header has, by the first eight of a file; the file's own length is `total`.
 * @param {Uint8Array} bytes
 * @param {number} total
 */
export function headerLength(bytes, total) {
  if (bytes.length < 8) throw new Error("the file of weights is cut off: it has no header");
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
  const length = view.getUint32(0, true) + 2 ** 32 * view.getUint32(4, true);
  if (length > LONGEST_HEADER || length > total - 8) {
    throw new Error("this is no safetensors file, or it is cut off: its header does not fit in it");
  }
  return length;
}

/**
 * The tensors that a header lists, with the places of their bytes in the file.
 * @param {Uint8Array} header  without the eight bytes before it
 * @param {number} total  bytes of the file
 * @returns {Map<string, Entry>}
 */
export function readHeader(header, total) {
  const json = readObject("the header of the weights", "tensors", () =>
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(header)),
  );
  const base = 8 + header.length;
  /** @type {Map<string, Entry>} */
  const entries = new Map();
  for (const [name, value] of Object.entries(json)) {
    if (name !== "__metadata__") entries.set(name, entry(name, value, base));
  }
  const inOrder = [...entries.values()].sort((a, b) => a.start - b.start || a.end - b.end);
  let at = base;
  for (const { name, start, end } of inOrder) {
    if (start !== at) throw new Error(`${shown(name)} does not begin where the one before it ends`);
    at = end;
  }
  if (at > total) throw new Error(`the file of weights is cut off: it lacks ${at - total} bytes`);
  if (at < total) throw new Error(`the file of weights is ${total - at} bytes longer than it says`);
  return entries;
}

/**
 * @param {string} name
 * @param {any} value
 * @param {number} base
 * @returns {Entry}
 */
function entry(name, value, base) {
  const { dtype, shape, data_offsets: offsets } = value ?? {};
  if (!naturals(shape) || shape.length > MOST_AXES || !naturals(offsets) || offsets.length !== 2) {
    throw new Error(`${shown(name)} is described wrongly in the header of the weights`);
  }
  const width = WIDTHS.get(dtype);
  if (!width) throw new Error(`${shown(name)} has the unknown type ${shown(dtype)}`);
  const bytes = shape.reduce((product, n) => product * n, width);
  const [start, end] = [base + offsets[0], base + offsets[1]];
  if (end - start !== bytes) {
    throw new Error(`${shown(name)} has ${end - start} bytes, but its shape needs ${bytes}`);
  }
  return { name, dtype, shape, start, end };
}

/**
 * @param {unknown} value
 * @returns {value is number[]}
 */
function naturals(value) {
  return Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0);
}

/**
 * The numbers of a tensor of one of the FLOATS as float32; those that are float32 stay where they
 * are. Throws for numbers that are not finite.
 * @param {Uint8Array} bytes
 * @param {Entry} entry
 * @returns {Float32Array}
 */
export function decode(bytes, { name, dtype }) {
  const { buffer, byteOffset } = bytes.byteOffset % 4 ? bytes.slice() : bytes;
  /** @type {Float32Array} */
  let numbers;
  if (dtype === "F32") numbers = new Float32Array(buffer, byteOffset, bytes.length / 4);
  else {
    const bits = new Uint16Array(buffer, byteOffset, bytes.length / 2);
    numbers = new Float32Array(bits.length);
    const wide = new Uint32Array(numbers.buffer);
    if (dtype === "F16") for (let i = 0; i < bits.length; i++) numbers[i] = fromHalf(bits[i]);
    else for (let i = 0; i < bits.length; i++) wide[i] = bits[i] << 16;
  }
  for (let i = 0; i < numbers.length; i++) {
    if (!Number.isFinite(numbers[i])) throw new Error(`${name} holds ${numbers[i]} at place ${i}`);
  }
  return numbers;
}
