// LoRA (Hu et al. 2021) in the engine: a model beside the one that an adapter was trained on, with
// W + strength · alpha/r · BA in the place of each W that the adapter changes. The two share all
// other weights. An adapter is what peft saves: adapter_config.json and adapter_model.safetensors.

import { readObject, shown } from "./messages.mjs";
import { GPT2 } from "./model.mjs";
import { FLOATS, decode, headerLength, readHeader } from "./safetensors.mjs";
import { expectedShapes } from "./shapes.mjs";
import { HEAD, moduleOf } from "./weights.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Source } from "./load.mjs" */
/** @import { Matrix } from "./memory.mjs" */
/** @import { Backend } from "./plain.mjs" */
/** @typedef {{A: Float32Array, B: Float32Array}} Pair  A (r, in) and B (out, r) */
/** @typedef {{scale: number, rank: number, pairs: Map<string, Pair>, tables: Map<string, Float32Array>}}
 *   Adapter  by the name of the module; a table is a whole one, which may have more rows */

const LONGEST = 1_000_000; // characters
const LARGEST_RANK = 4096;
const PREFIX = /^(base_model\.model\.)?(transformer\.)?/;

// What peft can do besides; none of it may be asked for.
const BESIDES = ["use_dora", "use_rslora", "lora_bias", "rank_pattern", "alpha_pattern"];
BESIDES.push("layers_to_transform", "trainable_token_indices");

/**
 * Everything is checked before a model is changed. Throws an Error that says in a sentence what is
 * wrong.
 * @param {string} configText
 * @param {Source} weights
 * @param {Config} config  of the model
 * @returns {Promise<Adapter>}
 */
export async function readAdapter(configText, weights, config) {
  const { rank, scale } = readScale(configText);
  const length = headerLength(await weights.read(0, 8), weights.size);
  const entries = readHeader(await weights.read(8, 8 + length), weights.size);
  const left = new Map([...entries].map(([name, entry]) => [name.replace(PREFIX, ""), entry]));
  /** @type {string[]} */
  const problems = [];
  /** @param {string} name @param {number[]} shape  with `orMore`, at least so many rows */
  const take = async (name, shape, orMore = false) => {
    const entry = left.get(name);
    left.delete(name);
    if (!entry) return null;
    const fits = entry.shape.length === 2 && entry.shape.every((n, i) => n === shape[i]);
    const more = orMore && entry.shape[1] === shape[1] && entry.shape[0] >= shape[0];
    if (!fits && !more) {
      problems.push(`${name} is ${entry.shape.join(" × ")}, not ${shape.join(" × ")}`);
    } else if (!FLOATS.includes(entry.dtype)) {
      problems.push(`${name} has the type ${entry.dtype}, not ${FLOATS.join(", ")}`);
    } else return decode(await weights.read(entry.start, entry.end), entry);
    return null;
  };
  /** @type {Adapter} */
  const adapter = { rank, scale, pairs: new Map(), tables: new Map() };
  for (const [name, [first, last]] of expectedShapes(config)) {
    if (last === undefined) continue; // a vector
    const [module] = moduleOf(name);
    const own = name.replace(/\.weight$/, "");
    if (name.startsWith("w")) {
      const tied = name === "wte.weight";
      const table = await take(name, [first, last], tied);
      const head = tied ? await take(HEAD, [first, last], tied) : null; // a second copy
      if (head?.some((value, i) => value !== table?.[i])) problems.push(`${HEAD} is not ${name}`);
      if (table) adapter.tables.set(module, table);
      continue;
    }
    const A = await take(`${own}.lora_A.weight`, [rank, first]);
    const B = await take(`${own}.lora_B.weight`, [last, rank]);
    if (A && B) adapter.pairs.set(module, { A, B });
    else if (A || B) problems.push(`${own} has only one of lora_A and lora_B`);
  }
  for (const name of left.keys()) problems.push(`${shown(name)} is no part of a LoRA of it`);
  if (problems.length) {
    const rest = problems.length > 3 ? ` … and ${problems.length - 3} more` : "";
    const first = problems.slice(0, 3).join("; ").slice(0, 300);
    throw new Error(`adapter and model do not fit: ${first}${rest}`);
  }
  if (!adapter.pairs.size && !adapter.tables.size) throw new Error("the adapter changes nothing");
  return adapter;
}

/**
 * @param {string} text  of adapter_config.json
 * @returns {{rank: number, scale: number}}
 */
function readScale(text) {
  const json = readObject("adapter_config.json", "settings", () =>
    text.length <= LONGEST ? JSON.parse(text) : null,
  );
  const { peft_type: type, bias = "none" } = json;
  if (type !== "LORA") throw new Error(`this is an adapter of the kind ${shown(type)}, not "LORA"`);
  const besides = BESIDES.filter(
    (key) => Object.keys(Object(json[key])).length || json[key] === true,
  );
  if (bias !== "none") besides.push("bias");
  if (besides.length) {
    throw new Error(`adapter_config.json asks for ${besides[0]}, which is not read here`);
  }
  const { r: rank, lora_alpha: alpha } = json;
  if (!Number.isInteger(rank) || rank < 1 || rank > LARGEST_RANK) {
    throw new Error(`adapter_config.json must give r as a whole number, not ${shown(rank)}`);
  }
  if (!Number.isFinite(alpha)) {
    throw new Error(`adapter_config.json must give lora_alpha as a number, not ${shown(alpha)}`);
  }
  return { rank, scale: alpha / rank };
}

/** @typedef {{matrix: Matrix, with: (strength: number) => Float32Array}} Changed */

export class Adapted extends GPT2 {
  /** @type {Changed[]} */
  changed = [];

  /**
   * At strength 0 it is the model as it was, with the rows that the adapter adds to its table.
   * @param {GPT2} model
   * @param {Adapter} adapter
   */
  static async of({ config, weights, backend }, { scale, rank, pairs, tables }) {
    const wte = tables.get("transformer.wte");
    const vocabSize = wte ? wte.length / config.nEmbd : config.vocabSize;
    const adapted = new Adapted({ ...config, vocabSize }, { ...weights }, backend);
    /**
     * @param {string} module
     * @param {(before: Float32Array, strength: number) => Float32Array} change
     */
    const own = async (module, change, rows = weights[module].weight.rows) => {
      const { weight, bias } = weights[module];
      const before = await numbersOf(weight, backend);
      const [table, columns] = [module === "transformer.wpe", weight.columns];
      const matrix = table ? backend.table(rows, columns) : backend.matrix(rows, columns);
      adapted.weights[module] = { weight: /** @type {any} */ (matrix), bias };
      adapted.changed.push({ matrix, with: (strength) => change(before, strength) });
    };
    for (const [module, pair] of pairs) {
      await own(module, (before, strength) => added(before, pair, rank, strength * scale));
    }
    for (const [module, table] of tables) {
      const { columns } = weights[module].weight;
      await own(
        module,
        (before, strength) => between(before, table, strength),
        table.length / columns,
      );
    }
    await adapted.set(1);
    return adapted;
  }

  /** @param {number} strength  1 is as it was trained */
  async set(strength) {
    for (const one of this.changed) {
      await this.backend.store(one.matrix, 0, one.with(strength));
    }
  }
}

/**
 * More or less of an adapter.
 * @param {GPT2} model
 * @param {unknown} strength
 */
export async function strengthen(model, strength) {
  if (!(model instanceof Adapted)) throw new Error("this model has no adapter: load one first");
  if (typeof strength !== "number" || !Number.isFinite(strength)) {
    throw new Error(`the strength of an adapter is a number, not ${shown(strength)}`);
  }
  await model.set(strength);
}

/**
 * All of a matrix, whatever form the backend keeps it in.
 * @param {Matrix} matrix
 * @param {Backend} backend
 */
async function numbersOf(matrix, backend) {
  const stack = backend.mark();
  const rows = await backend.read(backend.lookUp(matrix, [...Array(matrix.rows).keys()]));
  backend.release(stack);
  return rows;
}

/**
 * W + by · BA, for W (out, in).
 * @param {Float32Array} W
 * @param {Pair} pair
 * @param {number} rank
 * @param {number} by
 */
function added(W, { A, B }, rank, by) {
  const sum = W.slice();
  const inputs = A.length / rank;
  for (let i = 0; i < B.length; i++) {
    const b = by * B[i];
    const [row, from] = [Math.floor(i / rank) * inputs, (i % rank) * inputs];
    for (let k = 0; k < inputs; k++) sum[row + k] += b * A[from + k];
  }
  return sum;
}

/**
 * From one table to another; rows that only the second has are its own.
 * @param {Float32Array} from
 * @param {Float32Array} to
 * @param {number} share
 */
function between(from, to, share) {
  return to.map((value, i) => (i < from.length ? from[i] + share * (value - from[i]) : value));
}
