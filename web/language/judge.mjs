// Whether a text is a story of Crane World, and if not, where it leaves the language. This is a part
// of gpt2_edu/crane/parsing.py and judging.py, with the same names.

import { SPACE } from "../tokenizer.mjs";
import { STARTS } from "./grammar.mjs";
import { capitalise, separator } from "./stories.mjs";

/** @import { Grammar, Item, Memory } from "./grammar.mjs" */
/** @typedef {{item: Item, rest: Stack} | null} Stack  the next item and the rest */
/** @typedef {{stack: Stack, memory: Memory}} State */
/** @typedef {(typeof STARTS)[number]} Kind */
/**
 * @typedef {{kind: Kind | null, failsAt: number | null, expected: string[],
 *   read: number}} Verdict  failsAt: the first index at which no text of the language continues like
 *   this; expected: the words possible there, "" is the end; read: the share of the text before it
 */

const WORD = /[A-Za-z]+(?:-[a-z]+)*|[.,?!]+"?|"/y; // a word, or punctuation
const BLANK = new RegExp(`[${SPACE}\\x1c-\\x1f]`); // what Python's strip takes away

/**
 * @param {Grammar} grammar
 * @param {string} text
 * @param {readonly Kind[]} [kinds]  that it may be
 * @returns {Verdict}
 */
export function judge(grammar, text, kinds = STARTS) {
  let states = kinds.map((kind) => ({ kind, state: initialState(grammar, kind) }));
  for (const [word, at] of scanWords(text)) {
    const expected = new Set();
    const after = new Map();
    for (const { kind, state } of states) {
      for (const [candidate, next] of nextSteps(grammar, state)) {
        expected.add(candidate);
        if (candidate === word) after.set(kind + keyOf(next), { kind, state: next });
      }
    }
    if (!after.size) {
      const read = text.length ? at / text.length : 0;
      return { kind: null, failsAt: at, expected: [...expected].sort(), read };
    }
    states = [...after.values()];
  }
  return { kind: states[0].kind, failsAt: null, expected: [], read: 1 };
}

/**
 * Each word with the index of its first character, then "" with the end of the text. Ends with null
 * at a character that begins no word, or at wrong spacing. White space at either end is ignored.
 * @param {string} text
 * @returns {Generator<[string | null, number]>}
 */
export function* scanWords(text) {
  /** @type {string | null} */
  let before = null;
  let [at, end] = [0, text.length];
  while (at < end && BLANK.test(text[end - 1])) end--;
  while (at < end && BLANK.test(text[at])) at++;
  while (at < end) {
    WORD.lastIndex = at + Number(text[at] === " ");
    const start = WORD.lastIndex;
    const word = WORD.exec(text)?.[0];
    if (word === undefined || text.slice(at, start) !== separator(before, word)) {
      yield [null, at];
      return;
    }
    before = word;
    at = start + word.length;
    yield [word, start];
  }
  yield ["", end];
}

/**
 * The state before the first word.
 * @param {Grammar} grammar
 * @param {Kind} kind
 * @returns {State}
 */
function initialState(grammar, kind) {
  return { stack: { item: grammar.starts[kind], rest: null }, memory: grammar.empty };
}

/**
 * Every derivation of the next word, which is "" where the text may end, with the state after it.
 * @param {Grammar} grammar
 * @param {State} state
 * @returns {Generator<[string, State]>}
 */
function* nextSteps(grammar, state) {
  const agenda = [{ ...state, capital: false }];
  for (let one = agenda.pop(); one; one = agenda.pop()) {
    const { stack, memory } = one;
    if (stack === null) {
      yield ["", { stack, memory }];
      continue;
    }
    const { item, rest } = stack;
    if (typeof item === "string") {
      yield [one.capital ? capitalise(item) : item, { stack: rest, memory }];
      continue;
    }
    const capital = one.capital || (item.capital && item.say);
    for (const option of grammar.options(item, memory, "everything")) {
      let expanded = rest;
      for (let i = option.items.length - 1; i >= 0; i--) {
        expanded = { item: option.items[i], rest: expanded };
      }
      agenda.push({ stack: expanded, memory: grammar.remember(memory, item, option), capital });
    }
  }
}

/**
 * The same for equal states.
 * @param {State} state
 */
function keyOf({ stack, memory }) {
  let key = ` ${memory.map((value) => value?.id)}`;
  for (let rest = stack; rest; rest = rest.rest) {
    key += ` ${typeof rest.item === "string" ? rest.item : rest.item.number}`;
  }
  return key;
}
