// The shell game of gpt2_edu/thought/cups.py, and the small model that plays it, in the engine.

import { nextProbabilities } from "../sampling.mjs";
import { Bundled } from "./bundled.mjs";

/** @import { Engine } from "../client.mjs" */
/** @typedef {{start: string, swaps: string[]}} Game  start: the cup that the ball begins under, "C"; a
 *   swap is two cups, "AD" */
/** @typedef {"now" | "steps"} Way  that it answers: with the place, or with the place after each swap */
/**
 * Of each token that was written but the end, what it is, and what each cup had. `said` is the last of
 * them, `tokens` how many were written, with the end.
 * @typedef {{word: string, p: number[]}} Step
 * @typedef {{steps: Step[], said: string, tokens: number}} Played
 */

export const CUPS = Array.from("ABCDE");
const END = "<|endoftext|>";
const NAME = "shell game"; // in the engine

/**
 * Where the ball is in the beginning and after each swap.
 * @param {Game} game
 */
export function places({ start, swaps }) {
  const found = [start];
  for (const [a, b] of swaps) {
    const at = found[found.length - 1];
    found.push(at === a ? b : at === b ? a : at);
  }
  return found;
}

/**
 * The words that the model reads.
 * @param {Game} game
 * @param {Way} way
 */
export function asked({ start, swaps }, way) {
  return [END, start, ...swaps, `${way}:`];
}

export class Shells {
  /**
   * @param {string[]} words  of the model; the place of each is its id
   * @param {() => Engine} started  the present engine
   */
  constructor(words, started) {
    this.words = words;
    this.model = new Bundled(started, { [NAME]: "cups" });
  }

  /**
   * The likeliest tokens, one after the other.
   * @param {Game} game
   * @param {Way} way
   * @returns {Promise<Played>}
   */
  async play(game, way) {
    const { words } = this;
    const [ids, cups] = [asked(game, way), CUPS].map((some) =>
      some.map((one) => words.indexOf(one)),
    );
    const eosId = words.indexOf(END);
    const engine = await this.model.load();
    const request = { ids, n: game.swaps.length + 2, settings: { temperature: 0, eosId } };
    /** @type {number[]} */
    const written = (await engine.stream(NAME, request).answer).ids;
    const read = [...ids, ...written];
    const { logits } = await engine.run(NAME, { ids: read });
    const V = logits.length / read.length;
    const answer = written.filter((id) => id !== eosId);
    const steps = answer.map((id, i) => {
      const row = ids.length - 1 + i;
      const p = nextProbabilities(logits.subarray(row * V, (row + 1) * V));
      return { word: words[id], p: cups.map((one) => p[one]) };
    });
    return { steps, said: steps[steps.length - 1]?.word ?? "", tokens: written.length };
  }
}
