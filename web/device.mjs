// Where tensors stand on a graphics device: what memory.mjs is to the processor.
//
// A tensor is a place in a buffer. Tensors of a pass stand on a stack of buffers, which the next
// pass uses again.

import { bitsOf, size, toHalf } from "./numbers.mjs";
import { GPUBufferUsage, GPUMapMode, Recorder } from "./recorder.mjs";

/** @import { Matrix, Memory, Tensor } from "./memory.mjs" */
/** @import { Buffer, Device } from "./recorder.mjs" */

const PIECE = 1 << 16; // bytes to which buffers of the stack are rounded, since most only grow

/** Numbers on the device. */
export class Placed {
  /**
   * @param {Buffer} buffer
   * @param {number[]} shape
   * @param {number} [first]  where they begin, in numbers
   */
  constructor(buffer, shape, first = 0) {
    this.buffer = buffer;
    this.shape = shape;
    this.first = first;
  }

  get bytes() {
    return 4 * size(this.shape);
  }

  /** @returns {Float32Array} */
  get data() {
    throw new Error("numbers on the graphics device are not at hand: use read()");
  }
}

/**
 * Weights on the device; the stride is the words from row to row, and two float16 are a word.
 * @typedef {Matrix & {buffer: Buffer, format: "float32" | "float16", stride: number}} PlacedMatrix
 */

export class DeviceMemory extends Recorder {
  /**
   * @param {Device} device
   * @param {boolean} half  keep all weights as float16, not only tables too large for the device
   */
  constructor(device, half) {
    super(device);
    this.name = "WebGPU";
    this.half = half;
    /** @type {Buffer[]} */
    this.stack = [];
    this.top = 0;
    this.none = this.keep([1]); // in the place of a bias that is not there
  }

  /** @param {Promise<unknown>} work */
  async settle(work) {
    try {
      await super.settle(work);
    } catch (error) {
      for (const buffer of this.stack.splice(0)) buffer?.destroy(); // one may be broken
      throw error;
    }
  }

  mark() {
    return this.top;
  }

  /** @param {number} top */
  release(top) {
    this.top = top;
  }

  /**
   * @param {number[]} shape
   * @returns {Placed}
   */
  make(shape) {
    const bytes = 4 * size(shape);
    const old = this.stack[this.top];
    if (!old || old.size < bytes) {
      const rounded = Math.ceil(bytes / PIECE) * PIECE;
      this.stack[this.top] = this.buffer(Math.max(bytes, Math.min(rounded, this.largest)));
      this.submit(); // what was recorded may need the old one
      old?.destroy();
    }
    return new Placed(this.stack[this.top++], shape);
  }

  /** @param {number[]} shape */
  keep(shape) {
    return new Placed(this.buffer(4 * size(shape)), shape);
  }

  /** @param {Tensor} tensor  that keep() gave */
  free(tensor) {
    this.submit();
    placed(tensor).buffer.destroy();
  }

  /** @type {Memory["matrix"]} */
  matrix(rows, columns) {
    const half = this.half || 4 * rows * columns > this.largest;
    if (half) this.name = "WebGPU, float16 weights";
    const stride = half ? Math.ceil(columns / 2) : columns;
    const buffer = this.buffer(4 * rows * stride);
    const format = half ? "float16" : "float32";
    return /** @type {any} */ ({ buffer, rows, columns, stride, format });
  }

  /** @type {Memory["table"]} */
  table(rows, columns) {
    return this.matrix(rows, columns);
  }

  /** Waits until the rows are there, so that no more than these stand in memory twice. @type {Memory["store"]} */
  async store(matrix, first, numbers) {
    const { buffer, columns: C, format, stride } = /** @type {PlacedMatrix} */ (matrix);
    /** @type {Float32Array | Uint16Array} */
    let words = numbers;
    if (format === "float16") {
      const bits = bitsOf(numbers);
      words = new Uint16Array((2 * stride * numbers.length) / C);
      for (let i = 0; i < numbers.length; i++) {
        words[Math.floor(i / C) * 2 * stride + (i % C)] = toHalf(bits[i]);
      }
    }
    this.device.queue.writeBuffer(buffer, 4 * first * stride, words);
    await this.settle(this.device.queue.onSubmittedWorkDone());
  }

  /** @param {Float32Array} numbers */
  vector(numbers) {
    const tensor = this.keep([numbers.length]);
    this.put(tensor, numbers);
    return tensor;
  }

  /**
   * Numbers into a tensor, after what was recorded so far.
   * @param {Placed} tensor
   * @param {Float32Array | Uint32Array} numbers
   */
  put({ buffer, first }, numbers) {
    this.submit();
    this.device.queue.writeBuffer(buffer, 4 * first, numbers);
  }

  /** @type {Memory["read"]} */
  async read(tensor) {
    const { buffer, bytes, first } = placed(tensor);
    const { COPY_DST, MAP_READ } = GPUBufferUsage;
    const staging = this.device.createBuffer({ size: bytes, usage: COPY_DST | MAP_READ });
    this.copies().copyBufferToBuffer(buffer, 4 * first, staging, 0, bytes);
    this.submit();
    try {
      await this.settle(staging.mapAsync(GPUMapMode.READ));
      return new Float32Array(staging.getMappedRange().slice(0));
    } finally {
      staging.destroy();
    }
  }

  /** @type {Memory["write"]} */
  write(numbers, shape) {
    const tensor = this.make(shape);
    this.put(tensor, numbers);
    return tensor;
  }

  /** @type {Memory["copy"]} */
  copy(from, to) {
    const [a, b] = [placed(from), placed(to)];
    this.copies().copyBufferToBuffer(a.buffer, 4 * a.first, b.buffer, 4 * b.first, a.bytes);
    return to;
  }

  /** @param {Tensor} tensor */
  clear(tensor) {
    const { buffer, first, bytes } = placed(tensor);
    this.copies().clearBuffer(buffer, 4 * first, bytes);
  }

  /** Parts that may be cleared, copied and read; of the kernels only linear() takes some. @type {Memory["slice"]} */
  slice(x, first, end) {
    const inner = x.shape.slice(1);
    const whole = placed(x);
    return new Placed(whole.buffer, [end - first, ...inner], whole.first + first * size(inner));
  }
}

/**
 * The same tensor, known to stand on the device.
 * @param {any} tensor
 * @returns {Placed}
 */
export function placed(tensor) {
  return tensor;
}
