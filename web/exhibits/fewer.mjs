// The page's model in fewer bits: its weights are read from the engine, rounded, and loaded beside it.
// All versions share one place there, so they take turns; what was computed is kept.

import { GROUP, roundTo } from "../rounding.mjs";

/** @import { Engine } from "../client.mjs" */
/** @import { model as PageModel, Result } from "./page_model.mjs" */
/** @import { Per } from "../rounding.mjs" */
/** @typedef {{name: string, rows: number, columns: number, weight: Float32Array,
 *   bias: Float32Array | null, turned: boolean}} Module  turned: stored as (in, out) */
/** @typedef {{result: Result, written: number[]}} Found */

const PLACE = "fewer bits"; // in the engine
const LARGEST = 8e6; // parameters; more would take long, and twice the memory

export class Fewer {
  /** @param {typeof PageModel} model */
  constructor(model) {
    this.model = model;
    /** @type {Engine | null} */
    this.engine = null;
    this.there = ""; // what the place holds
    /** @type {Promise<any>} */
    this.last = Promise.resolve();
    /** @type {Map<string, Promise<Found>>} */
    this.known = new Map();
    /** @type {Promise<Module[]> | null} */
    this.modules = null;
  }

  /**
   * One pass over a text, and how the model continues it by chance.
   * @param {{bits: number, per: Per, ids: number[], record: string[], n: number, seed: number}} asked
   * @returns {Promise<Found>}
   */
  run(asked) {
    const key = JSON.stringify(asked);
    const known = this.known.get(key);
    if (known) return known;
    const found = this.last.then(() => this.compute(asked));
    this.known.set(key, found);
    this.last = found.catch(() => this.known.delete(key));
    return found;
  }

  /** @param {Parameters<Fewer["run"]>[0]} asked */
  async compute({ bits, per, ids, record, n, seed }) {
    const engine = await this.load(bits, per);
    const { logits, noted } = await engine.run(PLACE, { ids, record, lastOnly: true });
    /** @type {Result} */
    const result = {
      logits,
      tensor: (path) => noted.find((/** @type {any} */ t) => t.path === path),
    };
    const settings = { temperature: 1, seed, eosId: this.model.present.tokenizer.eot };
    const { ids: written } = await engine.stream(PLACE, { ids, n, settings }).answer;
    return { result, written };
  }

  /**
   * @param {number} bits
   * @param {Per} per
   */
  async load(bits, per) {
    const engine = this.model.started();
    if (engine !== this.engine) this.there = ""; // the one before was lost
    this.engine = engine;
    const what = `${bits} ${per}`;
    if (this.there === what) return engine;
    this.there = "";
    const modules = await (this.modules ??= this.read());
    const weights = asFile(modules, bits, per);
    await engine.load(PLACE, { config: this.model.files?.config ?? "", weights });
    this.there = what;
    return engine;
  }

  /**
   * The first weights of a row, what rounding leaves of them, and the largest that shares their scale.
   * @param {string} name  of the module
   * @param {number} row
   * @param {number} bits
   * @param {Per} per
   */
  async row(name, row, bits, per) {
    const modules = await (this.modules ??= this.read());
    const { weight, columns } = /** @type {Module} */ (modules.find((one) => one.name === name));
    const [from, to] = [row * columns, row * columns + Math.min(GROUP, columns)];
    const sharing = per === "row" ? from + columns : to;
    const scaled = per === "tensor" ? weight : weight.subarray(from, sharing);
    const most = scaled.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
    const now = roundTo(weight.slice(), columns, bits, per).subarray(from, to);
    return { was: weight.subarray(from, to), now, most };
  }

  /** @returns {Promise<Module[]>} */
  async read() {
    const { config, name } = this.model.present;
    const { vocabSize: V, blockSize, nLayer, nEmbd: C } = config;
    if ((V + blockSize) * C + 12 * nLayer * C * C > LARGEST) {
      throw new Error(`${name} is too large to be rounded here: choose the book's model`);
    }
    const blocks = Array.from({ length: nLayer }, (_, n) => `h.${n}`);
    /** @type {[string, number, number][]} */
    const all = [
      ["wte", V, C],
      ["wpe", blockSize, C],
      ...blocks.flatMap(
        (h) =>
          /** @type {[string, number, number][]} */ ([
            [`${h}.ln_1`, C, 1],
            [`${h}.attn.c_attn`, 3 * C, C],
            [`${h}.attn.c_proj`, C, C],
            [`${h}.ln_2`, C, 1],
            [`${h}.mlp.c_fc`, 4 * C, C],
            [`${h}.mlp.c_proj`, C, 4 * C],
          ]),
      ),
      ["ln_f", C, 1],
    ];
    const parts = all.map(async ([module, rows, columns]) => {
      const range = { rows: [0, rows], columns: [0, columns] };
      const part = await this.model.part({ module: `transformer.${module}`, ...range });
      return { name: module, rows, columns, ...part, turned: module.includes(".c_") };
    });
    return Promise.all(parts);
  }
}

/**
 * A safetensors file in Hugging Face's layout, the matrices in fewer bits, kept as float32.
 * @param {Module[]} modules
 * @param {number} bits
 * @param {Per} per
 * @returns {ArrayBuffer}
 */
function asFile(modules, bits, per) {
  /** @type {Record<string, {dtype: string, shape: number[], data_offsets: number[]}>} */
  const header = {};
  /** @type {Float32Array[]} */
  const all = [];
  let end = 0;
  /** @type {(name: string, numbers: Float32Array, shape: number[]) => void} */
  const put = (name, numbers, shape) => {
    const start = end;
    header[name] = { dtype: "F32", shape, data_offsets: [start, (end += numbers.byteLength)] };
    all.push(numbers);
  };
  for (const { name, rows, columns, weight, bias, turned } of modules) {
    const vector = name.includes("ln_");
    const rounded = vector ? weight : roundTo(weight.slice(), columns, bits, per);
    if (turned) put(`${name}.weight`, transpose(rounded, columns), [columns, rows]);
    else put(`${name}.weight`, rounded, vector ? [rows] : [rows, columns]);
    if (bias) put(`${name}.bias`, bias, [rows]);
  }
  const text = new TextEncoder().encode(JSON.stringify(header).padEnd(8));
  const length = Math.ceil(text.length / 8) * 8;
  const file = new Uint8Array(8 + length + end).fill(32, 8, 8 + length); // blanks end the header
  new DataView(file.buffer).setUint32(0, length, true);
  file.set(text, 8);
  all.reduce((at, numbers) => {
    file.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), at);
    return at + numbers.byteLength;
  }, 8 + length);
  return file.buffer;
}

/**
 * @param {Float32Array} rows  of `width` numbers
 * @param {number} width
 */
function transpose(rows, width) {
  const height = rows.length / width;
  return Float32Array.from(rows, (_, i) => rows[(i % height) * width + Math.floor(i / height)]);
}
