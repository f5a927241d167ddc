// Parts of the weights, fetched from the engine when a place of the picture wants them: a matrix, or
// what a unit of the MLP reads and writes.

import { headOf, rowOf, spreadOf } from "./cells.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { model as PageModel } from "../exhibits/page_model.mjs" */

/** Rows are outputs. @typedef {{weight: Float32Array, bias: Float32Array | null}} Part */
/**
 * What a unit reads and writes. `column`: what it adds to the stream, times its result; `up` and
 * `down`: the tokens whose logits that raises and lowers most, by how much for a result of 1.
 * @typedef {{row: Float32Array, bias: number, column: Float32Array, up: Pushed[], down: Pushed[]}} Unit
 */
/** @typedef {{name: string, by: number}} Pushed */
/** @typedef {{matrix?: Part, unit?: Unit}} Parts */

const MOST = 8; // parts that are kept
const WORDS = 3;

/**
 * What a matrix makes of what: its module, the part of its weights, the tensors before and after.
 * @param {Place} place
 * @param {{nHead: number, nEmbd: number}} sizes
 */
export function sourceOf({ block, head = 0, mlp, weight }, { nHead, nEmbd: C }) {
  const h = `transformer.h.${block}.`;
  const [all, units] = [
    [0, C],
    [0, 4 * C],
  ];
  if (weight === "c_fc") {
    const [input, output] = [`${h}ln_2`, `${h}mlp.pre`];
    return { module: `${h}mlp.c_fc`, rows: units, columns: all, input, output };
  }
  if (mlp) {
    const [input, output] = [`${h}mlp.act`, `${h}mlp.out`];
    return { module: `${h}mlp.c_proj`, rows: all, columns: units, input, output };
  }
  const own = [head, head + 1].map((n) => (n * C) / nHead);
  if (weight === "c_proj") {
    const [input, output] = [`${h}attn.heads`, `${h}attn.out`];
    return { module: `${h}attn.c_proj`, rows: all, columns: own, input, output };
  }
  const third = C * ["q", "k", "v"].indexOf(weight ?? "q");
  const rows = own.map((n) => third + n);
  const [input, output] = [`${h}ln_1`, `${h}attn.${weight}`];
  return { module: `${h}attn.c_attn`, rows, columns: all, input, output };
}

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
 * A matrix at work on a token: inputs, outputs, and the products of an output. A head's part of
 * c_proj has no bias, which is added once for all heads.
 * @param {Pass} pass
 * @param {Place} place
 * @param {Part} part
 * @param {{nHead: number, nEmbd: number}} sizes
 * @param {number} t
 */
export function worked(pass, place, { weight, bias }, sizes, t) {
  const { input } = sourceOf(place, sizes);
  const noted = pass.tensor?.(input);
  if (!noted) return null;
  const x = vectorOf(noted, t, place.head);
  const [K, R] = [x.length, weight.length / x.length];
  const own = place.weight === "c_proj" && !place.mlp ? null : bias;
  const products = (/** @type {number} */ o) =>
    Array.from(x, (value, i) => value * weight[o * K + i]);
  const outputs = new Float32Array(R);
  for (let o = 0; o < R; o++) {
    let sum = own?.[o] ?? 0;
    for (let i = 0; i < K; i++) sum += x[i] * weight[o * K + i];
    outputs[o] = sum;
  }
  return { x, K, R, outputs, products, bias: own };
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
   */
  part(module, rows, columns) {
    const { model, kept } = this;
    if (this.of !== model.loaded || kept.size > MOST) kept.clear();
    this.of = model.loaded;
    const key = [module, ...rows, ...columns].join(" ");
    const part = kept.get(key) ?? model.part({ module, rows, columns });
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
    const { config } = this.model.present;
    if (place.weight) {
      const { module, rows, columns } = sourceOf(place, config);
      return { matrix: await this.part(module, rows, columns) };
    }
    if (place.unit === undefined) return {};
    const unit = await this.unit(pass, /** @type {any} */ (place), at);
    return unit && { unit };
  }

  /**
   * The lens divides a stream's distances from their mean by their spread, multiplies them by the
   * gain of ln_f, and asks the unembedding. For one unit's column, with the spread of the stream
   * behind this block, that is the unit's own part of the lens's logits.
   * @param {Pass} pass
   * @param {{block: number, unit: number}} place
   * @param {number} at
   * @returns {Promise<Unit | null>}
   */
  async unit({ tensor }, { block, unit }, at) {
    const { model } = this;
    const { nEmbd: C, layerNormEpsilon } = model.present.config;
    const h = `transformer.h.${block}.`;
    const stream = tensor?.(`${h}resid_post`);
    if (!stream) return null;
    const one = [unit, unit + 1];
    const [reads, writes, gain] = await Promise.all([
      this.part(`${h}mlp.c_fc`, one, [0, C]),
      this.part(`${h}mlp.c_proj`, [0, C], one),
      this.part("transformer.ln_f", [0, C], [0, 1]),
    ]);
    const column = writes.weight;
    const mean = column.reduce((sum, x) => sum + x, 0) / C;
    const spread = Math.sqrt(spreadOf(vectorOf(stream, at)) ** 2 + layerNormEpsilon);
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
