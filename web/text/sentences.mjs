// Chapter 6's 32 sentences, in which the object depends on the subject: course.small_language.

import { IGNORED } from "../train/loss.mjs";
import { countedLosses } from "./floors.mjs";
import { tokenizerOf, trainMerges } from "./merges.mjs";
import { batch } from "./rows.mjs";

/** @import { Data, Verdict } from "../runs/run.mjs" */
/** @import { Source } from "./own.mjs" */

const ARTICLES = ["A", "The", "One", "That"];
const FOODS = { crane: "fish", bat: "fruit", seal: "squid", mouse: "bread" };
const LOADS = { crane: "steel", bat: "stones", seal: "boxes", mouse: "wood" };
const NOUNS = /** @type {(keyof FOODS)[]} */ (Object.keys(FOODS));
export const SENTENCES = ARTICLES.flatMap((article) =>
  NOUNS.flatMap((noun) => [
    `${article} ${noun} ate ${FOODS[noun]}.`,
    `${article} ${noun} lifted ${LOADS[noun]}.`,
  ]),
);
const LENGTH = 5; // tokens of each
const COUNTED = 100; // copies of each, so that what is added to the counts has no weight

/** @returns {Source} */
export function sentencesSource() {
  const merges = trainMerges(SENTENCES, Infinity); // until every word is one token
  const tokenizer = tokenizerOf(merges);
  const { eot, size } = tokenizer;
  const ids = SENTENCES.map((sentence) => [eot, ...tokenizer.encode(sentence)]);
  /** @type {Data["rows"]} */
  const rows = (_, step, B, T) => {
    if (T !== LENGTH) {
      throw new Error(
        `The sentences have ${LENGTH} tokens, so the window must be as long, not ${T}.`,
      );
    }
    const { ids: inputs, targets } = batch(B, T, (row) => ids[(step * B + row) % ids.length]);
    for (let row = 0; row < B; row++) targets[row * T] = IGNORED; // nothing predicts the article
    return { ids: inputs, targets };
  };
  const held = (/** @type {number} */ T) => rows(0, 0, ids.length, T);
  return {
    merges,
    tokenizer,
    rows,
    held,
    floors: (T) => ({
      ...countedLosses(rows(0, 0, COUNTED * ids.length, T), held(T), size),
      // After an article comes one of four nouns, then one of two verbs; the rest is certain.
      truth: (Math.log(NOUNS.length) + Math.log(2)) / (LENGTH - 1),
    }),
    prompt: [eot, ...tokenizer.encode(ARTICLES[0])],
    shown: ids[0].slice(0, LENGTH),
    judge: judgeSentence,
  };
}

/**
 * Whether a text is one of the sentences, or where it stops being the beginning of one.
 * @param {string} text
 * @returns {Verdict}
 */
function judgeSentence(text) {
  const words = (/** @type {string} */ text) => text.match(/ ?\w+|[^]/g) ?? [];
  const own = words(text);
  let at = 0;
  let possible = SENTENCES.map(words);
  for (let i = 0; ; i++) {
    const word = own[i] ?? ""; // the end
    const left = possible.filter((sentence) => (sentence[i] ?? "") === word);
    if (!left.length) {
      const failsAt = at + Number(word.length > 1 && word[0] === " ");
      const expected = new Set(possible.map((sentence) => (sentence[i] ?? "").trim()));
      const read = text.length ? failsAt / text.length : 0;
      return { kind: null, failsAt, expected: [...expected].sort(), read };
    }
    if (i === own.length) return { kind: "sentence", failsAt: null, expected: [], read: 1 };
    possible = left;
    at += word.length;
  }
}
