// Predict, sample, append, repeat: what `stream` in generation.py is.

import { isList, shown } from "./messages.mjs";
import { KVCache } from "./model.mjs";
import { checkKnobs, draw, nextProbabilities, randomNumbers } from "./sampling.mjs";

/** @import { GPT2, Switches } from "./model.mjs" */
/** @import { Knobs } from "./sampling.mjs" */
/** @import { Tape } from "./tape.mjs" */

export const CHUNK = 64; // tokens of a prompt at a time, so that its tables stay small

/**
 * Yields each new id with the probabilities that it was drawn from, until `eosId` or `n` tokens.
 * Text that would outgrow the window is refused; with `overflow: "crop"` the oldest tokens are
 * forgotten and the others computed anew at each step.
 * @param {GPT2} model
 * @param {number[]} prompt
 * @param {number} n
 * @param {Knobs & {seed?: number, eosId?: number | null, overflow?: "raise" | "crop",
 *   switches?: Switches, tape?: Tape}} [settings]
 * @returns {AsyncGenerator<{id: number, probabilities: Float64Array}>}
 */
export async function* stream(model, prompt, n, settings = {}) {
  const { seed = 0, eosId = null, overflow = "raise", switches, tape } = settings;
  checkKnobs(settings);
  if (!isList(prompt)) throw new Error("the prompt must be a list of ids");
  if (!(Number.isSafeInteger(n) && n >= 0)) {
    throw new Error(`the number of new tokens must be 0 or more, not ${shown(n)}`);
  }
  if (!["raise", "crop"].includes(overflow)) {
    throw new Error(`overflow must be "raise" or "crop", not ${shown(overflow)}`);
  }
  const window = model.config.blockSize;
  if (overflow === "raise" && prompt.length + n > window + 1) {
    throw new Error(
      `${prompt.length} tokens and ${n} new ones do not fit into the model's window of ${window}`,
    );
  }
  const random = randomNumbers(seed);
  const most = Math.min(window, Math.max(1, prompt.length + n));
  const room = 2 ** Math.ceil(Math.log2(most)); // few sizes, so that memory is used again
  const cache = new KVCache(model.config, model.backend, Math.min(room, window));
  try {
    let ids = Array.from(prompt.slice(-window));
    let waiting = ids; // for the cache
    for (let i = 0; i < n; i++) {
      if (cache.length + waiting.length > window) {
        cache.cut();
        ids = ids.slice(-window);
        waiting = ids;
      }
      for (; waiting.length > CHUNK; waiting = waiting.slice(CHUNK)) {
        await model.forward(waiting.slice(0, CHUNK), { cache, switches, lastOnly: true });
      }
      const logits = await model.forward(waiting, { cache, switches, tape, lastOnly: true });
      const probabilities = nextProbabilities(logits, settings);
      const id = draw(probabilities, random);
      yield { id, probabilities };
      if (id === eosId) return;
      waiting = [id];
      ids.push(id);
    }
  } finally {
    cache.free(model.backend);
  }
}
