// The arithmetic in plain JavaScript: the readable twin of the faster backends, and the fallback.
//
// A tensor is a shape and its numbers, row by row. A matrix of weights has a row for each output,
// as nn.Linear stores it, so that every product is a sum over two rows: the one loop that takes
// nearly all the time, and that wasm.mjs replaces.

import { Memory } from "./memory.mjs";
import { geluErf, geluTanh, silu, size, softmax } from "./numbers.mjs";

/** @import { Matrix, Tensor } from "./memory.mjs" */

export class PlainBackend extends Memory {
  name = "plain JavaScript";

  /**
   * Rows of a table (V, C) by number: (T) → (T, C).
   * @param {Matrix} table
   * @param {ArrayLike<number>} ids
   * @param {Tensor} [out]
   */
  lookUp(table, ids, out = this.make([ids.length, table.columns])) {
    const C = table.columns;
    for (let t = 0; t < ids.length; t++) out.data.set(this.row(table, ids[t]), t * C);
    return out;
  }

  /**
   * @param {Matrix} table
   * @param {number} r
   * @returns {ArrayLike<number>}
   */
  row(table, r) {
    return table.data.subarray(r * table.columns, (r + 1) * table.columns);
  }

  /**
   * @param {Tensor} a
   * @param {Tensor} b
   * @param {Tensor} [out]
   */
  add(a, b, out = this.make(a.shape)) {
    const [sum, x, y] = [out.data, a.data, b.data];
    for (let i = 0; i < sum.length; i++) sum[i] = x[i] + y[i];
    return out;
  }

  /**
   * (x - mean) / √(variance + ε) · weight + bias over each row; the variance is the biased one.
   * @param {Tensor} x  (T, C)
   * @param {Tensor} weight  (C)
   * @param {Tensor} bias  (C)
   * @param {number} epsilon
   * @param {Tensor} [out]
   */
  layerNorm(x, weight, bias, epsilon, out = this.make(x.shape)) {
    const [T, C] = x.shape;
    const [to, w, b] = [out.data, weight.data, bias.data];
    for (let t = 0; t < T; t++) {
      const row = x.data.subarray(t * C, (t + 1) * C);
      let sum = 0;
      for (let c = 0; c < C; c++) sum += row[c];
      const mean = sum / C;
      let squares = 0;
      for (let c = 0; c < C; c++) squares += (row[c] - mean) ** 2;
      const scale = 1 / Math.sqrt(squares / C + epsilon);
      for (let c = 0; c < C; c++) {
        to[t * C + c] = (row[c] - mean) * scale * w[c] + b[c];
      }
    }
    return out;
  }

  /**
   * x / √(mean of x² + ε) · weight over each row of C numbers.
   * @param {Tensor} x  (…, C)
   * @param {Tensor} weight  (C)
   * @param {number} epsilon
   */
  rmsNorm(x, weight, epsilon) {
    const out = this.make(x.shape);
    const [from, to, w] = [x.data, out.data, weight.data];
    const C = w.length;
    for (let first = 0; first < size(x.shape); first += C) {
      let squares = 0;
      for (let c = 0; c < C; c++) squares += from[first + c] ** 2;
      const scale = 1 / Math.sqrt(squares / C + epsilon);
      for (let c = 0; c < C; c++) to[first + c] = from[first + c] * scale * w[c];
    }
    return out;
  }

  /**
   * Columns i and i + D/2 of x (heads, T, D) are a point, which is turned by its token's position times
   * frequency i; in place.
   * @param {Tensor} x
   * @param {number} start  the first token's position
   * @param {Float32Array} frequencies  (D/2)
   */
  rotate(x, start, frequencies) {
    const [H, T, D] = x.shape;
    const { data } = x;
    for (let i = 0; i < D / 2; i++) {
      for (let t = 0; t < T; t++) {
        const angle = Math.fround((start + t) * frequencies[i]);
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        for (let at = t * D + i; at < H * T * D; at += T * D) {
          const [a, b] = [data[at], data[at + D / 2]];
          data[at] = a * cos - b * sin;
          data[at + D / 2] = a * sin + b * cos;
        }
      }
    }
    return x;
  }

  /**
   * x Wᵀ + b: (T, K) → (T, R).
   * @param {Tensor} x
   * @param {Matrix} weight  (R, K)
   * @param {Tensor | null} bias  (R)
   * @param {Tensor} [out]
   */
  linear(x, weight, bias, out = this.make([x.shape[0], weight.rows])) {
    this.product(x.data, weight.data, bias?.data ?? null, out.data, weight.columns, weight.rows);
    return out;
  }

  /**
   * out[t, r] = scale x[t] · w[r] + b[r], for rows of K numbers that stand `stride` apart in w.
   * @param {Float32Array} x
   * @param {Float32Array} w
   * @param {Float32Array | null} b
   * @param {Float32Array} out
   * @param {number} K
   * @param {number} R
   * @param {number} [stride]
   * @param {number} [scale]
   */
  product(x, w, b, out, K, R, stride = K, scale = 1) {
    for (let t = 0; t < out.length / R; t++) {
      for (let r = 0; r < R; r++) {
        const xs = t * K;
        const ws = r * stride;
        let s0 = 0;
        let s1 = 0;
        let s2 = 0;
        let s3 = 0;
        let k = 0;
        for (; k + 3 < K; k += 4) {
          s0 += x[xs + k] * w[ws + k];
          s1 += x[xs + k + 1] * w[ws + k + 1];
          s2 += x[xs + k + 2] * w[ws + k + 2];
          s3 += x[xs + k + 3] * w[ws + k + 3];
        }
        for (; k < K; k++) s0 += x[xs + k] * w[ws + k];
        out[t * R + r] = scale * (s0 + s1 + s2 + s3) + (b ? b[r] : 0);
      }
    }
  }

  /**
   * Numbers (H, T, D) from their places to others.
   * @param {Tensor} x
   * @param {Tensor} out
   * @param {number[]} shape
   * @param {number[]} places  [the first, steps from head to head, from token to token]
   * @param {number[]} to  the same in `out`, and the step from number to number
   */
  move(x, out, [H, T, D], [first, head, token], [to, toHead, toToken, toNext]) {
    const [numbers, moved] = [x.data, out.data];
    for (let h = 0; h < H; h++) {
      for (let t = 0; t < T; t++) {
        const from = first + h * head + t * token;
        const there = to + h * toHead + t * toToken;
        for (let d = 0; d < D; d++) moved[there + d * toNext] = numbers[from + d];
      }
    }
  }

  /**
   * In every head, x (H, T, K) times the first `rows` rows of table (H, room, stride), scaled. A table of
   * fewer heads is shared: neighbours of x read the same.
   * @param {Tensor} x
   * @param {Tensor} table
   * @param {number} rows
   * @param {number} scale
   * @param {Tensor} [out]
   * @returns {Tensor}  (H, T, rows)
   */
  headProduct(x, table, rows, scale, out = this.make([x.shape[0], x.shape[1], rows])) {
    const [H, , K] = x.shape;
    const [heads, room, stride] = table.shape;
    for (let h = 0; h < H; h++) {
      const own = this.slice(out, h, h + 1).data;
      const shared = Math.floor((h * heads) / H);
      const w = table.data.subarray(shared * room * stride, (shared + 1) * room * stride);
      this.product(this.slice(x, h, h + 1).data, w, null, own, K, rows, stride, scale);
    }
    return out;
  }

  /**
   * Hide from each query, the first of which stands at `start`, the keys behind it.
   * @param {Tensor} scores  (H, T, S)
   * @param {number} start
   */
  mask(scores, start) {
    const [H, T, S] = scores.shape;
    for (let h = 0; h < H; h++) {
      for (let t = 0; t < T; t++) {
        const row = (h * T + t) * S;
        scores.data.fill(-Infinity, row + Math.min(start + t + 1, S), row + S);
      }
    }
    return scores;
  }

  /**
   * Each row becomes probabilities.
   * @param {Tensor} scores  (H, T, S)
   */
  softmax(scores) {
    const S = scores.shape[2];
    for (let row = 0; row < scores.data.length; row += S)
      softmax(scores.data.subarray(row, row + S));
    return scores;
  }

  /**
   * @param {Tensor} x
   * @param {"tanh" | "erf"} form
   * @param {Tensor} [out]
   */
  gelu(x, form, out = x) {
    const f = form === "tanh" ? geluTanh : geluErf;
    const [from, to] = [x.data, out.data];
    for (let i = 0; i < to.length; i++) to[i] = f(from[i]);
    return out;
  }

  /**
   * silu(x) · y, in the place of x.
   * @param {Tensor} x
   * @param {Tensor} y
   */
  gate(x, y) {
    const [gates, values] = [x.data, y.data];
    for (let i = 0; i < gates.length; i++) gates[i] = silu(gates[i]) * values[i];
    return x;
  }
}

/**
 * What every backend does, wherever it keeps the numbers.
 * @typedef {Omit<PlainBackend, "arena" | "top" | "grow" | "row" | "product" | keyof ForLlama>} Backend
 * @typedef {Pick<PlainBackend, "rmsNorm" | "rotate" | "gate">} ForLlama  what only backends on the
 *   processor do
 */
