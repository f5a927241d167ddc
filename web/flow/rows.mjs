// The numbers of a tensor: a token's, all of them as text for Python, and a sum of products.

import { grouped, short } from "../exhibits/dom.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @typedef {{axes: string, shape: number[], values: ArrayLike<number>}} Tensor */
/** @typedef {{name: string, values: number[]}} Row */

const TERMS = 4; // of a dot product

/**
 * The numbers of one token: a row for each head, where there are heads.
 * @param {Tensor} tensor
 * @param {Pass} pass
 * @param {number} at
 * @returns {Row[]}
 */
export function rowsOf({ axes, shape, values }, { ids, tokens }, at) {
  const heads = /[HK]/.test(axes) ? shape[1] : 1;
  const width = axes === "B T" ? 1 : shape[shape.length - 1];
  const many = values.length / heads / width; // pos_emb has no batch
  return Array.from({ length: heads }, (_, h) => {
    const start = (h * many + Math.min(at, ids.length - 1)) * width;
    const row = Array.from({ length: width }, (_, i) => values[start + i]);
    return { name: heads > 1 ? `head ${h}` : tokens[at], values: row };
  });
}

/**
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} row
 */
export function dotProduct(x, row) {
  const all = Array.from(x, (a, c) => ({ c, a, b: row[c], p: a * row[c] }));
  const sorted = [...all].sort((a, b) => Math.abs(b.p) - Math.abs(a.p));
  const sum = (/** @type {{p: number}[]} */ some) => some.reduce((total, { p }) => total + p, 0);
  const [terms, others] = [sorted.slice(0, TERMS), sorted.slice(TERMS)];
  return { terms, rest: sum(others), many: others.length, logit: sum(all) };
}

/**
 * @param {string} name
 * @param {Tensor} tensor
 */
export function forPython(name, { shape, values }) {
  const one = (/** @type {number} */ value) =>
    Number.isFinite(value)
      ? String(Number(value.toPrecision(8)))
      : `${value < 0 ? "-" : ""}torch.inf`;
  const numbers = Array.from(values, one).join(", ");
  return `${name.replace(/\W/g, "_")} = torch.tensor([${numbers}]).view(${shape.join(", ")})\n`;
}

/** @param {ArrayLike<number>} values */
export function finite(values) {
  return Array.from(values).filter(Number.isFinite);
}

/** @param {Tensor} tensor */
export function toldOf({ axes, values }) {
  if (axes === "B T") return "";
  let [least, most] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    least = Math.min(least, values[i]);
    most = Math.max(most, values[i]);
  }
  return `${grouped(values.length)} numbers, from ${short(least)} to ${short(most)}`;
}
