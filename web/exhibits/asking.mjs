// Crane World's model twice in the engine: as it is, and with the adapter that answers questions. What
// was asked stays known.

import { bundledAdapter, bundledModel, loadTokenizer } from "../page.mjs";
import { nextProbabilities } from "../sampling.mjs";
import { withGhosts } from "./bars.mjs";
import { Conversation } from "./conversation.mjs";

/** @import { Engine } from "../client.mjs" */
/** @import { Part } from "./conversation.mjs" */
/** @typedef {{story: string, question: string, answer?: string}} Exchange  answer: the right one, if
 *   it is known */
/** @typedef {{name: string, p: number}} Written  a token, and its probability */
/**
 * `read` is what the model is given, `right` the tokens of the right answer. `next` is what may stand
 * in the place of each token of the answer: id, name, its probability, and the plain model's.
 * @typedef {{read: Part[], cut: number, right: string[], answer: Written[], plain: Written[],
 *   next: [number, string, number, number | null][][], said: string, continued: string}} Found
 */

const [PLAIN, ADAPTED] = ["asked, plain", "asked, with the adapter"]; // in the engine
const WRITTEN = 12; // tokens at most
const BARS = 5;

export class Asking {
  /** @param {() => Engine} started  the present engine */
  constructor(started) {
    this.started = started;
    /** @type {Engine | null} */
    this.engine = null;
    this.strength = NaN; // of what the engine has; NaN: nothing is there
    this.room = 0; // tokens that its window has
    /** @type {Map<string, Found>} */
    this.known = new Map();
    /** @type {Promise<any>} */
    this.last = Promise.resolve();
  }

  /**
   * One after the other; null if nobody waits for it any more.
   * @param {Exchange} exchange
   * @param {number} strength  of the adapter
   * @param {() => boolean} wanted
   * @returns {Promise<Found | null>}
   */
  ask(exchange, strength, wanted) {
    const key = JSON.stringify([exchange, strength]);
    const found = this.last.then(async () => {
      if (!this.known.has(key)) {
        if (!wanted()) return null;
        this.known.set(key, await this.compute(exchange, strength));
      }
      return this.known.get(key) ?? null;
    });
    this.last = found.catch(() => {});
    return found;
  }

  /**
   * @param {Exchange} exchange
   * @param {number} strength
   * @returns {Promise<Found>}
   */
  async compute(exchange, strength) {
    const tokenizer = await loadTokenizer("crane");
    const engine = await this.load(strength);
    const talk = new Conversation(tokenizer, exchange, this.room - WRITTEN - 3);
    const alone = [tokenizer.eot, ...talk.content]; // the plain model has no rows for the roles
    const settings = { temperature: 0, eosId: tokenizer.eot };
    const write = async (/** @type {string} */ place, /** @type {number[]} */ ids) => {
      const request = { ids, n: WRITTEN, settings };
      return /** @type {number[]} */ ((await engine.stream(place, request).answer).ids);
    };
    const answer = await write(ADAPTED, talk.ids);
    const plain = await write(PLAIN, alone);
    const now = await each(engine, ADAPTED, talk.ids, answer);
    const role = answer.findIndex((id) => id >= tokenizer.size); // which the plain model cannot read
    const before = await each(engine, PLAIN, alone, role < 0 ? answer : answer.slice(0, role));
    const own = await each(engine, PLAIN, alone, plain);
    const named = (/** @type {number[]} */ ids, /** @type {Float64Array[]} */ rows) =>
      ids.map((id, i) => ({ name: talk.show(id), p: rows[i][id] }));
    return {
      read: talk.read,
      cut: talk.cut,
      right: exchange.answer ? talk.answerIds(exchange.answer).map((id) => talk.show(id)) : [],
      answer: named(answer, now),
      plain: named(plain, own),
      next: now.map((row, i) =>
        withGhosts(row, before[i], BARS, (id) => talk.show(id)).map(
          ({ id, name, p, before = null }) => [id, name, p, before],
        ),
      ),
      said: talk.text(answer),
      continued: talk.text(plain),
    };
  }

  /** @param {number} strength */
  async load(strength) {
    if (this.engine !== this.started() || Number.isNaN(this.strength)) {
      const files = [bundledModel("crane"), bundledAdapter("crane_ask")];
      const [model, adapter] = await Promise.all(files);
      const engine = this.started(); // only now: while one waits for files, it may be replaced
      this.engine = engine;
      this.strength = NaN;
      const { config } = await engine.load(PLAIN, model);
      await engine.adapt(PLAIN, ADAPTED, adapter);
      this.room = config.blockSize;
      this.strength = 1;
    }
    const engine = /** @type {Engine} */ (this.engine);
    if (strength !== this.strength) {
      await engine.strengthen(ADAPTED, strength);
      this.strength = strength;
    }
    return engine;
  }
}

/**
 * The probabilities from which each token that was written came.
 * @param {Engine} engine
 * @param {string} place
 * @param {number[]} ids  what it was written after
 * @param {number[]} written
 * @returns {Promise<Float64Array[]>}
 */
async function each(engine, place, ids, written) {
  if (!written.length) return [];
  const { logits } = await engine.run(place, { ids: [...ids, ...written.slice(0, -1)] });
  const V = logits.length / (ids.length + written.length - 1);
  return written.map((_, i) => {
    const row = ids.length - 1 + i;
    return nextProbabilities(logits.subarray(row * V, (row + 1) * V));
  });
}
