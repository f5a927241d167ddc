// What is rewarded, and the plan of a run that follows from a reader's choices.

/** @import { Plan } from "../learn/drive.mjs" */
/** @import { Begun } from "./models.mjs" */
/** @typedef {keyof typeof KINDS} Kind */
/** @typedef {{kind: Kind, word: string, rein: number, group: number}} Choice */

/** What a text is rewarded for. */
export const KINDS = {
  right: "a right story",
  cranes: "every crane",
  short: "few tokens",
  word: "a word of yours",
};
export const REINS = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
export const GROUPS = [8, 16, 32, 64];

const TEXTS = 16_384; // that a run writes, if it is not stopped
const RATE = 3e-4; // of learning

/**
 * Why no run can be made of these choices: a sentence, or "".
 * @param {Choice} choice
 */
export function problem({ kind, word }) {
  return kind === "word" && !word.trim() ? "Type the word that is to be rewarded." : "";
}

/**
 * @param {Choice} choice
 * @param {Begun} begun  the model that it begins with
 * @returns {Plan}
 */
export function planOf(choice, { model, name }) {
  return {
    version: 1,
    name: `${name}, rewarded`,
    seed: 0,
    model,
    batch: choice.group,
    std: 0.1,
    settings: {
      steps: Math.ceil(TEXTS / choice.group),
      lr: RATE,
      minLr: RATE,
      warmupSteps: 0,
      weightDecay: 0,
      beta1: 0.9,
      beta2: 0.999,
      gradClip: 1,
    },
    switches: {},
    workers: 1,
    data: { kind: "crane" },
    reward: choice,
  };
}
