// Passes that a page holds: the first frame needs no weights, and what OpenAI's GPT-2 did with five
// prompts needs no download. Of GPT-2, and of the crane while it learned, only a part is stored.

import { make } from "../exhibits/dom.mjs";
import { bundle } from "../page.mjs";

/** @import { Pass, Said } from "./pass.mjs" */

/**
 * As a page holds it. `attention`: of each block and head the part at and below the diagonal, row by
 * row, in `unit`s. What is not stored is not there.
 * @typedef {object} Stored
 * @property {string} text
 * @property {number[]} ids
 * @property {string[]} tokens
 * @property {number[][][]} attention
 * @property {number} unit
 * @property {[string, number, number, number, number][][]} [lens]  name, p, bird, machine, final
 * @property {number[][][]} [lit]
 * @property {number} [units]
 * @property {number[][]} [lengths]
 * @property {number[][]} [vectors]  the first numbers of each token's
 * @property {import("./pass.mjs").Next[]} next
 * @property {string} [only]
 * @property {Pass["sizes"]} [sizes]
 */

const ONLY =
  "Of GPT-2 the attention and next words are stored here, nothing else: lanes stay grey, and heads cannot be cut. “use all of GPT-2” computes the rest.";
const SIZES = { nEmbd: 768, vocabSize: 50257, blockSize: 1024 }; // of GPT-2

/**
 * @param {Stored} stored
 * @returns {Pass}
 */
export function fromStored({ attention, unit, lens, lit, vectors, ...rest }) {
  const T = rest.tokens.length;
  const nLayer = attention.length;
  /** @type {Said | null} */
  const unknown = null;
  return {
    units: 1,
    ...rest,
    nLayer,
    nHead: attention[0].length,
    weights: attention.map((heads) => heads.map((packed) => square(packed, T, unit))),
    lens: lens
      ? lens.map((row) =>
          row.map(([name, p, bird, machine, final]) => ({ name, p, bird, machine, final })),
        )
      : Array.from({ length: 2 * nLayer + 1 }, () => Array(T).fill(unknown)),
    lit: lit ?? null,
    shares: null,
    vectors: vectors ?? [],
    tensor: null,
    stored: true,
  };
}

/**
 * @param {number[]} packed  rows up to the diagonal
 * @param {number} T
 * @param {number} unit
 */
function square(packed, T, unit) {
  const all = new Float64Array(T * T);
  let i = 0;
  for (let row = 0; row < T; row++) {
    for (let column = 0; column <= row; column++) all[row * T + column] = packed[i++] * unit;
  }
  return all;
}

/** @type {Promise<Pass[]> | null} */
let runs = null;

/** What OpenAI's GPT-2 124M did with five prompts: fetched once, when it is asked for. */
export function gpt2Runs() {
  runs ??= bundle("gpt2_runs").then((files) => {
    const all = /** @type {Stored[]} */ (/** @type {any} */ (files));
    return all.map((run) => fromStored({ ...run, only: ONLY, sizes: SIZES }));
  });
  runs.catch(() => (runs = null));
  return runs;
}

/**
 * @param {string} name  of these runs
 * @param {string[] | undefined} prompts
 * @param {(nth: number) => void} pick  from 1
 */
export function runsAsChips(name, prompts, pick) {
  const chips = make(
    "div",
    { class: "chips flow-runs", role: "group", "aria-label": name },
    make("span", { class: "soft" }, `${name}:`),
    ...(prompts ?? []).map((text, i) =>
      make("button", { type: "button", title: text, onclick: () => pick(i + 1) }, text),
    ),
  );
  chips.hidden = !prompts?.length;
  return chips;
}
