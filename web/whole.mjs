// Weights as whole numbers times a scale, in a quarter of float32's memory or in a sixth: faster, and
// not identical.
//
// They are rounded by the rule of rounding.mjs: in int8 a row has a scale, in int4 each 32 weights. The
// numbers that weights are multiplied by are rounded in the same way, each token's by the largest of them
// over 8,191.

import { align } from "./memory.mjs";
import { fromHex } from "./numbers.mjs";
import { GROUP, toWhole } from "./rounding.mjs";
import { Placed, WasmBackend, placeOf } from "./wasm.mjs";
import { KERNEL } from "./whole_kernel.mjs";

/** @typedef {"int8" | "int4"} Whole  how weights are stored */

const LARGEST_INPUT = 8191; // so that the kernel's sums stay below 2³¹
const LONGEST_ROW = 8192; // of int8, for the same reason; int4 is summed by groups

/**
 * A row has `width` weights, of which those behind the columns are zeros, and `groups` scales. In
 * `numbers` are all rows, in int4 four weights to an int16; behind them are all scales.
 * @typedef {{numbers: Placed<Int8Array | Int16Array>, scales: Placed<Float32Array>, rows: number,
 *   columns: number, width: number, groups: number}} WholeMatrix
 */

export class WholeBackend extends WasmBackend {
  four = false; // int4
  whole = /** @type {Record<string, (...numbers: number[]) => void>} */ ({}); // the kernel

  /** @type {WasmBackend["matrix"]} */
  matrix(rows, columns) {
    const { four, memory } = this;
    const width = four ? Math.ceil(columns / GROUP) * GROUP : align(columns);
    if (!four && width > LONGEST_ROW) {
      throw new Error(`int8 takes rows of up to ${LONGEST_ROW} weights, not ${columns}: use int4`);
    }
    const groups = four ? width / GROUP : 1;
    const bytes = four ? (rows * width) / 2 : rows * width;
    const place = this.reserve(bytes + 4 * rows * groups);
    const numbers = four
      ? new Placed(memory, place, [bytes / 2], Int16Array)
      : new Placed(memory, place, [bytes], Int8Array);
    const scales = new Placed(memory, place + bytes, [rows * groups], Float32Array);
    return /** @type {any} */ ({ numbers, scales, rows, columns, width, groups });
  }

  /** A table that is only looked up keeps its numbers. @type {WasmBackend["table"]} */
  table(rows, columns) {
    return super.matrix(rows, columns);
  }

  /** @type {WasmBackend["store"]} */
  store(matrix, first, given) {
    if (!isWhole(matrix)) return super.store(matrix, first, given);
    const { numbers, scales, columns, width, groups } = matrix;
    const [to, units] = [numbers.data, scales.data];
    const row = new Int8Array(width);
    const size = width / groups;
    for (let r = first, from = 0; from < given.length; r++, from += columns) {
      for (let g = 0; g < groups; g++) {
        const [start, end] = [g * size, Math.min((g + 1) * size, columns)];
        units[r * groups + g] = toWhole(given, from, row, 0, start, end, this.four ? 7 : 127);
      }
      if (this.four) inFours(row, to, (r * width) / 4);
      else to.set(row, r * width);
    }
  }

  /** @type {WasmBackend["row"]} */
  row(table, r) {
    if (!isWhole(table)) return super.row(table, r);
    const { numbers, scales, columns: length, width, groups } = table;
    const [from, units] = [numbers.data, scales.data];
    const fourth = (/** @type {number} */ c) => {
      const lane = from[(r * width) / 4 + Math.floor(c / GROUP) * 8 + (c % 8)];
      return (lane << (28 - 4 * (Math.floor(c / 8) % 4))) >> 28;
    };
    return Float32Array.from({ length }, (_, c) =>
      this.four
        ? fourth(c) * units[r * groups + Math.floor(c / GROUP)]
        : from[r * width + c] * units[r],
    );
  }

  /** @type {WasmBackend["linear"]} */
  linear(x, weight, bias, out = this.make([x.shape[0], weight.rows])) {
    const { numbers, scales, rows, columns, width, groups } = /** @type {any} */ (weight);
    const [T] = x.shape;
    const stack = this.mark();
    const rounded = this.make([T, width / 2]); // two int16 in the room of a float32
    const units = this.make([T]);
    const [from, own] = [x.data, units.data];
    const to = new Int16Array(this.memory.buffer, rounded.place, T * width).fill(0);
    for (let t = 0; t < T; t++) {
      own[t] = toWhole(from, t * columns, to, t * width, 0, columns, LARGEST_INPUT);
    }
    const places = [rounded.place, units.place, numbers.place];
    const steps = [this.four ? width / 2 : width, scales.place, 4 * groups];
    const ends = [bias ? placeOf(bias) : 0, placeOf(out), T, width, rows];
    this.whole.productWhole(...places, ...steps, ...ends);
    this.release(stack);
    return out;
  }

  /**
   * The bytes of weights as they stand here; until memory grows.
   * @param {any} weights  a matrix, a table or a vector
   */
  bytesOf({ numbers, scales, ...placed }) {
    const [start, last] = numbers ? [numbers, scales] : [placed, placed];
    const length = last.place + 4 * last.length - start.place;
    return new Uint8Array(this.memory.buffer, start.place, length);
  }
}

/**
 * Throws where WebAssembly or its SIMD is missing.
 * @param {Whole} format
 */
export async function startWhole(format) {
  const backend = /** @type {WholeBackend} */ (await WholeBackend.start());
  const { memory } = backend;
  const { instance } = await WebAssembly.instantiate(fromHex(KERNEL), { engine: { memory } });
  backend.whole = /** @type {any} */ (instance.exports);
  backend.four = format === "int4";
  backend.name = `WebAssembly, ${format} weights`;
  return backend;
}

/**
 * @param {any} matrix
 * @returns {matrix is WholeMatrix}
 */
function isWhole(matrix) {
  return "groups" in matrix;
}

/**
 * A row's whole numbers, four to an int16, as whole.wat reads them.
 * @param {Int8Array} row
 * @param {Int16Array | Int8Array} to
 * @param {number} at
 */
function inFours(row, to, at) {
  for (let g = 0; g < row.length; g += GROUP) {
    for (let i = g; i < g + 8; i++) {
      const low = (row[i] & 15) | ((row[i + 8] & 15) << 4);
      to[at++] = low | ((row[i + 16] & 15) << 8) | (row[i + 24] << 12);
    }
  }
}
