// The same arithmetic on a graphics device: each operation of plain.mjs as a kernel (shaders.mjs).

import { DeviceMemory, placed } from "./device.mjs";
import { size } from "./numbers.mjs";
import { TOKENS } from "./shaders.mjs";

/** @import { PlacedMatrix } from "./device.mjs" */
/** @import { Matrix, Tensor } from "./memory.mjs" */
/** @import { Backend } from "./plain.mjs" */

export class WebGPUBackend extends DeviceMemory {
  /**
   * Throws where there is no such device.
   * @param {{half?: boolean, real?: boolean}} [options]  half: all weights as float16; real: refuse
   *   a device that only the processor imitates
   */
  static async start({ half = false, real = false } = {}) {
    const adapter = await /** @type {any} */ (navigator).gpu.requestAdapter({
      powerPreference: "high-performance",
    });
    const imitated = adapter.isFallbackAdapter ?? adapter.info.isFallbackAdapter; // older, newer
    if (real && imitated) throw new Error("this graphics device is only imitated");
    const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
    const requiredLimits = { maxStorageBufferBindingSize, maxBufferSize };
    return new WebGPUBackend(await adapter.requestDevice({ requiredLimits }), half);
  }

  /** @type {Backend["lookUp"]} */
  lookUp(table, ids) {
    const { columns: C, format, stride } = /** @type {PlacedMatrix} */ (table);
    const out = this.make([ids.length, C]);
    const numbers = this.make([ids.length]);
    this.put(numbers, Uint32Array.from(ids));
    this.each(`lookUp ${format}`, ids.length * C, [C, stride], [numbers, table, out]);
    return out;
  }

  /** @type {Backend["add"]} */
  add(a, b) {
    const out = this.make(a.shape);
    this.each("add", size(a.shape), [], [a, b, out]);
    return out;
  }

  /** @type {Backend["layerNorm"]} */
  layerNorm(x, weight, bias, epsilon) {
    const [T, C] = x.shape;
    const out = this.make([T, C]);
    this.run("layerNorm", [T], [T, C, bits(epsilon)], [x, weight, bias, out]);
    return out;
  }

  /** @type {Backend["linear"]} */
  linear(x, weight, bias) {
    const [T, K] = x.shape;
    const { rows: R, stride, format } = /** @type {PlacedMatrix} */ (weight);
    const out = this.make([T, R]);
    this.product(format, [1, T, K, R], [stride, 0, 1], [x, weight, bias, out]);
    return out;
  }

  /** @type {Backend["headProduct"]} */
  headProduct(x, table, rows, scale) {
    const [H, T, K] = x.shape;
    const [, room, stride] = table.shape;
    const out = this.make([H, T, rows]);
    this.product("float32", [H, T, K, rows], [stride, room * stride, scale], [x, table, null, out]);
    return out;
  }

  /**
   * @param {"float32" | "float16"} format  of the rows
   * @param {number[]} shape  [heads, tokens, numbers of a row, rows]
   * @param {number[]} places  [words from row to row, words from head to head, a factor]
   * @param {[Tensor, Tensor | Matrix, Tensor | null, Tensor]} tensors  [x, rows, bias, out]
   */
  product(format, [H, T, K, R], [stride, step, scale], [x, w, bias, out]) {
    const tokens = T === 1 ? 1 : TOKENS;
    this.run(
      `product ${format} ${tokens}`,
      [Math.ceil(R / 4), Math.ceil(T / tokens), H],
      [T, K, R, stride, step, bits(scale), bias ? 1 : 0, placed(x).first],
      [x, w, bias ?? this.none, out],
    );
  }

  /** @type {Backend["move"]} */
  move(x, out, [H, T, D], places, to) {
    this.each("move", H * T * D, [T, D, ...places, ...to], [x, out]);
  }

  /** @type {Backend["mask"]} */
  mask(scores, start) {
    const [, T, S] = scores.shape;
    if (T > 1) this.each("mask", size(scores.shape), [T, S, start], [scores]);
    return scores; // of one token nothing is hidden
  }

  /** @type {Backend["softmax"]} */
  softmax(scores) {
    const [H, T, S] = scores.shape;
    this.run("softmax", [H * T], [H * T, S], [scores]);
    return scores;
  }

  /** @type {Backend["gelu"]} */
  gelu(x, form) {
    this.each("gelu", size(x.shape), [form === "erf" ? 1 : 0], [x]);
    return x;
  }
}

/**
 * A float32 among whole numbers.
 * @param {number} value
 */
function bits(value) {
  return new Uint32Array(Float32Array.of(value).buffer)[0];
}
