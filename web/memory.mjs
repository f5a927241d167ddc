// Where tensors stand, for the backends on the processor.
//
// Tensors of a pass stand in an arena like plates on a stack: mark() before, release() after.

import { size } from "./numbers.mjs";

/**
 * @typedef {{data: Float32Array, shape: number[]}} Tensor
 * @typedef {{data: Float32Array, rows: number, columns: number}} Matrix
 * @typedef {{k: Tensor, v: Tensor}} KV  K (H, S, D) and V (H, D, S) of one layer
 */

/**
 * The next multiple of 16; without bit operations, which end at 2³¹.
 * @param {number} n
 */
export const align = (n) => Math.ceil(n / 16) * 16;

export class Memory {
  /** @param {ArrayBuffer} [arena]  where the tensors of a pass stand */
  constructor(arena) {
    this.arena = arena ?? new ArrayBuffer(1 << 20);
    this.top = 0;
  }

  /** Give all memory back; JavaScript collects it by itself. */
  close() {}

  mark() {
    return this.top;
  }

  /** @param {number} top */
  release(top) {
    this.top = top;
  }

  /**
   * A tensor of the running pass; its numbers are whatever was there before.
   * @param {number[]} shape
   * @returns {Tensor}
   */
  make(shape) {
    const length = size(shape);
    const bytes = align(4 * length);
    if (this.top + bytes > this.arena.byteLength) this.grow(this.top + bytes);
    const data = new Float32Array(this.arena, this.top, length);
    this.top += bytes;
    return { data, shape };
  }

  /**
   * Tensors that were made before keep their old arena; new ones come from a larger one.
   * @param {number} bytes
   */
  grow(bytes) {
    this.arena = new ArrayBuffer(2 * bytes);
  }

  /**
   * A tensor that outlives the pass, all zeros.
   * @param {number[]} shape
   * @returns {Tensor}
   */
  keep(shape) {
    return { data: new Float32Array(size(shape)), shape };
  }

  /**
   * Room for weights, of one row for each output, as the products read them.
   * @param {number} rows
   * @param {number} columns
   * @returns {Matrix}
   */
  matrix(rows, columns) {
    return { data: new Float32Array(rows * columns), rows, columns };
  }

  /**
   * The same for a table of which only rows are looked up.
   * @param {number} rows
   * @param {number} columns
   * @returns {Matrix}
   */
  table(rows, columns) {
    return this.matrix(rows, columns);
  }

  /**
   * Write whole rows of weights, from row `first` on.
   * @param {Matrix} matrix
   * @param {number} first
   * @param {Float32Array} numbers
   * @returns {void | Promise<void>}
   */
  store(matrix, first, numbers) {
    matrix.data.set(numbers, first * matrix.columns);
  }

  /**
   * A tensor (n) that outlives the pass.
   * @param {Float32Array} numbers
   */
  vector(numbers) {
    const tensor = this.keep([numbers.length]);
    tensor.data.set(numbers);
    return tensor;
  }

  /**
   * Say that a tensor that keep() gave is not needed any more.
   * @param {Tensor} tensor
   */
  // eslint-disable-next-line no-unused-vars -- JavaScript collects it by itself
  free(tensor) {}

  /**
   * @param {Tensor} tensor
   * @returns {Promise<Float32Array>}  a copy of its numbers
   */
  async read(tensor) {
    return tensor.data.slice();
  }

  /**
   * @param {Float32Array} numbers
   * @param {number[]} shape
   * @returns {Tensor}
   */
  write(numbers, shape) {
    const tensor = this.make(shape);
    tensor.data.set(numbers);
    return tensor;
  }

  /**
   * @param {Tensor} from
   * @param {Tensor} to
   */
  copy(from, to) {
    to.data.set(from.data);
    return to;
  }

  /**
   * Make all numbers zeros.
   * @param {Tensor} tensor
   */
  clear(tensor) {
    tensor.data.fill(0);
  }

  /**
   * Parts first … end - 1 along the first axis, sharing their numbers.
   * @param {Tensor} x
   * @param {number} first
   * @param {number} end
   * @returns {Tensor}
   */
  slice(x, first, end) {
    const inner = x.shape.slice(1);
    const data = x.data.subarray(first * size(inner), end * size(inner));
    return { data, shape: [end - first, ...inner] };
  }
}
