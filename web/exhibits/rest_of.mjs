// A token that begins a word, and the rest of that word.

import { orSuperseded } from "./page_model.mjs";

/** @import { model as PageModel } from "./page_model.mjs" */

const LONGEST = 6; // tokens of a word
export const LARGE = 10_000; // tokens of a vocabulary in which nearly every word is one token

/**
 * What makes a word of a token, as the model goes on with it. The text before it is computed once.
 * @param {typeof PageModel} model
 * @param {number[]} before  ids
 * @param {{id: number, name: string}} one
 * @param {string} key  whose newer request takes the place of this one
 * @returns {Promise<string | null>}  null: a newer request took its place
 */
export async function restOf(model, before, { id: first, name }, key = "flow, words") {
  const { tokenizer, config } = model.present;
  if (!/[a-z]$/i.test(name) || config.vocabSize > LARGE) return "";
  let rest = "";
  let ended = false;
  const settings = { temperature: 0, overflow: "crop" };
  // A full window drops its oldest tokens at once: one by one, each step would compute all anew.
  const room = Math.max(1, config.blockSize - LONGEST + 1);
  const ids = [...before, first].slice(-room);
  const asked = { ids, n: LONGEST, key, settings };
  const { answer, cancel } = await model.stream(asked, (id) => {
    const more = id === tokenizer.eot ? "" : tokenizer.decode([id]);
    ended ||= !/^[a-z]+$/i.test(more);
    if (ended) cancel();
    else rest += more;
  });
  const written = await answer.catch(orSuperseded);
  return ended || written?.ids.length === LONGEST ? rest : null;
}

/** @type {Map<string, string>} */
const known = new Map(); // rests of words: a change to the model changes none

/**
 * Show what comes next, first by tokens, then by whole words as the unchanged model writes them.
 * @param {typeof PageModel} model
 * @param {import("./bars.mjs").Bars} bars
 * @param {import("./bars.mjs").Bar[]} shown
 * @param {{ids: number[], key: string, latest: () => boolean, title?: string}} of  what was read
 */
export async function inWords(model, bars, shown, { ids, key, latest, title }) {
  const word = (/** @type {number} */ id) => `${model.present.name} ${ids} ${id}`;
  for (const one of shown) one.rest = known.get(word(one.id));
  bars.set(shown, title);
  for (const one of shown) {
    one.rest ??= (await restOf(model, ids, one, key)) ?? undefined;
    if (one.rest === undefined || !latest()) return;
    known.set(word(one.id), one.rest);
  }
  bars.set(shown);
}
