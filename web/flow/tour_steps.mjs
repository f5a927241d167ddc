// What the tour tells and shows, step by step.

import { fixed } from "../exhibits/dom.mjs";

/** @import { Pass } from "./pass.mjs" */
/** @typedef {{options: string[], right: string}} Guess */

/**
 * `task` comes first; `answer` is told of the pass that is shown, after a guess or an act where the
 * step has one. `set` is what it shows, `look` the depth at which that is, where no station says it.
 * `lights`: what it speaks of. `chapter` explains it.
 * @typedef {{title: string, lights: string, task: string, answer: (pass: Pass, done: boolean) => string,
 *   set: Record<string, any>, look?: number, chapter: number, guess?: Guess, act?: string}} Step
 */

const two = (/** @type {number} */ value) => fixed(value, 2);
const BOTH = ':is([data-of="1.0"], [data-of="1.2"])'; // heads that look at the marsh
export const [CRANE, MARSH] = [6, 3]; // tokens

/** @param {Pass} pass @param {number} stage */
const saidAt = ({ lens }, stage) => lens[stage]?.[CRANE];
/** @param {Pass} pass @param {number} block @param {number} head @param {number} key */
const weight = ({ weights, tokens }, block, head, key) =>
  two(weights[block][head][CRANE * tokens.length + key]);
/** @param {Pass} pass */
const ofAte = ({ next }) => two(next.find(({ name }) => name === "␣ate")?.p ?? 0);

/** @type {Step[]} */
export const STEPS = [
  {
    title: "Seven pieces",
    task: "",
    answer: ({ ids }) => `Each is a token with a number: ␣crane is ${ids[CRANE]}.`,
    set: { station: 0 },
    lights: ".token",
    chapter: 1,
  },
  {
    title: "Each fetches a vector",
    task: "128 numbers for the token, from a table, plus 128 for its place.",
    answer: () => "The first nine are drawn: blue above zero, ochre below.",
    set: { station: 3 },
    lights: ".cell",
    chapter: 2,
  },
  {
    title: "Predict",
    task: "After block 0 ␣marsh has not reached ␣crane yet. What would the model say?",
    answer: (pass) => {
      const said = saidAt(pass, 2);
      return said
        ? `${said.name} (${two(said.p)}): it bets on the machine, ${two(said.machine)} to ${two(said.bird)}.`
        : "";
    },
    guess: { options: ["crane", "ate", "lifted"], right: "lifted" },
    set: { station: 19 },
    lights: ".word.s2, .token.chosen",
    chapter: 17,
  },
  {
    title: "Tokens look back",
    task: "In block 1 two heads look from ␣crane at ␣marsh.",
    answer: (pass) =>
      `They take ${weight(pass, 1, 0, MARSH)} and ${weight(pass, 1, 2, MARSH)} of what they bring from there.`,
    set: { station: 27 },
    lights: `.ribbon.into${BOTH}, .head${BOTH}`,
    chapter: 6,
  },
  {
    title: "The stream turns",
    task: "What they bring is added.",
    answer: (pass) => {
      const [before, after] = [2, 3].map((stage) => saidAt(pass, stage));
      return before && after
        ? `The bird had ${two(before.bird)}, now it has ${two(after.bird)}. Nothing was replaced; something was added.`
        : "";
    },
    set: { station: 30 },
    lights: ".plus.chosen.s3, .word.s2, .word.s3",
    chapter: 8,
  },
  {
    title: "Why so much?",
    task: "A query meets a key: 32 products, one sum.",
    answer: (pass) => `Divided by √32 and made a share, it is ${weight(pass, 1, 0, MARSH)}.`,
    set: { place: "1.0.6.3.16" },
    lights: ".product, .fall.chosen",
    chapter: 4,
  },
  {
    title: "Each thinks alone",
    task: "The MLP sees one token at a time.",
    answer: ({ lit, units }) =>
      `Of its ${units} units ${lit?.[1][CRANE].length} are lit at ␣crane. Click one.`,
    set: { place: "1.mlp" },
    lights: ".chosen-cell, .point",
    chapter: 7,
  },
  {
    title: "A look that carries little",
    task: "Head 2.3 looks at the beginning.",
    answer: (pass) =>
      `It gives ⟨start⟩ ${weight(pass, 2, 3, 0)}: a place to look when there is nothing to look for.`,
    set: { place: "2.3" },
    lights: '.cellbox.own[data-of="t0"]',
    chapter: 17,
  },
  {
    title: "Cut them",
    task: "Both heads look at ␣marsh and bring the same: without one, ␣ate hardly changes.",
    answer: (pass, done) =>
      done
        ? `Without both it falls to ${ofAte(pass)}. Weights are not effects.`
        : `It has ${ofAte(pass)}. Cut both, 1.0 and 1.2.`,
    act: "cut both",
    set: {},
    look: 2.3,
    lights: `.ribbon.into${BOTH}, .head${BOTH}, .snip${BOTH}`,
    chapter: 17,
  },
  {
    title: "Choose, and again",
    task: "The last vector times each token’s row: 1,024 scores; a softmax makes shares.",
    answer: (pass, done) =>
      done
        ? "The word is the eighth lane; the other seven need no new pass."
        : `␣ate has ${ofAte(pass)}. Throw the dart: it picks a word by its share.`,
    act: "throw the dart",
    set: {},
    look: 4.75,
    lights: ".next",
    chapter: 15,
  },
];
