// Writing with kept keys and values, and without: the same text twice, one token after the other.

import { softmax } from "../numbers.mjs";
import { hit, thrower } from "./knobs.mjs";
import { dot, farthest } from "./vectors.mjs";

/** @typedef {typeof import("./page_model.mjs").model} Model */
/** @typedef {[k: Float32Array, v: Float32Array]} Pair  of one token in one block, (H, D) each */
/** @typedef {{ids: number[], logits: Float32Array[], ended: boolean}} Way  `logits` of each step */

export class Chain {
  /**
   * @param {Model} model
   * @param {number[]} prompt
   * @param {{seed: number, temperature: number, restart: boolean}} settings  `restart`: each new
   *   token takes position 0
   */
  constructor(model, prompt, { seed, temperature, restart }) {
    this.model = model;
    this.restart = restart;
    this.temperature = temperature;
    this.dart = thrower(seed);
    this.P = prompt.length;
    /** @type {Way} */
    this.whole = { ids: [...prompt], logits: [], ended: false };
    /** @type {Way} */
    this.cached = { ids: [...prompt], logits: [], ended: false };
    const { nLayer } = model.present.config;
    /** @type {Pair[][]} */
    this.kept = Array.from({ length: nLayer }, () => []); // by block, by token
    /** @type {number[]} */
    this.gaps = []; // of each step, how far the logits are apart, while both texts are the same
  }

  get ended() {
    return this.whole.ended && this.cached.ended;
  }

  /**
   * @param {number} n  block
   * @param {string[]} names
   */
  paths(n, names) {
    return names.map((name) => `transformer.h.${n}.attn.${name}`);
  }

  /**
   * One more token, both ways. False: something newer is asked for.
   * @param {() => boolean} latest
   */
  async extend(latest) {
    const { whole, cached, kept, model } = this;
    const first = !whole.logits.length;
    const record = first ? kept.flatMap((_, n) => this.paths(n, ["k", "v"])) : [];
    const ask = { ids: whole.ids, key: "cache, whole", record, lastOnly: true };
    const full = whole.ended ? undefined : await model.run(ask);
    if (full === null || !latest()) return false;
    const alone = first || cached.ended ? undefined : await this.one();
    if (alone === null || !latest()) return false;
    const logits = first ? full?.logits : alone?.logits;
    if (first && full) {
      kept.forEach((pairs, n) => {
        const [k, v] = this.paths(n, ["k", "v"]).map((path) => this.split(full.tensor(path)));
        k.forEach((own, t) => pairs.push([own, v[t]]));
      });
    }
    alone?.pairs.forEach((pair, n) => kept[n].push(pair));
    const together = whole.ids.join() === cached.ids.join() && full && logits;
    this.gaps.push(together ? farthest(full.logits, logits) : 0);
    const dart = this.dart();
    if (full) this.write(whole, full.logits, dart);
    if (logits && !cached.ended) this.write(cached, logits, dart);
    return true;
  }

  /**
   * Keys or values (1, H, T, D) → T times (H, D).
   * @param {{shape: number[], values: Float32Array}} tensor
   */
  split({ shape: [, H, T, D], values }) {
    return Array.from({ length: T }, (_, t) => {
      const own = new Float32Array(H * D);
      for (let h = 0; h < H; h++)
        own.set(values.subarray((h * T + t) * D, (h * T + t + 1) * D), h * D);
      return own;
    });
  }

  /**
   * @param {Way} way
   * @param {Float32Array} logits
   * @param {number} dart
   */
  write(way, logits, dart) {
    const shares = this.model.probabilities(logits, { temperature: this.temperature });
    const order = Array.from(shares.keys()).filter((id) => shares[id] > 0);
    way.logits.push(logits);
    way.ids.push(hit(dart, shares, order));
    way.ended = way.ids.at(-1) === this.model.present.tokenizer.eot;
  }

  /**
   * The newest token alone, with what is kept of the others: its logits, its keys and values. The
   * engine is asked once for each block's query; what attention makes of it stands in all later
   * passes.
   */
  async one() {
    const { model, kept, restart } = this;
    const { ids } = this.cached;
    const { nHead, nEmbd: C } = model.present.config;
    const key = "cache, one";
    const look = { ids, key, record: ["pos_emb"], switches: { order: [] }, lastOnly: true };
    const looked = await model.run(look);
    if (!looked) return null;
    const at = restart ? 0 : (ids.length - 1) * C;
    /** @type {Record<string, Float32Array>} */
    const edits = { pos_emb: looked.tensor("pos_emb").values.subarray(at, at + C) };
    const request = { ids: ids.slice(-1), key, edits, lastOnly: true };
    /** @type {Pair[]} */
    const pairs = [];
    for (const [n, before] of kept.entries()) {
      const record = this.paths(n, ["q", "k", "v"]);
      const run = await model.run({ ...request, record });
      if (!run) return null;
      const [q, k, v] = record.map((path) => run.tensor(path).values);
      pairs.push([k, v]);
      edits[this.paths(n, ["heads"])[0]] = attend(q, [...before, [k, v]], nHead);
    }
    const run = await model.run(request);
    return run && { logits: run.logits, pairs };
  }
}

/**
 * One query asks all keys: softmax(q Kᵀ / √D) V, for each head.
 * @param {Float32Array} q  (H, D)
 * @param {Pair[]} pairs  of each token
 * @param {number} H
 */
function attend(q, pairs, H) {
  const D = q.length / H;
  const out = new Float32Array(q.length);
  for (let start = 0; start < q.length; start += D) {
    const own = q.subarray(start, start + D);
    const scores = pairs.map(([k]) => dot(own, k.subarray(start)) / Math.sqrt(D));
    const shares = softmax(Float64Array.from(scores));
    for (let i = start; i < start + D; i++) {
      out[i] = pairs.reduce((mix, [, v], t) => mix + shares[t] * v[i], 0);
    }
  }
  return out;
}
