// Rows of tokens to learn from. They depend on the seed and the step only, so a run that continues
// needs no random state. Each begins with <|endoftext|>, as a text does everywhere in the book.

import { randomNumbers } from "../sampling.mjs";

/** @import { Tokenizer } from "../tokenizer.mjs" */
/** @import { Rows } from "../runs/run.mjs" */
/** @typedef {{rows: (seed: number, step: number, B: number, T: number) => Rows,
 *   held: (T: number) => Rows}} Sources  to learn from, and for validation */

const HELD = 40; // rows for validation
const STORIES = 16; // numbers reserved for the stories of a row: 480 tokens or more
const SEEDS = 2 ** 16;
const ROWS = 2 ** 32; // of a seed
const NEAR = 16; // tokens that a row goes back at most, to begin with a word

/**
 * Rows of T tokens, and the token after each, from windows of T + 1 tokens or more.
 * @param {number} B
 * @param {number} T
 * @param {(row: number) => ArrayLike<number>} windowOf
 * @returns {Rows}
 */
export function batch(B, T, windowOf) {
  const rows = { ids: new Int32Array(B * T), targets: new Int32Array(B * T) };
  for (let row = 0; row < B; row++) {
    const window = windowOf(row);
    for (let t = 0; t < T; t++) {
      rows.ids[row * T + t] = window[t];
      rows.targets[row * T + t] = window[t + 1];
    }
  }
  return rows;
}

/**
 * Rows of stories. No story number occurs twice, in one run or in runs with different seeds, and
 * the numbers from 2⁵² are for validation only.
 * @param {Tokenizer} tokenizer
 * @param {(seed: number) => string} story
 * @returns {Sources}
 */
export function storyRows(tokenizer, story) {
  const window = (/** @type {number} */ first, /** @type {number} */ T) => {
    /** @type {number[]} */
    const ids = [];
    for (let seed = first; ids.length <= T; seed++) {
      ids.push(tokenizer.eot, ...tokenizer.encode(story(seed)));
    }
    return ids;
  };
  return {
    rows: (seed, step, B, T) => {
      const first = checkedSeed(seed) * ROWS + step * B;
      return batch(B, T, (row) => window(STORIES * (first + row), T));
    },
    held: (T) => batch(HELD, T, (row) => window(STORIES * (SEEDS * ROWS + row), T)),
  };
}

/**
 * Rows of a text, from random places in its first nine tenths; a row begins where a word does, if
 * one is near. The last tenth, at least two rows, is for validation.
 * @param {Tokenizer} tokenizer
 * @param {Uint16Array} ids  of the text
 * @returns {Sources & {split: (T: number) => number, whole: (T: number) => Rows}}  split: the
 *   number of tokens to learn from; whole: all of them, row after row
 */
export function textRows({ eot, tokens }, ids) {
  const blank = tokens.map((bytes) => " \n".includes(bytes[bytes.length - 1]));
  const spaced = tokens.map((bytes) => bytes.length > 1 && bytes[0] === " ");
  const begins = (/** @type {number} */ i) => i === 0 || blank[ids[i - 1]] || spaced[ids[i]];
  // Where the word at a place begins, if that is near.
  const word = (/** @type {number} */ from) => {
    let start = from;
    while (start > Math.max(0, from - NEAR) && !begins(start)) start--;
    return begins(start) ? start : from;
  };
  const window = (/** @type {number} */ start, /** @type {number} */ T) => {
    return [eot, ...ids.subarray(start, start + T)];
  };
  const split = (/** @type {number} */ T) => {
    return word(Math.max(0, ids.length - Math.max(2 * T, Math.floor(ids.length / 10))));
  };
  return {
    split,
    whole: (T) => batch(Math.floor(split(T) / T), T, (row) => window(word(row * T), T)),
    rows: (seed, step, B, T) => {
      const random = randomNumbers(2 ** 32 * (checkedSeed(seed) + 1) + step);
      const starts = split(T) - T + 1;
      return batch(B, T, () => window(word(Math.floor(random() * starts)), T));
    },
    held: (T) => {
      const first = split(T);
      const rows = Math.min(HELD, Math.floor((ids.length - first) / T));
      const apart = Math.floor((ids.length - first) / rows);
      return batch(rows, T, (row) => window(word(first + row * apart), T));
    },
  };
}

/** @param {number} seed */
function checkedSeed(seed) {
  if (Number.isInteger(seed) && seed >= 0 && seed < SEEDS) return seed;
  throw new Error(`the seed must be a whole number from 0 to 65,535, not ${seed}`);
}
