// What a crane does: its deeds as a bird in one colour, as a machine in the other, in all exhibits.

import { model } from "./page_model.mjs";

/** @typedef {Record<string, number[]>} Senses  ids of the first tokens of the deeds of either */

/**
 * What a crane does in either sense, by the first tokens; null where the text has no crane.
 * @param {string} text
 * @param {{encode: (text: string) => number[]}} tokenizer
 * @param {Record<string, string[]> | false | undefined} deeds
 * @returns {Senses | null}
 */
export function sensesOf(text, tokenizer, deeds) {
  if (!deeds || !/\bcrane\b/i.test(text)) return null;
  const first = (/** @type {string} */ deed) => tokenizer.encode(` ${deed}`)[0];
  return Object.fromEntries(Object.entries(deeds).map(([sense, all]) => [sense, all.map(first)]));
}

/**
 * Which sense of *crane* has a deed that begins with a token: bird, machine, or none.
 * @param {string} text
 * @returns {(id: number) => string}
 */
export function senseAfter(text) {
  const senses = sensesOf(text, model.present.tokenizer, model.deeds);
  const all = Object.entries(senses ?? {});
  return (id) => all.find(([, ids]) => ids.includes(id))?.[0] ?? "";
}
