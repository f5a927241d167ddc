// What a run learns from: one door to Crane World, chapter 6's sentences, and a reader's own text.

import { characterMerges } from "./characters.mjs";
import { craneData } from "./crane.mjs";
import { countedLosses } from "./floors.mjs";
import { LONGEST, tokenizerOf, trainMerges } from "./merges.mjs";
import { textRows } from "./rows.mjs";
import { sentencesData } from "./sentences.mjs";

/** @import { Data, DataPlan, Plan } from "../runs/run.mjs" */
/** @typedef {Extract<DataPlan, {kind: "text"}>} TextPlan */
/**
 * What comes with a plan: the file crane_grammar for Crane World; the merges of an own text, where
 * they are known from before.
 * @typedef {{grammar?: any, merges?: Uint8Array, progress?: (share: number) => void}} Given
 */

const SHOWN = 12; // tokens of an own text whose attention is shown
const MOST_CHARACTERS = 1024; // tokens of a vocabulary of characters

/**
 * The data of a plan: the same for the same arguments. Throws an Error that says what to change, for a
 * text that is too short for the plan's window.
 * @param {Plan} plan
 * @param {Given} given
 * @returns {Data}
 */
export function makeData({ data, model: { T } }, given) {
  const made = dataOf(data, T, given);
  const { ids, tokens } = made.show;
  return { ...made, show: { ids: ids.slice(0, T), tokens: tokens.slice(0, T) } };
}

/**
 * @param {DataPlan} plan
 * @param {number} T
 * @param {Given} given
 */
function dataOf(plan, T, given) {
  if (plan.kind === "crane") return craneData(given.grammar);
  if (plan.kind === "sentences") return sentencesData();
  return textData(plan, T, given);
}

/**
 * @param {TextPlan} plan
 * @param {number} T
 * @param {Given} given
 * @returns {Data}
 */
function textData({ unit, vocabSize, text }, T, { merges: known, progress }) {
  const { merges, note } = unit === "characters" ? characters(text) : learned();
  const tokenizer = tokenizerOf(merges);
  const { eot, size: V } = tokenizer;
  const ids = Uint16Array.from(tokenizer.encode(text));
  const { split, whole, rows, held } = textRows(tokenizer, ids);
  if (split(T) < 2 * T) {
    throw new Error(
      `After setting a tenth aside for validation, fewer than 2 windows of ${T} tokens are left: ` +
        "take a shorter window or more text.",
    );
  }
  const shown = [eot, ...ids.subarray(0, SHOWN)];
  return {
    vocabSize: V,
    eot,
    merges,
    rows,
    held,
    floors: (T) => ({ ...countedLosses(whole(T), held(T), V), truth: null }),
    prompt: [eot],
    show: { ids: shown, tokens: shown.map((id) => tokenizer.show(id)) },
    decode: (ids) => tokenizer.decode(ids.filter((id) => id !== eot)),
    judge: null,
    note,
  };

  function learned() {
    const merges = known ?? trainMerges([text], vocabSize, progress);
    const tokens = 257 + (merges.length - 256) / 4;
    if (!/\s/.test(text)) {
      const note = `The text has no spaces: merges are learned from parts of ${LONGEST} characters.`;
      return { merges, note };
    }
    const note = `With ${tokens} tokens, every word of the text is a token: there are no more.`;
    return { merges, note: tokens < vocabSize ? note : "" };
  }
}

/** @param {string} text */
function characters(text) {
  const { merges, different, whole } = characterMerges(text, MOST_CHARACTERS);
  const note =
    `Of ${different.toLocaleString("en")} different characters ${whole} have tokens of their own, ` +
    "the most frequent first; the others are spelled in bytes.";
  return { merges, note: whole < different ? note : "" };
}
