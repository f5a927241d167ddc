// Parts of the weights, fetched from the engine when a place of the picture wants them: a matrix, or
// what a unit of the MLP reads and writes.

import { headOf, lengthOf, rowOf, spreadOf } from "./cells.mjs";
import { sourceOf } from "./source.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { Widths } from "./source.mjs" */
/** @import { model as PageModel } from "../exhibits/page_model.mjs" */

/** Rows are outputs. @typedef {{weight: Float32Array, bias: Float32Array | null}} Part */
/** `map` may be a sample of the weights, then `rows` has those outputs that were asked for.
 * @typedef {{map: Part | null, rows: Map<number, Part>}} Matrix */
/**
 * What a unit reads and writes. `column`: what it adds to the stream, times its result; `up` and
 * `down`: the tokens whose logits that raises and lowers most, by how much for a result of 1.
 * @typedef {{row: Float32Array, bias: number, column: Float32Array, up: Pushed[], down: Pushed[]}} Unit
 */
/** @typedef {{name: string, by: number}} Pushed */
/** Gain and bias of a norm, and its ε; RMSNorm has no bias. @typedef {Part & {epsilon: number}} Norm */
/** @typedef {{matrix?: Matrix, unit?: Unit, norm?: Norm}} Parts */

export const SIDE = 1024; // of a map: of a matrix that has more weights than its square, so many rows and columns
const MOST = 8; // parts that are kept
const WORDS = 3;

/**
 * A token's numbers in a tensor; of one with heads, a head's.
 * @param {import("../tape.mjs").Noted} noted
 * @param {number} t
 * @param {number} [head]
 */
export function vectorOf(noted, t, head = 0) {
  const n = /** @type {number} */ (noted.shape.at(-1));
  const heads = noted.shape.length > 3;
  return rowOf(heads ? { values: headOf(noted, head) } : noted, t, n);
}

/**
 * A matrix at work on a token: what goes in, what comes out, and the row of an output, null where it
 * was not fetched.
 * @param {Pass} pass
 * @param {Place} place
 * @param {Matrix} matrix
 * @param {Widths} sizes
 * @param {number} t
 */
export function worked(pass, place, { map, rows }, sizes, t) {
  const { input, output, to, untaped, once, ...all } = sourceOf(place, sizes);
  const [before, after] = [input, output].map((path) => pass.tensor?.(path));
  if (!before || !after) return null;
  const x = vectorOf(before, t, place.head);
  const [R, K] = [all.rows, all.columns].map(([first, end]) => end - first);
  const whole = map?.weight.length === R * K ? map : null;
  const row = (/** @type {number} */ o) => {
    const own = whole && {
      weight: rowOf({ values: whole.weight }, o, K),
      bias: whole.bias?.subarray(o),
    };
    const { weight, bias } = rows.get(o) ?? own ?? {};
    if (!weight) return null;
    const products = Array.from(x, (value, i) => value * weight[i]);
    const sum = products.reduce((all, p) => all + p, 0);
    return { weight, products, sum, bias: once ? null : (bias?.[0] ?? null) };
  };
  const outputs = () =>
    untaped
      ? Float32Array.from({ length: R }, (_, o) => {
          const { sum = 0, bias = null } = row(o) ?? {};
          return sum + (bias ?? 0);
        })
      : vectorOf(after, t, to);
  return { x, K, R, row, outputs, sampled: Boolean(map) && !whole };
}

/**
 * A norm's module, and the tensors before and after.
 * @param {Place} place
 */
export function normOf({ block = 0, norm }) {
  const before = block ? `transformer.h.${block - 1}.resid_post` : "embd";
  if (norm === "ln_f") return { module: "transformer.ln_f", input: before, output: "ln_f" };
  const output = `transformer.h.${block}.${norm}`;
  const input = norm === "ln_1" ? before : `transformer.h.${block}.resid_mid`;
  return { module: output, input, output };
}

/**
 * What a norm divides by, without its ε: the standard deviation, or the root of the mean square.
 * @param {ArrayLike<number>} x
 * @param {unknown} rms
 */
export function sizeOfNorm(x, rms) {
  return rms ? lengthOf(x) / Math.sqrt(x.length) : spreadOf(x);
}

/**
 * The output of a matrix that is spelled out where none is chosen: the likeliest token, else the one
 * that is furthest from zero.
 * @param {Place} place
 * @param {ArrayLike<number>} outputs
 */
export function chosenOf({ output, weight }, outputs) {
  return output ?? largestOf(outputs, weight === "wte" ? Number : Math.abs);
}

/**
 * @param {ArrayLike<number>} outputs
 * @param {(output: number) => number} [size]
 */
export function largestOf(outputs, size = Math.abs) {
  const sizes = Array.from(outputs, size);
  return sizes.reduce((best, size, o) => (size > sizes[best] ? o : best), 0);
}

export class Shelf {
  /** @param {typeof PageModel} model */
  constructor(model) {
    this.model = model;
    /** @type {Map<string, Promise<Part>>} */
    this.kept = new Map();
    /** @type {unknown} */
    this.of = null; // the model that they are of
  }

  /**
   * @param {string} module
   * @param {number[]} rows
   * @param {number[]} columns
   * @param {number} [most]  rows, and columns
   */
  part(module, rows, columns, most) {
    const { model, kept } = this;
    if (this.of !== model.loaded || kept.size > MOST) kept.clear();
    this.of = model.loaded;
    const key = [module, ...rows, ...columns].join(" ");
    const part = kept.get(key) ?? model.part({ module, rows, columns, most });
    kept.set(key, part);
    part.catch(() => kept.delete(key));
    return part;
  }

  /**
   * What a place wants.
   * @param {Pass} pass
   * @param {Place} place
   * @param {number} at  the token that is followed
   * @returns {Promise<Parts | null>}  null: a newer request took its place
   */
  async wanted(pass, place, at) {
    if (!pass.tensor) return {};
    if (place.weight) return { matrix: await this.matrix(pass, place, at) };
    if (place.norm) {
      const { nEmbd: C, layerNormEpsilon: epsilon } = this.model.present.config;
      const part = await this.part(normOf(place).module, [0, C], [0, 1]);
      return { norm: { ...part, epsilon } };
    }
    const act = place.mlp && pass.tensor(`transformer.h.${place.block}.mlp.act`);
    if (!act) return {};
    const most = largestOf(vectorOf(act, at)); // where none is chosen
    const unit = await this.unit(
      pass,
      /** @type {any} */ ({ ...place, unit: place.unit ?? most }),
      at,
    );
    return unit && { unit };
  }

  /**
   * A product wants one row alone.
   * @param {Pass} pass
   * @param {Place} place
   * @param {number} at
   */
  async matrix(pass, place, at) {
    const { module, rows, columns, output, to } = sourceOf(place, this.model.present.config);
    const [R, K] = [rows, columns].map(([first, end]) => end - first);
    const [single, large] = [place.number !== undefined, R * K > SIDE ** 2];
    const map = single ? null : await this.part(module, rows, columns, large ? SIDE : undefined);
    /** @type {Matrix} */
    const matrix = { map, rows: new Map() };
    const after = pass.tensor?.(output);
    if (!after || !(single || large)) return matrix;
    const chosen = chosenOf(place, vectorOf(after, place.token ?? at, to));
    await this.row(matrix, place, chosen);
    return matrix;
  }

  /**
   * A row of a matrix, where it is needed.
   * @param {Matrix} matrix
   * @param {Place} place
   * @param {number} o
   */
  async row({ map, rows }, place, o) {
    const { module, rows: all, columns } = sourceOf(place, this.model.present.config);
    const whole = (all[1] - all[0]) * (columns[1] - columns[0]);
    if (rows.has(o) || map?.weight.length === whole) return;
    const first = all[0] + o;
    rows.set(o, await this.model.part({ module, rows: [first, first + 1], columns }));
  }

  /**
   * The lens divides a stream's distances from their mean by their spread, multiplies them by the
   * gain of ln_f, and asks the unembedding; RMSNorm takes off no mean. For one unit's column, with the spread of the stream
   * behind this block, that is the unit's own part of the lens's logits.
   * @param {Pass} pass
   * @param {{block: number, unit: number}} place
   * @param {number} at
   * @returns {Promise<Unit | null>}
   */
  async unit({ tensor }, { block, unit }, at) {
    const { model } = this;
    const { nEmbd: C, layerNormEpsilon, llama } = model.present.config;
    const h = `transformer.h.${block}.`;
    const stream = tensor?.(`${h}resid_post`);
    if (!stream) return null;
    const one = [unit, unit + 1];
    const [reads, writes, gain] = await Promise.all([
      this.part(`${h}mlp.${llama ? "gate_proj" : "c_fc"}`, one, [0, C]),
      this.part(`${h}mlp.${llama ? "down_proj" : "c_proj"}`, [0, C], one),
      this.part("transformer.ln_f", [0, C], [0, 1]),
    ]);
    const column = writes.weight;
    const mean = llama ? 0 : column.reduce((sum, x) => sum + x, 0) / C;
    const spread = Math.sqrt(sizeOfNorm(vectorOf(stream, at), llama) ** 2 + layerNormEpsilon);
    const embd = column.map((x, c) => ((x - mean) / spread) * gain.weight[c]);
    const run = await model.run({
      ids: [0],
      key: "flow, unit",
      edits: { embd },
      switches: { order: [], layerNorm: false },
    });
    if (!run) return null;
    const { logits } = run;
    const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);
    const named = (/** @type {number} */ id) => ({ name: model.show(id), by: logits[id] });
    return {
      row: reads.weight,
      bias: reads.bias?.[0] ?? 0,
      column,
      up: order.slice(0, WORDS).map(named),
      down: order.slice(-WORDS).reverse().map(named),
    };
  }
}
