// GPT-2 in one file, in the order of model.py, with its names and numbers.
//
// Letters for sizes: T tokens, C = n_embd, H heads, D = C / H, F = 4C, V vocabulary, N = n_layer,
// S keys. The batch B is always 1. Each `note` names the tensor that it is given and its axes; with
// a tape it is recorded, and an edit may put another in its place.
//
// The arithmetic belongs to a backend (plain.mjs, wasm.mjs, webgpu.mjs): there a tensor has a shape
// and its numbers wherever that backend keeps them.

import { checkIds, checkSwitches } from "./checks.mjs";
import { mergeHeads, splitHeads, writeKV } from "./heads.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Tensor } from "./memory.mjs" */
/** @import { Backend } from "./plain.mjs" */
/** @import { Weights } from "./weights.mjs" */
/** @import { Tape } from "./tape.mjs" */

/**
 * What an experiment may switch off or exchange.
 * @typedef {object} Switches
 * @property {Set<string>} [headsOff]  "layer.head": its result is zeros
 * @property {boolean} [mask]  false: every token sees all tokens
 * @property {boolean} [positions]  false: no position embedding is added
 * @property {boolean} [scale]  false: scores are not divided by √D
 * @property {"tanh" | "erf"} [gelu]  GPT-2 was trained with the tanh form
 * @property {boolean} [layerNorm]  false: the stream goes on as it is
 * @property {number[]} [order]  the blocks to go through, none twice; all, if not given
 */

/**
 * Keys and values of the tokens seen so far: for each layer K (K, S, D) and V (K, D, S) of K heads, so
 * that scores and weighted sums are both products with rows.
 */
export class KVCache {
  /**
   * @param {Config} config
   * @param {Backend} backend
   * @param {number} [maxLength]
   * @param {(shape: number[]) => Tensor} [room]  for keys or values
   */
  constructor(
    config,
    backend,
    maxLength = config.blockSize,
    room = (shape) => backend.keep(shape),
  ) {
    if (!(maxLength >= 1 && maxLength <= config.blockSize)) {
      throw new Error(`a cache holds 1 to ${config.blockSize} tokens, not ${maxLength}`);
    }
    const { nLayer: N, nKvHead: K, headSize: D } = config;
    this.maxLength = maxLength;
    this.length = 0;
    this.layers = Array.from({ length: N }, () => ({
      k: room([K, maxLength, D]),
      v: room([K, D, maxLength]),
    }));
  }

  /**
   * Give the memory back; the cache cannot be used any more.
   * @param {Backend} backend
   */
  free(backend) {
    for (const { k, v } of this.layers.splice(0)) {
      backend.free(k);
      backend.free(v);
    }
  }

  /** Forget every token from a position on. */
  cut(length = 0) {
    this.length = Math.min(this.length, length);
  }
}

export class GPT2 {
  Pass = Pass; // what it computes: llama.mjs has another

  /**
   * @param {Config} config
   * @param {Weights} weights
   * @param {Backend} backend
   */
  constructor(config, weights, backend) {
    this.config = config;
    this.weights = weights;
    this.backend = backend;
  }

  /**
   * Token ids (T) → logits (T, V), or (1, V) with `lastOnly`.
   * @param {ArrayLike<number>} ids
   * @param {{cache?: KVCache, tape?: Tape, switches?: Switches, lastOnly?: boolean}} [options]
   * @returns {Promise<Float32Array>}
   */
  async forward(ids, { cache, tape, switches = {}, lastOnly = false } = {}) {
    const { backend, config } = this;
    const start = cache ? cache.length : 0;
    checkIds(ids, start, cache ? cache.maxLength : config.blockSize, config);
    checkSwitches(switches, config);
    const T = ids.length;
    const stack = backend.mark();
    try {
      const kv = cache ?? new KVCache(config, backend, T, (shape) => backend.make(shape));
      const pass = new this.Pass(this, tape, switches, kv, start, T);
      let x = await pass.hidden(ids);
      if (lastOnly) x = backend.slice(x, T - 1, T);
      const lmHead = this.weights.lm_head ?? this.weights["transformer.wte"]; // one table for both
      let logits = backend.linear(x, lmHead.weight, null);
      logits = await pass.note("logits", logits, lastOnly ? "B 1 V" : "B T V");
      const result = await backend.read(logits);
      if (cache) cache.length = start + T;
      return result;
    } finally {
      backend.release(stack);
    }
  }
}

/** One forward pass: what its parts share. */
export class Pass {
  /**
   * @param {GPT2} model
   * @param {Tape | undefined} tape
   * @param {Switches} switches
   * @param {KVCache} cache
   * @param {number} start  the first token's position
   * @param {number} T
   */
  constructor(model, tape, switches, cache, start, T) {
    this.config = model.config;
    this.weights = model.weights;
    this.backend = model.backend;
    this.tape = tape;
    this.switches = switches;
    this.cache = cache;
    this.start = start;
    this.T = T;
    tape?.begin();
  }

  /**
   * Everything before the head: ids (T) → vectors (T, C).
   * @param {ArrayLike<number>} ids
   */
  async hidden(ids) {
    const { backend } = this;
    let x = await this.note("embd", await this.embed(ids), "B T C");
    for (const layer of this.switches.order ?? Array(this.config.nLayer).keys()) {
      const stack = backend.mark();
      const after = await this.block(x, layer);
      x = backend.copy(after, x);
      backend.release(stack);
    }
    return this.note("ln_f", this.norm("transformer.ln_f", x), "B T C");
  }

  /**
   * The vectors of the tokens and of their positions, added.
   * @param {ArrayLike<number>} ids  (T)
   */
  async embed(ids) {
    const { backend, weights, start } = this;
    let tokEmb = backend.lookUp(weights["transformer.wte"].weight, ids);
    tokEmb = await this.note("tok_emb", tokEmb, "B T C");
    const positions = Array.from(ids, (_, i) => start + i);
    let posEmb = backend.lookUp(weights["transformer.wpe"].weight, positions);
    if (this.switches.positions === false) backend.clear(posEmb);
    posEmb = await this.note("pos_emb", posEmb, "T C");
    return backend.add(tokEmb, posEmb);
  }

  /**
   * Normalise, process, add; twice.
   * @param {Tensor} x  (T, C)
   * @param {number} layer
   */
  async block(x, layer) {
    const { backend } = this;
    const path = `transformer.h.${layer}.`;
    let normed = await this.note(`${path}ln_1`, this.norm(`${path}ln_1`, x), "B T C");
    const attended = await this.attention(normed, layer);
    x = await this.note(`${path}resid_mid`, backend.add(x, attended), "B T C");
    normed = await this.note(`${path}ln_2`, this.norm(`${path}ln_2`, x), "B T C");
    const thought = await this.mlp(normed, layer);
    return this.note(`${path}resid_post`, backend.add(x, thought), "B T C");
  }

  /**
   * Every token gathers from itself and the tokens before it: softmax(Q Kᵀ / √D) V.
   * @param {Tensor} x  (T, C)
   * @param {number} layer
   */
  async attention(x, layer) {
    const path = `transformer.h.${layer}.attn.`;
    const merged = await this.gather(await this.project(x, path), layer);
    const out = this.linear(`${path}c_proj`, await this.note(`${path}merged`, merged, "B T C"));
    return this.note(`${path}out`, out, "B T C");
  }

  /**
   * Queries, keys and values, head by head.
   * @param {Tensor} x  (T, C)
   * @param {string} path  of the attention
   */
  async project(x, path) {
    const { backend } = this;
    const { nHead: H, headSize: D, nEmbd: C } = this.config;
    const qkv = this.linear(`${path}c_attn`, x); // (T, 3C)
    const q = await this.note(`${path}q`, splitHeads(backend, qkv, 0, H, D), "B H T D");
    const k = await this.note(`${path}k`, splitHeads(backend, qkv, C, H, D), "B H T D");
    const v = await this.note(`${path}v`, splitHeads(backend, qkv, 2 * C, H, D), "B H T D");
    return { q, k, v };
  }

  /**
   * The values that each query takes, by its weights; (T, H · D).
   * @param {{q: Tensor, k: Tensor, v: Tensor}} qkv  each (heads, T, D)
   * @param {number} layer
   */
  async gather({ q, k, v }, layer) {
    const { backend, start, T, switches } = this;
    const { headSize: D } = this.config;
    const kept = this.cache.layers[layer];
    const path = `transformer.h.${layer}.attn.`;
    const S = start + T;
    writeKV(backend, kept, k, v, start);

    const table = S === T ? "B H T T" : "B H T S";
    const scale = switches.scale === false ? 1 : 1 / Math.sqrt(D);
    let scores = backend.headProduct(q, kept.k, S, scale); // (H, T, S)
    scores = await this.note(`${path}scores`, scores, table);
    if (switches.mask !== false) scores = backend.mask(scores, start);
    scores = await this.note(`${path}masked_scores`, scores, table);
    const weights = await this.note(`${path}weights`, backend.softmax(scores), table);
    let heads = backend.headProduct(weights, kept.v, D, 1); // (H, T, D)
    for (const head of switches.headsOff ?? []) {
      const [n, h] = head.split(".").map(Number);
      if (n === layer) backend.clear(backend.slice(heads, h, h + 1));
    }
    heads = await this.note(`${path}heads`, heads, "B H T D");
    return mergeHeads(backend, heads);
  }

  /**
   * Two linear maps with GELU between, for every token by itself.
   * @param {Tensor} x  (T, C)
   * @param {number} layer
   */
  async mlp(x, layer) {
    const { backend } = this;
    const path = `transformer.h.${layer}.mlp.`;
    const pre = await this.note(`${path}pre`, this.linear(`${path}c_fc`, x), "B T F");
    const gelu = backend.gelu(pre, this.switches.gelu ?? "tanh");
    const act = await this.note(`${path}act`, gelu, "B T F");
    const out = this.linear(`${path}c_proj`, act);
    return this.note(`${path}out`, out, "B T C");
  }

  /**
   * @param {string} name  of the module that has the weights
   * @param {Tensor} x  (T, in)
   */
  linear(name, x) {
    const { weight, bias } = this.weights[name];
    return this.backend.linear(x, weight, bias ?? null);
  }

  /**
   * @param {string} name
   * @param {Tensor} x  (T, C)
   */
  norm(name, x) {
    if (this.switches.layerNorm === false) return x;
    const { weight, bias } = this.weights[name];
    return this.backend.layerNorm(x, weight, bias, this.config.layerNormEpsilon);
  }

  /**
   * @param {string} path
   * @param {Tensor} tensor
   * @param {string} axes
   * @returns {Tensor | Promise<Tensor>}
   */
  note(path, tensor, axes) {
    return this.tape ? this.tape.note(path, tensor, axes, this.backend) : tensor;
  }
}
