// The same arithmetic with its one heavy loop in WebAssembly, four numbers at a time (kernel.wat).
//
// All numbers stand in the kernel's memory. When that grows, views of it are gone, so a tensor
// here knows its place and takes a new view when it needs one.

import { KERNEL } from "./kernel.mjs";
import { size } from "./numbers.mjs";
import { PlainBackend } from "./plain.mjs";

/** @import { Tensor } from "./memory.mjs" */

const PAGE = 65536; // bytes by which WebAssembly's memory grows

/** A tensor in the kernel's memory. */
class Placed {
  /**
   * @param {WebAssembly.Memory} memory
   * @param {number} place  in bytes
   * @param {number[]} shape
   */
  constructor(memory, place, shape) {
    this.memory = memory;
    this.place = place;
    this.shape = shape;
    this.length = size(shape);
    this.view = new Float32Array(memory.buffer, place, this.length);
  }

  get data() {
    if (this.view.buffer !== this.memory.buffer) {
      this.view = new Float32Array(this.memory.buffer, this.place, this.length);
    }
    return this.view;
  }
}

export class WasmBackend extends PlainBackend {
  /**
   * @param {WebAssembly.Instance} instance
   * @param {boolean} half  keep weights as float16: half the memory, a little less exact
   */
  constructor(instance, half) {
    super(new ArrayBuffer(0));
    const { memory, product } = instance.exports;
    this.name = half ? "WebAssembly, float16 weights" : "WebAssembly";
    this.half = half;
    this.memory = /** @type {WebAssembly.Memory} */ (memory);
    this.kernel = /** @type {(...numbers: number[]) => void} */ (product);
    this.used = 16; // bytes of the memory; address 0 means "no bias"
    this.stack = { place: 0, bytes: 0 };
    this.scratch = { place: 0, bytes: 0 }; // two rows of float16 weights as float32
    /** @type {Map<number, number[]>} */
    this.freed = new Map(); // places by bytes
  }

  /** Compiling takes a millisecond. Throws where WebAssembly or its SIMD is missing. */
  static async start(half = false) {
    const bytes = Uint8Array.from(atob(KERNEL), (c) => c.charCodeAt(0));
    const { instance } = await WebAssembly.instantiate(bytes);
    return new WasmBackend(instance, half);
  }

  /**
   * @param {number} bytes
   * @returns {number}  the place of so many bytes that are nobody's
   */
  reserve(bytes) {
    const rounded = (bytes + 15) & ~15;
    const place = this.freed.get(rounded)?.pop() ?? this.used;
    if (place === this.used) {
      const missing = this.used + rounded - this.memory.buffer.byteLength;
      if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
      this.used += rounded;
    }
    return place;
  }

  /** @param {number[]} shape */
  make(shape) {
    const bytes = (4 * size(shape) + 15) & ~15;
    if (this.top + bytes > this.stack.bytes) this.grow(this.top + bytes);
    const tensor = new Placed(this.memory, this.stack.place + this.top, shape);
    this.top += bytes;
    return tensor;
  }

  /** @param {number} bytes */
  grow(bytes) {
    // What stands on the old stack is in use until the pass ends, so that place is not freed.
    this.stack = { place: this.reserve(2 * bytes), bytes: 2 * bytes };
  }

  /** @param {number[]} shape */
  keep(shape) {
    const tensor = new Placed(this.memory, this.reserve(4 * size(shape)), shape);
    tensor.data.fill(0);
    return tensor;
  }

  /** @param {Tensor} tensor  that keep() gave */
  free(tensor) {
    if (!(tensor instanceof Placed)) return;
    const bytes = (4 * tensor.length + 15) & ~15;
    this.freed.set(bytes, [...(this.freed.get(bytes) ?? []), tensor.place]);
  }

  /**
   * @param {number} rows
   * @param {number} columns
   */
  matrix(rows, columns) {
    const { memory, half } = this;
    const length = rows * columns;
    const place = this.reserve((half ? 2 : 4) * length);
    /** @type {Float32Array | Uint16Array} */
    let view = half ? new Uint16Array(0) : new Float32Array(0);
    return {
      rows,
      columns,
      get data() {
        if (view.buffer !== memory.buffer) {
          view = new (half ? Uint16Array : Float32Array)(memory.buffer, place, length);
        }
        return view;
      },
    };
  }

  /** @param {Float32Array} numbers */
  vector(numbers) {
    const tensor = this.keep([numbers.length]);
    tensor.data.set(numbers);
    return tensor;
  }

  /**
   * @param {Tensor} x
   * @param {number} i
   */
  slice(x, i) {
    const shape = x.shape.slice(1);
    const from = /** @type {Placed} */ (x);
    return new Placed(this.memory, from.place + 4 * i * size(shape), shape);
  }

  /**
   * @param {Tensor} x
   * @param {number} first
   * @param {number} count
   */
  rows(x, first, count) {
    const from = /** @type {Placed} */ (x);
    return new Placed(this.memory, from.place + 4 * first * x.shape[1], [count, x.shape[1]]);
  }

  /**
   * @param {Float32Array} x
   * @param {Float32Array | Uint16Array} w
   * @param {Float32Array | null} b
   * @param {Float32Array} out
   * @param {number} K
   * @param {number} R
   * @param {number} [stride]
   */
  product(x, w, b, out, K, R, stride = K) {
    const bias = b === null ? 0 : b.byteOffset;
    const T = out.length / R;
    const half = w instanceof Uint16Array;
    const places = [x.byteOffset, w.byteOffset, bias, out.byteOffset];
    if (half && this.scratch.bytes < 8 * K + 32) {
      this.scratch = { place: this.reserve(8 * K + 32), bytes: 8 * K + 32 };
      return this.kernel(...places, T, K, R, 2 * stride, this.scratch.place);
    }
    this.kernel(...places, T, K, R, (half ? 2 : 4) * stride, half ? this.scratch.place : 0);
  }
}
