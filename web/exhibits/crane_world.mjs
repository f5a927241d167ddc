// What a page knows of Crane World, the language of the book's model: its words, and what a crane does
// as a bird and as a machine.

import { BOOKS, model } from "./page_model.mjs";

/** @typedef {Record<string, number[]>} Senses  ids of the first tokens of the deeds of either */

const WORDS = /[^\s\p{P}\p{Sm}]+/gu;
const WORD_AT_END = /[^\s\p{P}\p{Sm}]+$/u;
const SIZE = 1024; // of its vocabulary

/** @type {Set<string>} */
let all = new Set();

/** What came with the files of the book's model. */
const files = () => /** @type {any} */ (globalThis).gpt2Files?.crane;

/** All words of Crane World; none where another model answers, or none yet. */
export function worldsWords() {
  if (model.loaded?.name !== BOOKS) return new Set();
  if (!all.size) all = new Set(files().words.split(" "));
  return all;
}

/**
 * The words of a text that the book's model has never met; none for another model, of whose language
 * nothing is known. The last word may still be growing.
 * @param {string} text
 * @returns {string[]}
 */
export function unknown(text) {
  const all = worldsWords();
  if (!all.size) return [];
  const known = (/** @type {string} */ word) =>
    all.has(word) || all.has(word[0].toLowerCase() + word.slice(1));
  const begun = text.match(WORD_AT_END)?.[0];
  const growing = begun && [...all].some((word) => word.startsWith(begun));
  const found = new Set(growing ? text.slice(0, -begun.length).match(WORDS) : text.match(WORDS));
  return [...found].filter((word) => !known(word));
}

/**
 * What a reader should know of what was typed.
 * @param {string[]} texts
 */
export function remarkOn(texts) {
  const words = texts.flatMap(unknown);
  if (!words.length) return "";
  const names = words.slice(0, 3).map((word) => `“${Array.from(word).slice(0, 20).join("")}”`);
  return (
    `Not in Crane World: ${names.join(", ")}${words.length > 3 ? " …" : ""}. The model has never ` +
    `met this, so its answer means little. It knows ${all.size} words, such as ${near(words[0])}.`
  );
}

/** Which model answers, where it is not the book's. */
export function whoAnswers() {
  return model.loaded?.own ? `${model.loaded.name} answers.` : "";
}

/**
 * Three words that the book's model knows, the nearest in the alphabet.
 * @param {string} word
 */
function near(word) {
  const sorted = [...all].filter((known) => /^[a-z]{4}/.test(known)).sort();
  const after = sorted.findIndex((known) => known > word.toLowerCase());
  const from = after < 0 ? sorted.length - 3 : Math.max(0, after - 1);
  return sorted.slice(from, from + 3).join(", ");
}

/**
 * What a crane does in either sense, by the first tokens; null where the text has no crane, or the
 * model another language.
 * @param {string} text
 * @returns {Senses | null}
 */
export function sensesOf(text) {
  const { config, tokenizer } = model.present;
  const deeds = config.vocabSize === SIZE && files()?.deeds;
  if (!deeds || !/\bcrane\b/i.test(text)) return null;
  const first = (/** @type {string} */ deed) => tokenizer.encode(` ${deed}`)[0];
  return Object.fromEntries(Object.entries(deeds).map(([sense, list]) => [sense, list.map(first)]));
}

/**
 * Which sense of *crane* has a deed that begins with a token: bird, machine, or none.
 * @param {string} text
 * @returns {(id: number) => string}
 */
export function senseAfter(text) {
  const senses = Object.entries(sensesOf(text) ?? {});
  return (id) => senses.find(([, ids]) => ids.includes(id))?.[0] ?? "";
}
