// What the picture of the whole shows of one pass through the model: read from the tape (read.mjs), or
// stored in the page, so that the first frame needs no weights.

import { bare, fixed, quoted } from "../exhibits/dom.mjs";

/** @import { Noted } from "../tape.mjs" */

/** What the model would say if the stream ended here. `bird` and `machine` are the shares of the
 * deeds of either, `final` that of the token that wins in the end.
 * @typedef {{name: string, p: number, bird: number, machine: number, final: number}} Said */

/** What is not stored is null: GPT-2's published runs have no stream.
 * @typedef {object} Pass
 * @property {string} text
 * @property {number[]} ids
 * @property {string[]} tokens  as they are shown
 * @property {number} nLayer
 * @property {number} nHead
 * @property {ArrayLike<number>[][]} weights  of each block and head, (T, T)
 * @property {(Said | null)[][]} lens  of each stage and token: null where it was not read
 * @property {number[][][] | null} lit  of each block and token: units of the MLP
 * @property {number} units  of an MLP
 * @property {number[][]} [lengths]  of each stage and token: of its vector
 * @property {Next[]} next  after the last token
 * @property {Float64Array | null} shares  of every token, after the last
 * @property {ArrayLike<number>[]} vectors  the first numbers of each token's
 * @property {boolean} [stored]  it was not computed here
 * @property {string} [only]  what is stored of a run of another model, in a sentence
 * @property {{nEmbd: number, vocabSize: number, blockSize: number}} [sizes]  of that model
 * @property {string[]} [off]  heads that are cut
 * @property {Float64Array} [uncut]  the shares with none cut
 * @property {Pass} [base]  the same without what is set by hand
 * @property {boolean} [whole]  each of `next` has its whole word
 * @property {((path: string) => Noted) | null} tensor  everything else, by its path
 */
/** @typedef {{id: number, name: string, p: number, rest?: string, sense?: "bird" | "machine",
 *   other?: number}} Next  `rest`: what makes a word of it; `other`: its share in a second pass */

export const LIT = 0.5; // a unit is lit above this, and in Llama below its negative

/** GELU gives nothing below −0.17. @param {number} act */
export const isLit = (act) => Math.abs(act) > LIT;

/** What a scene is given where nothing was changed. @param {Pass} pass */
export function untouched({ next }) {
  const nothing = { other: null, gaps: null, parts: {}, cells: [], patch: null };
  const still = { hover: -1, filling: false, setHover: () => {}, nth: -1, setNth: () => {} };
  return { ...nothing, ...still, next };
}

/**
 * Where the stream is read: behind the embeddings, and behind both parts of each block.
 * @param {number} nLayer
 */
export function stagePaths(nLayer) {
  const blocks = Array.from({ length: nLayer }, (_, n) => `transformer.h.${n}.`);
  return ["embd", ...blocks.flatMap((h) => [`${h}resid_mid`, `${h}resid_post`])];
}

/**
 * What a place of the stream means, from what the model would say there: how strongly, and how much of
 * it the bird, for a text that has one; `side` is null where it has not.
 * @param {Said | null} said
 * @param {Pass} pass
 * @param {number} [least]  share below which it means nothing
 * @returns {{strength: number, side: number | null}}
 */
export function meaning(said, { next }, least = 0) {
  if (!said) return { strength: 0, side: 0.5 };
  const { bird, machine, final } = said;
  const either = next.some(({ sense }) => sense);
  const sum = either ? Math.min(1, bird + machine) : final;
  if (sum < least || !sum) return { strength: 0, side: 0.5 };
  return { strength: sum, side: either ? bird / (bird + machine) : null };
}

/**
 * A stage by its number, as a reader knows it.
 * @param {number} stage
 */
export function stageName(stage) {
  if (!stage) return "the embeddings";
  return `${stage % 2 ? "attention" : "the MLP"} of block ${(stage - 1) >> 1}`;
}

/**
 * The pass in sentences, for those who do not see the picture.
 * @param {Pass} pass
 * @param {number} at  the token that is followed
 * @returns {string[]}
 */
export function inSentences(pass, at) {
  const { tokens, nLayer, nHead } = pass;
  const told = [`The text is cut into ${tokens.length} tokens: ${tokens.join(" ")}.`];
  for (let block = 0; block < nLayer; block++) {
    const looks = Array.from({ length: nHead }, (_, head) => strongest(pass, block, head, at));
    const strong = looks.filter(({ weight }) => weight >= 0.3);
    if (strong.length) {
      const list = strong.map(({ head, key, weight }) => {
        return `head ${block}.${head} takes ${fixed(weight)} from ${quoted(tokens[key])}`;
      });
      told.push(`For ${quoted(tokens[at])}, ${list.join(", ")}.`);
    }
    const said = pass.lens[2 * block + 2]?.[at];
    if (said) told.push(`If it ended after block ${block}: ${said.name} (${fixed(said.p)}).`);
  }
  const [first] = pass.next;
  if (first) {
    const before = pass.uncut ? `, before the cut ${fixed(pass.uncut[first.id])}` : "";
    told.push(
      `What comes next: ${quoted(first.name)}, with the probability ${fixed(first.p)}${before}.`,
    );
  }
  return told;
}

/**
 * Where a head looks from a token most.
 * @param {Pass} pass
 * @param {number} block
 * @param {number} head
 * @param {number} at
 */
export function strongest({ weights, tokens }, block, head, at) {
  const T = tokens.length;
  const row = Array.from({ length: T }, (_, key) => weights[block][head][at * T + key]);
  const weight = Math.max(...row);
  return { head, key: row.indexOf(weight), weight };
}

/**
 * The pass as a table: a row for each token, a column for each stage.
 * @param {Pass} pass
 */
export function asTable({ tokens, lens }) {
  const stages = lens.map((_, s) => (s ? stageName(s) : "embeddings"));
  return {
    caption: "What the model would say at each stage, for every token",
    columns: ["token", ...stages],
    rows: tokens.map((token, t) => [
      token,
      ...lens.map((row) => (row[t] ? `${row[t].name} ${fixed(row[t].p)}` : "not read")),
    ]),
  };
}

/** A probability, also a small one. @param {number} p */
export const share = (p) => (p && p < 0.005 ? "< 0.01" : fixed(p, 2));

/**
 * What comes of a pass, in a sentence or two.
 * @param {Pass} pass
 * @param {number} at
 */
export function outcome({ lens, tokens, next, nLayer }, at) {
  const [first, second] = next;
  const word = (/** @type {Next} */ { name, rest = "", p }) =>
    `${quoted(name + rest)} (${share(p)})`;
  const plain = (/** @type {{name: string, rest?: string, p: number}} */ { name, rest = "", p }) =>
    `“${bare(name + rest)}” (${share(p)})`;
  const then = `What comes next: ${word(first)}, and next likeliest is ${word(second)}.`;
  const early = lens[2]?.[at];
  const late = lens[2 * nLayer]?.[at];
  if (!early || !late) return then;
  if (at === tokens.length - 1) {
    const [a, b, c] = [early, first, second].map(plain);
    return `After block 0 the model would say ${a}. At the end it says ${b}, and next likeliest is ${c}.`;
  }
  return `After block 0 the model would say ${quoted(early.name)} at ${quoted(tokens[at])} (${share(early.p)}), at the end ${quoted(late.name)} (${share(late.p)}). ${then}`;
}
