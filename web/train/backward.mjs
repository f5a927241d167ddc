// The gradient of every operation of a forward pass, in plain JavaScript: the chain rule, once for each.
//
// An operation computed y from x, and later operations have left in y.grad how much the loss grows
// with each number of y. What is computed here is how much it grows with each number of x. Where
// `add` is true, x has a share of its gradient from another operation, and this one's is added.
// Gradients of parameters are always added, because every row of a batch gives a share.

import { erf } from "../numbers.mjs";

/** @import { Parameter, Variable } from "./graph.mjs" */

const { exp, sqrt, PI, SQRT2, SQRT1_2 } = Math;

/** The gradients for which simd.mjs has nothing faster, or not for all sizes. */
export class Gradients {
  /**
   * y[t] = table[ids[t]]: a row of the table receives the gradients of all places where it is.
   * @param {Parameter} table
   * @param {ArrayLike<number>} ids
   * @param {Variable} y
   */
  lookUp(table, ids, y) {
    const C = table.columns;
    const [dTable, dy] = [table.grad.data, y.grad.data];
    for (let t = 0; t < ids.length; t++) {
      for (let c = 0; c < C; c++) dTable[ids[t] * C + c] += dy[t * C + c];
    }
  }

  /**
   * y = a + b: the gradient of each part is that of the sum. The first part has the sum's memory.
   * @param {Variable} b
   * @param {Variable} y
   */
  add(b, y) {
    b.grad.data.set(y.grad.data);
  }

  /**
   * @param {Float32Array} rows  (T, R)
   * @param {number} T
   * @param {number} R
   * @param {Float32Array} sum  (R), to which they are added
   */
  sumOfRows(rows, T, R, sum) {
    for (let t = 0; t < T; t++) for (let r = 0; r < R; r++) sum[r] += rows[t * R + r];
  }

  /**
   * y = h · weight + bias with h = (x - mean) / √(variance + ε). Mean and variance depend on x as
   * well, and for that reason dh loses its mean and its part along h: a LayerNorm's output does not
   * change when x is shifted or stretched.
   * @param {Variable} x  (T, C)
   * @param {Variable} weight  (C)
   * @param {Variable} bias  (C)
   * @param {number} epsilon
   * @param {Variable} y  (T, C)
   * @param {boolean} add
   */
  layerNorm(x, weight, bias, epsilon, y, add) {
    const [T, C] = x.shape;
    const [input, w, dx, dy] = [x.data, weight.data, x.grad.data, y.grad.data];
    const [dw, db] = [weight.grad.data, bias.grad.data];
    for (let t = 0; t < T; t++) {
      const row = t * C;
      let [sum, squares] = [0, 0];
      for (let c = 0; c < C; c++) sum += input[row + c];
      const mean = sum / C;
      for (let c = 0; c < C; c++) squares += (input[row + c] - mean) ** 2;
      const scale = 1 / sqrt(squares / C + epsilon);
      let [shift, stretch] = [0, 0];
      for (let c = 0; c < C; c++) {
        const h = (input[row + c] - mean) * scale;
        const dh = dy[row + c] * w[c];
        shift += dh / C;
        stretch += (dh * h) / C;
        dw[c] += dy[row + c] * h;
        db[c] += dy[row + c];
      }
      for (let c = 0; c < C; c++) {
        const h = (input[row + c] - mean) * scale;
        const d = scale * (dy[row + c] * w[c] - shift - h * stretch);
        dx[row + c] = add ? dx[row + c] + d : d;
      }
    }
  }

  /**
   * @param {Variable} x
   * @param {"tanh" | "erf"} form
   * @param {Variable} y
   */
  gelu(x, form, y) {
    const slope = form === "tanh" ? geluTanhSlope : geluErfSlope;
    const [input, dx, dy] = [x.data, x.grad.data, y.grad.data];
    for (let i = 0; i < dx.length; i++) dx[i] = dy[i] * slope(input[i]);
  }
}

/** All of them. */
export class PlainGradients extends Gradients {
  /**
   * y = x Wᵀ + b, so dx = dy W, dW = dyᵀ x, and db is the sum of dy over all tokens.
   * @param {Variable} x  (T, K)
   * @param {Parameter} weight  (R, K)
   * @param {Variable | null} bias  (R)
   * @param {Variable} y  (T, R)
   * @param {boolean} add
   */
  linear(x, weight, bias, y, add) {
    const [T, K, R] = [x.shape[0], weight.columns, weight.rows];
    const [input, w, dx] = [x.data, weight.data, x.grad.data];
    const [dw, dy] = [weight.grad.data, y.grad.data];
    if (!add) dx.fill(0);
    for (let t = 0; t < T; t++) {
      for (let r = 0; r < R; r++) {
        const d = dy[t * R + r];
        for (let k = 0; k < K; k++) {
          dx[t * K + k] += d * w[r * K + k];
          dw[r * K + k] += d * input[t * K + k];
        }
      }
    }
    if (bias) this.sumOfRows(y.grad.data, T, R, bias.grad.data);
  }

  /**
   * Numbers that were moved (plain.mjs): so are their gradients, the other way.
   * @param {Variable} x
   * @param {Variable} y
   * @param {number[]} shape
   * @param {number[]} places
   * @param {number[]} to
   */
  move(x, y, [H, T, D], [first, head, token], [to, toHead, toToken, toNext]) {
    const [dx, dy] = [x.grad.data, y.grad.data];
    for (let h = 0; h < H; h++) {
      for (let t = 0; t < T; t++) {
        const from = first + h * head + t * token;
        const there = to + h * toHead + t * toToken;
        for (let d = 0; d < D; d++) dx[from + d] = dy[there + d * toNext];
      }
    }
  }

  /**
   * In every head y = scale · x tableᵀ: as in `linear`, dx = scale · dy table and
   * dTable = scale · dyᵀ x.
   * @param {Variable} x  (H, T, K)
   * @param {Variable} table  (H, room, stride), of which the first `rows` rows
   * @param {number} rows
   * @param {number} scale
   * @param {Variable} y  (H, T, rows)
   */
  headProduct(x, table, rows, scale, y) {
    const [H, T, K] = x.shape;
    const [, room, stride] = table.shape;
    const [input, w, dy] = [x.data, table.data, y.grad.data];
    const [dx, dTable] = [x.grad.data, table.grad.data];
    dx.fill(0);
    dTable.fill(0);
    for (let h = 0; h < H; h++) {
      for (let t = 0; t < T; t++) {
        for (let r = 0; r < rows; r++) {
          const d = scale * dy[(h * T + t) * rows + r];
          const [xs, ws] = [(h * T + t) * K, (h * room + r) * stride];
          for (let k = 0; k < K; k++) {
            dx[xs + k] += d * w[ws + k];
            dTable[ws + k] += d * input[xs + k];
          }
        }
      }
    }
  }

  /**
   * y = softmax(x), in place: dx = y (dy - Σ y dy). A weight grows only at the expense of the others.
   * @param {Variable} y  (H, T, S)
   */
  softmax(y) {
    const S = y.shape[2];
    const [p, d] = [y.data, y.grad.data];
    for (let row = 0; row < p.length; row += S) {
      let mean = 0;
      for (let s = row; s < row + S; s++) mean += p[s] * d[s];
      for (let s = row; s < row + S; s++) d[s] = p[s] * (d[s] - mean);
    }
  }
}

/**
 * GELU is x · s with s = 1 / (1 + e⁻ᵘ) and u = 2√(2/π) (x + 0.044715 x³) (numbers.mjs), so its slope
 * is s + x s (1 - s) u′.
 * @param {number} x
 */
function geluTanhSlope(x) {
  const u = 2 * sqrt(2 / PI) * (x + 0.044715 * x ** 3);
  const s = 1 / (1 + exp(-u));
  return s + x * s * (1 - s) * 2 * sqrt(2 / PI) * (1 + 3 * 0.044715 * x * x);
}

/**
 * The slope of x Φ(x) is Φ(x) + x φ(x).
 * @param {number} x
 */
function geluErfSlope(x) {
  const density = (exp((-x * x) / 2) * SQRT1_2) / sqrt(PI);
  return 0.5 * (1 + erf(x / SQRT2)) + x * density;
}
