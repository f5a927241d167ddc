// The arithmetic of training with SIMD; simd_backend.mjs has the forward pass. Sums of rows that are no
// multiple of four numbers are left to plain JavaScript, with what is left there.

import { Gradients } from "./backward.mjs";
import {
  ALL,
  at,
  bytes,
  LOWER_FIRST,
  LOWER_RESULT,
  LOWER_SECOND,
  SimdBackend,
  UPPER_FIRST,
} from "./simd_backend.mjs";

/** @import { adamW } from "./adamw.mjs" */
/** @import { PlainGradients } from "./backward.mjs" */
/** @import { Variable } from "./graph.mjs" */
/** @import { softmaxRow } from "./loss.mjs" */

// Addresses this many bytes apart map to the same cache set. Columns of rows of such a length are read
// from a copy.
const CACHE_ALIAS = 4096;

/** What computes for a Trainer, with memory of its own. Throws where WebAssembly or its SIMD is missing. */
export async function simdArithmetic() {
  const backend = await SimdBackend.start();
  const { own } = backend;
  const most = backend.keep([2]); // of a row the largest number, and the sum of e^(x - largest)
  return {
    backend,
    gradients: new SimdGradients(backend),
    /** @type {typeof softmaxRow} */
    softmaxRow(x, out, first, V, scale) {
      const row = 4 * first;
      own.softmaxRow(x.byteOffset + row, out.byteOffset + row, 4 * V, scale, at(most));
      return Math.log(most.data[1]) + most.data[0];
    },
    /** @type {typeof adamW} */
    adamW(w, g, m, v, [scale, beta1, beta2, ...rest]) {
      const places = [w, g, m, v].map((numbers) => numbers.byteOffset);
      const betas = [beta1, 1 - beta1, beta2, 1 - beta2];
      return own.adamW(...places, 4 * w.length, scale, ...betas, ...rest) === 0;
    },
    /** @param {Float32Array} numbers */
    sumOfSquares: (numbers) => own.sumOfSquares(numbers.byteOffset, 4 * numbers.length),
  };
}

/** Gradients; what is not here is that of Gradients. */
class SimdGradients extends Gradients {
  /** @param {SimdBackend} backend */
  constructor(backend) {
    super();
    this.backend = backend;
    this.own = backend.own;
  }

  /** @type {PlainGradients["linear"]} */
  linear(x, weight, bias, y, add) {
    const { product } = this.backend.kernel;
    const [T, K, R] = [x.shape[0], weight.columns, weight.rows];
    const [xs, ys] = [4 * K, 4 * R]; // bytes from row to row
    const alike = ys % CACHE_ALIAS === 0;
    const panel = this.backend.panelFor(8 * Math.max(T, R) + (alike ? T * (R + 16) : 0));
    const [dy, w, dx, dw] = [at(y.grad), at(weight), at(x.grad), at(weight.grad)];
    const d = add ? dx : 0;
    product(dy, ys, 4, w, xs, 4, 0, T, K, R, d, xs, dx, xs, 1, ALL, panel);
    const step = alike ? ys + 64 : ys;
    const from = alike ? panel + 32 * Math.max(T, R) : dy;
    if (alike) this.own.move(dy, 0, ys, 4, from, 0, step, 4, 1, T, R);
    product(from, 4, step, at(x), xs, 4, 0, R, K, T, dw, xs, dw, xs, 1, ALL, panel);
    if (bias) this.sumOfRows(y.grad.data, T, R, bias.grad.data);
  }

  /** @type {PlainGradients["sumOfRows"]} */
  sumOfRows(rows, T, R, sum) {
    if (R % 4) super.sumOfRows(rows, T, R, sum);
    else this.own.sumOfRows(rows.byteOffset, T, 4 * R, sum.byteOffset);
  }

  /** @type {PlainGradients["layerNorm"]} */
  layerNorm(x, weight, bias, epsilon, y, add) {
    const [T, C] = x.shape;
    if (C % 4) return super.layerNorm(x, weight, bias, epsilon, y, add);
    const { layerNormBackward } = this.own;
    const [dy, dx, dw, db] = [at(y.grad), at(x.grad), at(weight.grad), at(bias.grad)];
    layerNormBackward(at(x), at(weight), epsilon, dy, dx, dw, db, T, 4 * C, add ? 1 : 0);
  }

  /** @type {PlainGradients["move"]} */
  move(x, y, [H, T, D], [first, head, token], [to, toHead, toToken, toNext]) {
    const { move } = this.own;
    const [a, b] = [at(y.grad) + 4 * to, at(x.grad) + 4 * first];
    move(a, 4 * toHead, 4 * toToken, 4 * toNext, b, 4 * head, 4 * token, 4, H, T, D);
  }

  /** @type {PlainGradients["headProduct"]} */
  headProduct(x, table, rows, scale, y) {
    const { product } = this.backend.kernel;
    const [H, T, K] = x.shape;
    const [, room, stride] = table.shape;
    const panel = this.backend.panelFor(8 * Math.max(T, rows));
    const first = y.causal ? LOWER_FIRST : x.causal ? LOWER_RESULT : ALL;
    const second = y.causal ? UPPER_FIRST : x.causal ? LOWER_SECOND : ALL;
    const [ys, xs, ws] = [4 * rows, 4 * K, 4 * stride]; // bytes from row to row
    for (let h = 0; h < H; h++) {
      const dy = at(y.grad) + h * T * ys;
      const [head, own] = [h * T * xs, h * room * ws];
      const [input, dx] = [at(x) + head, at(x.grad) + head];
      const [w, dw] = [at(table) + own, at(table.grad) + own];
      product(dy, ys, 4, w, ws, 4, 0, T, K, rows, 0, 0, dx, xs, scale, first, panel);
      product(dy, 4, ys, input, xs, 4, 0, rows, K, T, 0, 0, dw, ws, scale, second, panel);
    }
  }

  /** @param {Variable} y */
  softmax(y) {
    const [H, T, S] = y.shape;
    this.own.softmaxBackward(at(y), at(y.grad), H * T, 4 * S, y.causal ? 1 : 0);
  }

  /** @type {PlainGradients["gelu"]} */
  gelu(x, form, y) {
    if (form === "erf") super.gelu(x, form, y);
    else this.own.geluBackward(at(x), at(y.grad), at(x.grad), bytes(x));
  }
}
