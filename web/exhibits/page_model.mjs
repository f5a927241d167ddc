// The one model of a page: Crane World's, until the reader brings another. All exhibits ask it.

import { readConfig } from "../config.mjs";
import { SUPERSEDED } from "../messages.mjs";
import { bundledModel, loadTokenizer, startEngine, unpackTokenizer } from "../page.mjs";
import { nextProbabilities } from "../sampling.mjs";
import { visible } from "./dom.mjs";
import { forget, keep, kept } from "./own.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Engine } from "../client.mjs" */
/** @import { Noted } from "../tape.mjs" */
/** @import { Tokenizer } from "../tokenizer.mjs" */
/** @typedef {{name: string, config: string, weights?: Blob | ArrayBuffer, merges?: string,
 *   stored?: string, backend?: string, rounded?: string, from?: From}} Files  merges: of its own
 *   tokenizer; stored: its name in the browser's storage; backend: the one that computed it last;
 *   rounded: the only one that can, where the weights came rounded */
/** @typedef {{unit: "characters" | "merges", examples: string[]}} From  the reader's text that it has
 *   learned from: what its tokens are, and how some of its sentences begin */
/** @typedef {{name: string, config: Config, tokenizer: Tokenizer, story: boolean,
 *   own: boolean, backend: string, seconds: number, from?: From}} Loaded  story: its texts begin with
 *   <|endoftext|>; own: the reader's; seconds: until it was ready */
/** @typedef {{logits: Float32Array, tensor: (path: string) => Noted}} Result  of one pass */
/** @typedef {{id: number, name: string, p: number}} Guess */

export const BOOKS = "Crane World's model";
const GPT2_SIZE = 50257;
const TOKENIZERS = new Map([
  [1024, "crane"],
  [GPT2_SIZE, "gpt2"],
]);
export const [START, END] = ["⟨start⟩", "⟨end⟩"]; // <|endoftext|>: before a text, and after it

class PageModel {
  constructor() {
    /** @type {Engine | null} */
    this.engine = null;
    /** @type {Promise<Loaded> | null} */
    this.coming = null;
    /** @type {Loaded | null} */
    this.loaded = null;
    /** @type {Files | null} */
    this.files = null; // of what is loaded
    this.backend = "auto"; // what was asked for
    /** @type {Set<() => void>} */
    this.listeners = new Set(); // are told that another model is here
  }

  /** The model; it is loaded when it is first asked for. What failed is tried again. */
  ready() {
    if (!this.coming) {
      const coming = this.files ? this.load(this.files) : this.first();
      coming.catch(() => {
        if (this.coming === coming) this.coming = null;
      });
      this.coming = coming;
    }
    return this.coming;
  }

  /** The reader's own, where one was kept and can still be loaded; else the book's. */
  async first() {
    const own = await kept();
    for (this.backend of own ? new Set([own.backend ?? "auto", "auto"]) : []) {
      const loaded = await this.load(/** @type {Files} */ (own)).catch(() => null);
      if (loaded) return loaded;
    }
    return this.load(await theBooks());
  }

  /** What is loaded; exhibits that ask the model begin when it is there. */
  get present() {
    if (!this.loaded) throw new Error("no model is loaded yet");
    return this.loaded;
  }

  /**
   * Another model in place of the present one, which stays if that fails.
   * @param {Files} files
   */
  async use(files) {
    const loaded = await this.load(files);
    if (loaded.own) await keep(files, this.backend);
    else await forget();
    this.coming = Promise.resolve(loaded);
    for (const listener of [...this.listeners]) listener();
    return loaded;
  }

  /**
   * The same model in another arithmetic. If that fails, it stays as it is.
   * @param {string} backend  as backend.mjs names them
   */
  async compute(backend) {
    const before = this.backend;
    this.backend = backend;
    try {
      await this.load(this.files ?? (await theBooks()));
      if (this.files?.stored) await keep(this.files, backend);
    } catch (error) {
      this.backend = before;
      throw error;
    }
  }

  /** The book's again. */
  async back() {
    return this.use(await theBooks());
  }

  /**
   * @param {Files} files
   * @returns {Promise<Loaded>}
   */
  async load(files) {
    const began = performance.now();
    const { name, config: text, weights, merges, stored, rounded, from } = files;
    const { vocabSize } = readConfig(text);
    const tokenizer = await tokenizerOf(name, vocabSize, merges);
    if (rounded) this.backend = "auto";
    const request = { config: text, weights, backend: rounded ?? this.backend, stored };
    const { config, backend } = await this.started().load("page", request);
    const seconds = (performance.now() - began) / 1000;
    const story = vocabSize !== GPT2_SIZE;
    this.files = files;
    this.loaded = { name, config, tokenizer, story, own: name !== BOOKS, backend, seconds, from };
    return this.loaded;
  }

  /** The engine. One that failed is replaced, and the model loaded anew, when it is next asked. */
  started() {
    if (this.engine) return this.engine;
    const engine = startEngine();
    /** @type {Worker} */ (engine.port).addEventListener("error", () => this.restart());
    this.engine = engine;
    return engine;
  }

  /** Give up an engine that failed, or that does not answer. */
  restart() {
    this.engine?.port.terminate?.();
    this.engine?.fail("it was started anew");
    this.engine = null;
    this.coming = null;
  }

  /**
   * The ids of a text; stories of Crane World begin where another ended. `cut` says how many tokens
   * of its beginning did not fit into the window.
   * @param {string} text
   * @param {number} [most]  tokens, if fewer than the window
   */
  async encode(text, most = Infinity) {
    const { tokenizer, story, config } = await this.ready();
    const room = Math.min(most, config.blockSize);
    const own = tokenizer.encode(text);
    const begin = story || !own.length ? [tokenizer.eot] : [];
    const cut = Math.max(0, begin.length + own.length - room);
    return { ids: [...begin, ...own.slice(cut)], cut };
  }

  /**
   * A token as a reader sees it: ␣ for a space; for <|endoftext|> ⟨start⟩ where it begins a text, else
   * ⟨end⟩.
   * @param {number} id
   * @param {boolean} [begins]  a text
   */
  show(id, begins = false) {
    const { tokenizer } = this.present;
    if (id === tokenizer.eot) return begins ? START : END;
    return visible(tokenizer.show(id));
  }

  /** @param {number[]} ids  of a text */
  names(ids) {
    return ids.map((id, i) => this.show(id, !i));
  }

  /**
   * One pass. A newer request with the same key takes this one's place: then null comes back.
   * @param {{ids: number[], key: string, record?: boolean | string[], edits?: object,
   *   switches?: object, lastOnly?: boolean}} request
   * @returns {Promise<Result | null>}
   */
  async run(request) {
    await this.ready();
    const asked = /** @type {Engine} */ (this.engine).run("page", request);
    const answer = await asked.catch(orSuperseded);
    if (!answer) return null;
    const noted = new Map(answer.noted.map((/** @type {Noted} */ n) => [n.path, n]));
    return { logits: answer.logits, tensor: (path) => noted.get(path) };
  }

  /** @param {{module: string, rows: number[], columns: number[], most?: number}} request  a part of its weights */
  async part(request) {
    await this.ready();
    return /** @type {Engine} */ (this.engine).part("page", request);
  }

  /**
   * What the model's head makes of vectors of its stream (n, C), as if they stood behind the last
   * block: logits (n, V). It is a pass without blocks, whose embeddings are these vectors.
   * @param {Float32Array} values
   * @param {string} key
   * @returns {Promise<Float32Array | null>}
   */
  async read(values, key) {
    const { nEmbd: C, blockSize, vocabSize: V } = this.present.config;
    const n = values.length / C;
    const logits = new Float32Array(n * V);
    for (let start = 0; start < n; start += blockSize) {
      const embd = values.subarray(start * C, (start + blockSize) * C);
      const ids = Array(embd.length / C).fill(0);
      const request = { ids, key: `${key} ${start}`, edits: { embd }, switches: { order: [] } };
      const part = await this.run(request);
      if (!part) return null;
      logits.set(part.logits, start * V);
    }
    return logits;
  }

  /**
   * Write on; `onToken` is told each id.
   * @param {{ids: number[], n: number, key?: string, settings?: object}} request
   * @param {(id: number) => void} onToken
   */
  async stream(request, onToken) {
    await this.ready();
    return /** @type {Engine} */ (this.engine).stream("page", request, onToken);
  }

  /**
   * Every token with its probability, by the last row of logits or by row `t`.
   * @param {Float32Array} logits
   * @param {{t?: number, temperature?: number, topK?: number, topP?: number}} [settings]
   * @returns {Float64Array}
   */
  probabilities(logits, { t = -1, ...knobs } = {}) {
    const V = this.present.config.vocabSize;
    const rows = logits.length / V;
    const row = t < 0 ? rows + t : t;
    return nextProbabilities(logits.subarray(row * V, (row + 1) * V), knobs);
  }

  /**
   * The likeliest tokens. All are looked at once: to sort GPT-2's 50,257 takes fifty times as long.
   * @param {Float64Array} probabilities
   * @param {number} n
   * @returns {Guess[]}
   */
  best(probabilities, n) {
    /** @type {number[]} */
    const ids = [];
    probabilities.forEach((p, id) => {
      if (ids.length === n && p <= probabilities[ids[n - 1]]) return;
      const place = ids.findIndex((one) => probabilities[one] < p);
      ids.splice(place < 0 ? ids.length : place, 0, id);
      ids.length = Math.min(n, ids.length);
    });
    return ids.map((id) => ({ id, name: this.show(id), p: probabilities[id] }));
  }
}

/** @returns {Promise<Files>} */
async function theBooks() {
  return { name: BOOKS, ...(await bundledModel("crane")) };
}

/**
 * The model's own tokenizer, or the one with as many tokens.
 * @param {string} name  of the model
 * @param {number} size  of its vocabulary
 * @param {string} [merges]
 */
async function tokenizerOf(name, size, merges) {
  if (merges !== undefined) {
    const tokenizer = await unpackTokenizer(merges).catch(() => null);
    if (tokenizer?.size === size) return tokenizer;
    throw new Error(`the tokenizer in ${name} does not fit its ${size} tokens: export it anew`);
  }
  const known = TOKENIZERS.get(size);
  if (known) return loadTokenizer(known);
  throw new Error(
    `${name} has ${size} tokens, and no tokenizer here as many: export it with --page, which ` +
      "writes its own along",
  );
}

/**
 * In a catch: null, if a newer request took the place of this one.
 * @param {Error} error
 * @returns {null}
 */
export function orSuperseded(error) {
  if (error.message.includes(SUPERSEDED)) return null;
  throw error;
}

export const model = new PageModel();
