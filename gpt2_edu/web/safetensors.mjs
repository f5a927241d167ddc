// The safetensors format: eight bytes with the length of a header, the header as JSON, the numbers.
// Source: https://github.com/huggingface/safetensors

/** @typedef {{name: string, dtype: string, shape: number[], start: number, end: number}} Entry */
import { fromHalf } from "./numbers.mjs";

const WIDTH = new Map([
  ["F32", 4],
  ["F16", 2],
  ["BF16", 2],
]);
const LONGEST_HEADER = 100_000_000; // bytes; what the format's own reader accepts

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
  let json;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(header));
  } catch {
    throw new Error("the header of the weights is not JSON: is it a safetensors file?");
  }
  if (json === null || typeof json !== "object" || Array.isArray(json)) {
    throw new Error("the header of the weights lists no tensors");
  }
  const base = 8 + header.length;
  const entries = new Map();
  for (const [name, value] of Object.entries(json)) {
    if (name === "__metadata__") continue;
    entries.set(name, entry(name, value, base, total));
  }
  return entries;
}

/**
 * @param {string} name
 * @param {any} value
 * @param {number} base
 * @param {number} total
 * @returns {Entry}
 */
function entry(name, value, base, total) {
  const shown = JSON.stringify(name.slice(0, 80));
  const natural = (/** @type {unknown} */ n) => Number.isSafeInteger(n) && Number(n) >= 0;
  const { dtype, shape, data_offsets: offsets } = value ?? {};
  const wellFormed =
    Array.isArray(shape) && shape.every(natural) && Array.isArray(offsets) && offsets.length === 2;
  if (!wellFormed || !offsets.every(natural)) throw new Error(`${shown} is described wrongly`);
  const [start, end] = [base + offsets[0], base + offsets[1]];
  const width = WIDTH.get(dtype);
  if (width !== undefined) {
    const bytes = shape.reduce((/** @type {number} */ a, b) => a * b, width);
    if (end - start !== bytes) {
      throw new Error(`${shown} has ${end - start} bytes, but its shape needs ${bytes}`);
    }
  }
  if (start > end || end > total) throw new Error(`the file of weights is cut off at ${shown}`);
  return { name, dtype: String(dtype), shape, start, end };
}

/**
 * The numbers of a tensor as float32, from its bytes. Throws for a type that is no float, and for
 * numbers that are not finite.
 * @param {Uint8Array} bytes
 * @param {Entry} entry
 * @returns {Float32Array}
 */
export function decode(bytes, { name, dtype }) {
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length); // aligned
  /** @type {Float32Array} */
  let numbers;
  if (dtype === "F32") numbers = new Float32Array(copy);
  else if (dtype === "F16") numbers = Float32Array.from(new Uint16Array(copy), fromHalf);
  else if (dtype === "BF16") {
    const wide = Uint32Array.from(new Uint16Array(copy), (bits) => (bits << 16) >>> 0);
    numbers = new Float32Array(wide.buffer);
  } else throw new Error(`${name} has the type ${dtype}; weights are F32, F16 or BF16`);
  for (let i = 0; i < numbers.length; i++) {
    if (!Number.isFinite(numbers[i])) throw new Error(`${name} holds ${numbers[i]} at place ${i}`);
  }
  return numbers;
}
