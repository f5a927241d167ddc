// Speculative decoding, as gpt2_edu/thought/speculative.py has it: a small model drafts some tokens, one
// pass of the large model reads them all, and darts decide which of them stay, so that texts come with
// the large model's own probabilities (Leviathan et al. 2023; Chen et al. 2023).

import { CHUNK } from "./generation.mjs";
import { isList, shown } from "./messages.mjs";
import { KVCache } from "./model.mjs";
import { checkKnobs, draw, nextProbabilities, randomNumbers } from "./sampling.mjs";

/** @import { GPT2 } from "./model.mjs" */
/** @import { Knobs } from "./sampling.mjs" */
/**
 * One pass of the large model. Row i of `q` is what drafted token i was drawn from, and row i of `p` what
 * the large model has there; `p` has one row more, for the token after all of them. A token stays if its
 * dart × q < p. `next` is the token after those that stay; null where the text has ended, or is full.
 * @typedef {{drafted: number[], q: Float64Array[], p: Float64Array[], darts: number[],
 *   accepted: number, next: number | null}} Round
 */

/**
 * Yields a round for each pass of the large model, until `eosId` or `n` tokens.
 * @param {GPT2} model
 * @param {GPT2} draft  with the same vocabulary
 * @param {number[]} prompt
 * @param {number} n
 * @param {Knobs & {ahead?: number, draftTemperature?: number, seed?: number, eosId?: number | null}}
 *   [settings]  ahead: tokens that are drafted at most for one pass; draftTemperature: if the draft is to
 *   have another one
 * @returns {AsyncGenerator<Round>}
 */
export async function* speculate(model, draft, prompt, n, settings = {}) {
  const { ahead = 4, seed = 0, eosId = null } = settings;
  const own = { ...settings, temperature: settings.draftTemperature ?? settings.temperature };
  checkKnobs(settings);
  checkKnobs(own);
  check(model, draft, prompt, n, ahead);
  const random = randomNumbers(seed);
  const most = prompt.length + n - 1; // tokens that are read
  const [large, small] = [model, draft].map((one) => new Reader(one, most));
  try {
    const ids = Array.from(prompt);
    while (ids.length <= most && (ids.length === prompt.length || ids.at(-1) !== eosId)) {
      const longest = Math.min(ahead, most - ids.length); // the pass itself gives one token more
      const drafted = [];
      const q = [];
      while (drafted.length < longest && drafted.at(-1) !== eosId) {
        const [logits] = await small.read([...ids, ...drafted]);
        q.push(nextProbabilities(logits, own));
        drafted.push(draw(q[q.length - 1], random));
      }
      const rows = await large.read([...ids, ...drafted], drafted.length + 1);
      const p = rows.map((logits) => nextProbabilities(logits, settings));
      const { darts, accepted, next } = judge(p, q, drafted, random);
      ids.push(...drafted.slice(0, accepted));
      const ends = accepted > 0 && ids.at(-1) === eosId;
      if (!ends) ids.push(next);
      yield { drafted, q, p, darts, accepted, next: ends ? null : next };
    }
  } finally {
    large.cache.free(model.backend);
    small.cache.free(draft.backend);
  }
}

/**
 * How many of the drafted tokens stay, and the token after them. A dart lands evenly on the bar q of its
 * token; where it meets the bar p too, the token stays. The first that does not is replaced by one from
 * what q lacks of p.
 * @param {Float64Array[]} p  one row more than q
 * @param {Float64Array[]} q
 * @param {number[]} drafted
 * @param {() => number} random
 */
export function judge(p, q, drafted, random) {
  const darts = [];
  for (const [i, id] of drafted.entries()) {
    darts.push(random());
    if (darts[i] * q[i][id] >= p[i][id]) {
      return { darts, accepted: i, next: draw(lacking(p[i], q[i]), random) };
    }
  }
  return { darts, accepted: drafted.length, next: draw(p[drafted.length], random) };
}

/**
 * The part of p that q does not cover, rescaled to sum to 1.
 * @param {Float64Array} p
 * @param {Float64Array} q
 */
export function lacking(p, q) {
  const more = p.map((share, i) => Math.max(0, share - q[i]));
  const sum = more.reduce((a, b) => a + b);
  return sum > 0 ? more.map((share) => share / sum) : p; // 0: they differ by rounding alone
}

/** A model and the cache of the text that it has read. */
class Reader {
  /**
   * @param {GPT2} model
   * @param {number} most  tokens
   */
  constructor(model, most) {
    this.model = model;
    this.cache = new KVCache(model.config, model.backend, Math.max(1, most));
    /** @type {number[]} */
    this.seen = [];
  }

  /**
   * The logits after each of the last tokens of a text, as many as `rows`. Where the text differs from
   * the one read before, the cache is cut.
   * @param {number[]} ids
   * @param {number} [rows]
   */
  async read(ids, rows = 1) {
    const { model, cache } = this;
    let same = 0;
    while (same < Math.min(this.seen.length, ids.length - rows) && this.seen[same] === ids[same]) {
      same++;
    }
    cache.cut(same);
    let waiting = ids.slice(same);
    while (waiting.length > Math.max(CHUNK, rows)) {
      const some = Math.min(CHUNK, waiting.length - rows);
      await model.forward(waiting.slice(0, some), { cache, lastOnly: true });
      waiting = waiting.slice(some);
    }
    const logits = await model.forward(waiting, { cache, lastOnly: rows === 1 });
    this.seen = ids;
    const V = model.config.vocabSize;
    return Array.from({ length: rows }, (_, i) => {
      const start = logits.length - (rows - i) * V;
      return logits.subarray(start, start + V);
    });
  }
}

/**
 * @param {GPT2} model
 * @param {GPT2} draft
 * @param {number[]} prompt
 * @param {number} n
 * @param {number} ahead
 */
function check(model, draft, prompt, n, ahead) {
  const [V, own] = [model, draft].map(({ config }) => config.vocabSize);
  if (V !== own) {
    throw new Error(
      `the draft has ${own} tokens and the model ${V}: a draft needs the model's own vocabulary`,
    );
  }
  if (!isList(prompt) || !prompt.length) {
    throw new Error("the prompt must be a list of at least one id");
  }
  if (!(Number.isSafeInteger(n) && n >= 0)) {
    throw new Error(`the number of new tokens must be 0 or more, not ${shown(n)}`);
  }
  if (!(Number.isSafeInteger(ahead) && ahead >= 1)) {
    throw new Error(`a draft goes at least 1 token ahead, not ${shown(ahead)}`);
  }
  const window = Math.min(model.config.blockSize, draft.config.blockSize);
  if (prompt.length + n > window + 1) {
    throw new Error(
      `${prompt.length} tokens and ${n} new ones do not fit into a window of ${window}, ` +
        "the smaller one of the model and its draft",
    );
  }
}
