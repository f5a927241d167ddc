// The forward pass of training with SIMD: products by the engine's kernel (matrix.wat), the rest by kernel.wat and rows.wat, which work in the engine's memory. LayerNorms of rows that are no
// multiple of four numbers, and the exact GELU, are left to plain JavaScript.

import { fromHex } from "../numbers.mjs";
import { WasmBackend } from "../wasm.mjs";
import { KERNEL } from "./kernel.mjs";

/** @import { Tensor } from "../memory.mjs" */

/** @typedef {Record<string, (...numbers: number[]) => any>} Kernel */

// What a causal mask leaves out of a product (matrix.wat).
export const ALL = 0;
export const LOWER_RESULT = 1;
export const LOWER_FIRST = 2;
export const UPPER_FIRST = 3;
export const LOWER_SECOND = 4;

/** The forward pass. */
export class SimdBackend extends WasmBackend {
  own = /** @type {Kernel} */ ({}); // the kernel of training

  /** Throws where WebAssembly or its SIMD is missing. */
  static async start() {
    const backend = /** @type {SimdBackend} */ (await super.start());
    const { memory } = backend;
    const { instance } = await WebAssembly.instantiate(fromHex(KERNEL), { engine: { memory } });
    backend.own = /** @type {any} */ (instance.exports);
    return backend;
  }

  /** @type {WasmBackend["add"]} */
  add(a, b, out = this.make(a.shape)) {
    this.own.add(at(a), at(b), at(out), bytes(out));
    return out;
  }

  /** @type {WasmBackend["layerNorm"]} */
  layerNorm(x, weight, bias, epsilon, out = this.make(x.shape)) {
    const [T, C] = x.shape;
    if (C % 4) return super.layerNorm(x, weight, bias, epsilon, out);
    this.own.layerNorm(at(x), at(weight), at(bias), epsilon, at(out), T, 4 * C);
    return out;
  }

  /** @type {WasmBackend["move"]} */
  move(x, out, [H, T, D], [first, head, token], [to, toHead, toToken, toNext]) {
    const { move } = this.own;
    const [a, b] = [at(x) + 4 * first, at(out) + 4 * to];
    move(a, 4 * head, 4 * token, 4, b, 4 * toHead, 4 * toToken, 4 * toNext, H, T, D);
  }

  /**
   * @param {Tensor & {causal?: boolean}} x
   * @param {Tensor} table
   * @param {number} rows
   * @param {number} scale
   * @param {Tensor & {causal?: boolean}} [out]
   */
  headProduct(x, table, rows, scale, out = this.make([x.shape[0], x.shape[1], rows])) {
    const [H, T, K] = x.shape;
    const [, room, stride] = table.shape;
    if (T === 1) return super.headProduct(x, table, rows, scale, out);
    const panel = this.panelFor(8 * K);
    const causal = out.causal ? LOWER_RESULT : x.causal ? LOWER_FIRST : ALL;
    const { product } = this.kernel;
    for (let h = 0; h < H; h++) {
      const a = at(x) + 4 * h * T * K;
      const b = at(table) + 4 * h * room * stride;
      const c = at(out) + 4 * h * T * rows;
      const [as, bs, cs] = [4 * K, 4 * stride, 4 * rows]; // bytes from row to row
      product(a, as, 4, b, 4, bs, 0, T, rows, K, 0, 0, c, cs, scale, causal, panel);
    }
    return out;
  }

  /**
   * @param {Tensor & {causal?: boolean}} scores  if causal, softmax leaves out what the mask hides
   * @param {number} start
   */
  mask(scores, start) {
    return scores.causal ? scores : super.mask(scores, start);
  }

  /** @param {Tensor & {causal?: boolean}} scores */
  softmax(scores) {
    const [H, T, S] = scores.shape;
    this.own.softmax(at(scores), H * T, 4 * S, scores.causal ? 1 : 0, this.panelFor(2));
    return scores;
  }

  /** @type {WasmBackend["gelu"]} */
  gelu(x, form, out = x) {
    if (form === "erf") return super.gelu(x, form, out);
    this.own.gelu(at(x), at(out), bytes(x));
    return out;
  }
}

/** @param {Tensor} tensor */
export const at = (tensor) => tensor.data.byteOffset;

/** @param {Tensor} tensor */
export const bytes = (tensor) => tensor.data.byteLength;
