// What a run learns from: Crane World, the sentences of chapter 6, or a text of the reader's.

import { characterMerges } from "./characters.mjs";
import { craneSource } from "./crane.mjs";
import { countedLosses } from "./floors.mjs";
import { LONGEST, tokenizerOf, trainMerges } from "./merges.mjs";
import { textRows } from "./rows.mjs";
import { sentencesSource } from "./sentences.mjs";

/** @import { Tokenizer } from "../tokenizer.mjs" */
/** @import { Data, DataPlan, Plan } from "../runs/run.mjs" */
/**
 * What differs between the kinds of data.
 * @typedef {Pick<Data, "merges" | "rows" | "held" | "floors"> &
 *   Partial<Pick<Data, "prompt" | "judge" | "note" | "truth">> &
 *   {tokenizer: Tokenizer, shown: number[]}} Source  shown: the ids of the attention maps
 */
/**
 * @typedef {{grammar?: any, merges?: Uint8Array, progress?: (share: number) => void}} Given
 *   grammar: the content of crane_grammar, for Crane World; merges: those of the reader's text, if
 *   they were learned before
 */

const SHOWN = 12; // tokens of a reader's text in the attention maps
const MOST_CHARACTERS = 1024; // tokens of a vocabulary of characters

/**
 * The data of a plan, the same for the same arguments. Throws an Error if the text is too short for
 * the plan's window.
 * @param {Plan} plan
 * @param {Given} given
 * @returns {Data}
 */
export function makeData({ data, model: { T } }, given) {
  const { tokenizer, shown, ...source } = sourceOf(data, T, given);
  const { eot, size } = tokenizer;
  const ids = shown.slice(0, T);
  return {
    vocabSize: size,
    eot,
    prompt: [eot],
    show: { ids, tokens: ids.map((id) => tokenizer.show(id)) },
    decode: (ids) => tokenizer.decode(ids.filter((id) => id !== eot)),
    judge: null,
    truth: null,
    note: "",
    ...source,
  };
}

/**
 * @param {DataPlan} plan
 * @param {number} T
 * @param {Given} given
 */
function sourceOf(plan, T, given) {
  if (plan.kind === "crane") return craneSource(given.grammar);
  if (plan.kind === "sentences") return sentencesSource();
  return textSource(plan, T, given);
}

/**
 * @param {Extract<DataPlan, {kind: "text"}>} plan
 * @param {number} T
 * @param {Given} given
 * @returns {Source}
 */
function textSource({ unit, vocabSize, text }, T, { merges: known, progress }) {
  const vocabulary =
    unit === "characters"
      ? characterVocabulary(text)
      : mergedVocabulary(text, vocabSize, known ?? trainMerges([text], vocabSize, progress));
  const tokenizer = tokenizerOf(vocabulary.merges);
  const ids = Uint16Array.from(tokenizer.encode(text));
  const { split, whole, rows, held } = textRows(tokenizer, ids);
  if (split(T) < 2 * T) {
    throw new Error(
      `After setting a tenth aside for validation, fewer than 2 windows of ${T} tokens are left. ` +
        "Choose a shorter window, or give more text.",
    );
  }
  return {
    ...vocabulary,
    tokenizer,
    rows,
    held,
    floors: (T) => ({ ...countedLosses(whole(T), held(T), tokenizer.size), truth: null }),
    shown: [tokenizer.eot, ...ids.subarray(0, SHOWN)],
  };
}

/** @param {string} text */
function characterVocabulary(text) {
  const { merges, different, whole } = characterMerges(text, MOST_CHARACTERS);
  const note =
    `Of ${different.toLocaleString("en")} different characters, the ${whole} most frequent have ` +
    "tokens of their own; the others are spelled in bytes.";
  return { merges, note: whole < different ? note : "" };
}

/**
 * @param {string} text
 * @param {number} wanted  tokens
 * @param {Uint8Array} merges
 */
function mergedVocabulary(text, wanted, merges) {
  if (!/\s/.test(text)) {
    const note = `The text has no spaces, so merges are learned from parts of ${LONGEST} characters.`;
    return { merges, note };
  }
  const size = 257 + (merges.length - 256) / 4;
  const note = `With ${size} tokens every word of the text is a single token, so there are no more.`;
  return { merges, note: size < wanted ? note : "" };
}
