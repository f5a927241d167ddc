// Stories of Crane World from a seed: gpt2_edu/crane/sampling.py in JavaScript.

import { SplitMix64 } from "./splitmix.mjs";

/** @import { Grammar, Item, Option } from "./grammar.mjs" */

const PUNCTUATION = ".,?!"; // follows a word without a space

/**
 * The story of a seed, from the training distribution: Python's `crane.story(seed)`.
 * @param {Grammar} grammar
 * @param {number | bigint} seed  from 0 to 2⁶⁴ - 1
 */
export function story(grammar, seed) {
  const random = new SplitMix64(seed);
  /** @type {string[]} */
  const words = [];
  let memory = grammar.empty;
  let capital = false;
  /** @type {Item[]} */
  const stack = [grammar.starts.story];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    if (typeof item === "string") {
      words.push(capital ? capitalise(item) : item);
      capital = false;
      continue;
    }
    const options = grammar.options(item, memory, "training");
    const number = random.below(options[options.length - 1].cumulative);
    const found = options.find(({ cumulative }) => cumulative > number);
    const option = /** @type {Option} */ (found);
    memory = grammar.remember(memory, item, option);
    for (let i = option.items.length - 1; i >= 0; i--) stack.push(option.items[i]);
    capital ||= item.say && item.capital;
  }
  return joinWords(words);
}

/**
 * The space between two words, or "" if there is none; `before` is null at the start.
 * @param {string | null} before
 * @param {string} word
 */
export function separator(before, word) {
  return before === null || before === '"' || PUNCTUATION.includes(word[0]) ? "" : " ";
}

/**
 * The text of a sequence of words and punctuation.
 * @param {string[]} words
 */
export function joinWords(words) {
  let text = "";
  /** @type {string | null} */
  let before = null;
  for (const word of words) {
    text += separator(before, word) + word;
    before = word;
  }
  return text;
}

/**
 * The word with its first letter in upper case.
 * @param {string} word
 */
export function capitalise(word) {
  return word[0].toUpperCase() + word.slice(1);
}
