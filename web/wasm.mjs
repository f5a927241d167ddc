// The same arithmetic with its one heavy loop in WebAssembly, with SIMD: kernel.wat for one token,
// matrix.wat for several.
//
// All numbers stand in the kernel's memory. When that grows, views of it are gone, so a tensor
// here knows its place and takes a new view when it needs one. Weights may be kept as float16, in
// half the memory and exact to three digits; whole.mjs keeps them in less.

import { KERNEL } from "./kernel.mjs";
import { align } from "./memory.mjs";
import { bitsOf, fromHalf, fromHex, size, toHalf } from "./numbers.mjs";
import { PlainBackend } from "./plain.mjs";

/** @import { Tensor } from "./memory.mjs" */
/** @typedef {"float32" | "float16"} Format  of weights */
/** @typedef {Float32Array | Uint16Array | Int16Array | Int8Array} View */

const PAGE = 65536; // bytes by which WebAssembly's memory grows
const BEHIND = 64; // bytes that the kernels may read past the last number

/**
 * Numbers in the kernel's memory.
 * @template {View} V
 */
export class Placed {
  /**
   * @param {WebAssembly.Memory} memory
   * @param {number} place  in bytes
   * @param {number[]} shape
   * @param {new (buffer: ArrayBuffer, place: number, length: number) => V} type
   */
  constructor(memory, place, shape, type) {
    this.memory = memory;
    this.place = place;
    this.shape = shape;
    this.length = size(shape);
    this.type = type;
    this.view = new type(memory.buffer, place, this.length);
  }

  get data() {
    if (this.view.buffer !== this.memory.buffer) {
      this.view = new this.type(this.memory.buffer, this.place, this.length);
    }
    return this.view;
  }
}

/** @typedef {Placed<View> & {rows: number, columns: number}} PlacedMatrix */

export class WasmBackend extends PlainBackend {
  /**
   * @param {WebAssembly.Instance} instance
   * @param {Format} format
   */
  constructor(instance, format) {
    super(new ArrayBuffer(0));
    this.name = format === "float32" ? "WebAssembly" : `WebAssembly, ${format} weights`;
    this.format = format;
    this.kernel = /** @type {Record<string, (...numbers: number[]) => void>} */ (
      /** @type {unknown} */ (instance.exports)
    );
    this.memory = /** @type {WebAssembly.Memory} */ (instance.exports.memory);
    this.used = 16; // bytes of the memory; address 0 means "none"
    this.stack = { place: 0, bytes: 0 };
    this.panel = { place: 0, bytes: 0 }; // of a matrix, as the kernel reads it
    /** @type {Map<number, number[]>} */
    this.freed = new Map(); // places by bytes
  }

  /**
   * Compiling takes a millisecond. Throws where WebAssembly or its SIMD is missing.
   * @param {Format} [format]
   */
  static async start(format = "float32") {
    const { instance } = await WebAssembly.instantiate(fromHex(KERNEL));
    return new this(instance, format);
  }

  /**
   * @param {number} bytes
   * @returns {number}  the place of so many bytes that are nobody's
   */
  reserve(bytes) {
    const rounded = align(bytes);
    const place = this.freed.get(rounded)?.pop() ?? this.used;
    if (place === this.used) {
      const missing = this.used + rounded + BEHIND - this.memory.buffer.byteLength;
      if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
      this.used += rounded;
    }
    return place;
  }

  /** @param {number[]} shape */
  make(shape) {
    const bytes = align(4 * size(shape));
    if (this.top + bytes > this.stack.bytes) this.grow(this.top + bytes);
    const place = this.stack.place + this.top;
    this.top += bytes;
    return new Placed(this.memory, place, shape, Float32Array);
  }

  /**
   * @param {number} numbers
   * @returns {number}  the place of so many that last until the next product
   */
  panelFor(numbers) {
    const bytes = 4 * numbers;
    if (bytes > this.panel.bytes) this.panel = { place: this.reserve(bytes), bytes };
    return this.panel.place;
  }

  /** @param {number} bytes */
  grow(bytes) {
    // What stands on the old stack is in use until the pass ends, so that place is not freed.
    this.stack = { place: this.reserve(2 * bytes), bytes: 2 * bytes };
  }

  /** @param {number[]} shape */
  keep(shape) {
    const fresh = this.used; // memory from here on is all zeros
    const place = this.reserve(4 * size(shape));
    const tensor = new Placed(this.memory, place, shape, Float32Array);
    if (place < fresh) tensor.data.fill(0);
    return tensor;
  }

  /** @param {Tensor} tensor  that keep() gave */
  free(tensor) {
    if (!(tensor instanceof Placed)) return;
    const bytes = align(4 * tensor.length);
    this.freed.set(bytes, [...(this.freed.get(bytes) ?? []), tensor.place]);
  }

  /** @type {PlainBackend["matrix"]} */
  matrix(rows, columns) {
    const type = /** @type {any} */ (this.format === "float32" ? Float32Array : Uint16Array);
    const place = this.reserve(rows * columns * type.BYTES_PER_ELEMENT);
    const placed = new Placed(this.memory, place, [rows, columns], type);
    return /** @type {any} */ (Object.assign(placed, { rows, columns }));
  }

  /** @type {PlainBackend["store"]} */
  store(matrix, first, numbers) {
    if (this.format === "float32") return super.store(matrix, first, numbers);
    const { data, columns } = /** @type {PlacedMatrix} */ (matrix);
    const bits = bitsOf(numbers);
    for (let i = 0; i < bits.length; i++) data[first * columns + i] = toHalf(bits[i]);
  }

  /** @type {PlainBackend["row"]} */
  row(table, r) {
    if (this.format === "float32") return super.row(table, r);
    const { data, columns } = /** @type {PlacedMatrix} */ (table);
    return Float32Array.from(data.subarray(r * columns, (r + 1) * columns), fromHalf);
  }

  /** @type {PlainBackend["slice"]} */
  slice(x, first, end) {
    const inner = x.shape.slice(1);
    const place = placeOf(x) + 4 * first * size(inner);
    return new Placed(this.memory, place, [end - first, ...inner], Float32Array);
  }

  /** @type {PlainBackend["linear"]} */
  linear(x, weight, bias, out = this.make([x.shape[0], weight.rows])) {
    if (this.format === "float32") return super.linear(x, weight, bias, out);
    const { place, rows: R, columns: K } = /** @type {PlacedMatrix} */ (weight);
    const [T] = x.shape;
    const b = bias ? placeOf(bias) : 0;
    const [from, to, step] = [placeOf(x), placeOf(out), 2 * K];
    if (T > 1) this.tiles(from, place, b, to, T, K, R, step, 1);
    else this.kernel.oneToken(from, place, b, to, K, R, step, this.panelFor(K + 4));
    return out;
  }

  /** @type {PlainBackend["product"]} */
  product(x, w, b, out, K, R, stride = K, scale = 1) {
    const { byteOffset: to, length } = out;
    const bias = b === null ? 0 : b.byteOffset;
    const step = 4 * stride;
    if (length > R) {
      this.tiles(x.byteOffset, w.byteOffset, bias, to, length / R, K, R, step, 0, scale);
    } else {
      this.kernel.oneToken(x.byteOffset, w.byteOffset, bias, to, K, R, step, 0);
      if (scale !== 1) for (let r = 0; r < R; r++) out[r] *= scale;
    }
  }

  /**
   * Rows of x times rows of w, for several tokens; tensors by their places.
   * @param {number} x
   * @param {number} w
   * @param {number} b  0: none
   * @param {number} out
   * @param {number} T
   * @param {number} K
   * @param {number} R
   * @param {number} step  bytes from row to row of w
   * @param {number} half  1: w is float16
   * @param {number} [scale]
   */
  tiles(x, w, b, out, T, K, R, step, half, scale = 1) {
    const panel = this.panelFor(half ? 16 * K + 32 : 8 * K);
    const { product } = this.kernel;
    product(x, 4 * K, 4, w, 4, step, half, T, R, K, b, 0, out, 4 * R, scale, 0, panel);
  }
}

/** @param {Tensor} tensor  of the kernel's memory */
export function placeOf(tensor) {
  return /** @type {Placed<Float32Array>} */ (tensor).place;
}
