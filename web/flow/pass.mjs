// What the picture of the whole shows of one pass through the model: read from the tape, or stored
// in the page, so that the first frame needs no weights.

import { fixed, quoted } from "../exhibits/dom.mjs";

/** @import { Noted } from "../tape.mjs" */
/** @import { model as PageModel } from "../exhibits/page_model.mjs" */

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
 * @property {number[][] | null} lit  of each block and token: how many units of the MLP
 * @property {number} units  of an MLP
 * @property {Next[]} next  after the last token
 * @property {Float64Array | null} shares  of every token, after the last
 * @property {ArrayLike<number>[]} vectors  the first numbers of each token's
 * @property {boolean} [stored]  it was not computed here
 * @property {string} [only]  what is stored of a run of another model, in a sentence
 * @property {string[]} [off]  heads that are cut
 * @property {Pass} [base]  the same without what is set by hand
 * @property {boolean} [whole]  each of `next` has its whole word
 * @property {((path: string) => Noted) | null} tensor  everything else, by its path
 */
/** @typedef {{id: number, name: string, p: number, rest?: string, sense?: "bird" | "machine",
 *   other?: number}} Next  `rest`: what makes a word of it; `other`: its share in a second pass */
/** @import { Senses } from "../exhibits/crane_world.mjs" */

export const LIT = 0.5; // a unit is lit above this
const FULL = 4e6; // numbers on a tape: a larger model's is read in part
const LOGITS = 1.5e7; // that the lens reads at once
const FIRST = 9; // numbers of a token's vector that are shown
const SHOWN = 6; // of what may come next

/**
 * Where the stream is read: behind the embeddings, and behind both parts of each block.
 * @param {number} nLayer
 */
export function stagePaths(nLayer) {
  const blocks = Array.from({ length: nLayer }, (_, n) => `transformer.h.${n}.`);
  return ["embd", ...blocks.flatMap((h) => [`${h}resid_mid`, `${h}resid_post`])];
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
 * @param {typeof PageModel} model
 * @param {{text: string, ids: number[], key: string, edits?: Record<string, any>,
 *   switches?: Record<string, any>, senses?: Senses | null, open?: number,
 *   through?: (asked: any) => Promise<import("../exhibits/page_model.mjs").Result | null>}} request  `open`: the block whose every tensor is wanted, of a
 *   large model; `through`: what runs it instead of the model
 * @returns {Promise<Pass | null>}  null: a newer request took its place
 */
export async function readPass(model, request) {
  const { text, ids, key, edits, switches, senses, open = -1 } = request;
  const { through = (/** @type {any} */ asked) => model.run(asked) } = request;
  const { nLayer, nHead, nEmbd: C } = model.present.config;
  const T = ids.length;
  const small = T * nLayer * (16 * C + 4 * nHead * T) < FULL;
  const record = small ? true : recorded(nLayer, open);
  const run = await through({ ids, key, record, edits, switches });
  if (!run) return null;
  const lens = await readLens(model, run.tensor, { T, key, senses, logits: run.logits });
  if (!lens) return null;
  const blocks = Array.from({ length: nLayer }, (_, n) => `transformer.h.${n}.`);
  const p = model.probabilities(run.logits);
  return {
    text,
    ids,
    tokens: ids.map((id) => model.show(id)),
    nLayer,
    nHead,
    weights: blocks.map((h) => {
      const { values } = run.tensor(`${h}attn.weights`);
      return Array.from({ length: nHead }, (_, i) => values.subarray(i * T * T, (i + 1) * T * T));
    }),
    lens,
    lit: blocks.map((h) => {
      const { values } = run.tensor(`${h}mlp.act`);
      const width = values.length / T;
      return ids.map((_, t) => {
        return values.subarray(t * width, (t + 1) * width).reduce((n, x) => n + Number(x > LIT), 0);
      });
    }),
    units: 4 * C,
    off: switches?.headsOff,
    shares: p,
    vectors: ids.map((_, t) => {
      const { values } = run.tensor("embd");
      return values.subarray(t * C, t * C + FIRST);
    }),
    next: model.best(p, SHOWN).map((guess) => ({ ...guess, sense: senseOf(guess.id, senses) })),
    tensor: (path) => run.tensor(path),
  };
}

/**
 * What is read of a large model.
 * @param {number} nLayer
 * @param {number} open
 */
function recorded(nLayer, open) {
  const parts = ["resid_mid", "resid_post", "attn.weights", "mlp.act"];
  const whole = "ln_1 attn.q attn.k attn.v attn.scores attn.masked_scores attn.heads attn.merged";
  const more = `${whole} attn.out ln_2 mlp.pre mlp.out`.split(" ");
  const blocks = Array.from({ length: nLayer }, (_, n) => n);
  const named = blocks.flatMap((n) => {
    return [...parts, ...(n === open ? more : [])].map((part) => `transformer.h.${n}.${part}`);
  });
  return ["tok_emb", "pos_emb", "embd", ...named, "ln_f", "logits"];
}

/**
 * @param {typeof PageModel} model
 * @param {(path: string) => Noted} tensor
 * @param {{T: number, key: string, senses?: Senses | null, logits: Float32Array}} more
 * @returns {Promise<(Said | null)[][] | null>}
 */
async function readLens(model, tensor, { T, key, senses, logits }) {
  const { nLayer, nEmbd: C, vocabSize: V } = model.present.config;
  const paths = stagePaths(nLayer);
  const from = paths.length * T * V > LOGITS ? T - 1 : 0; // of a large model the last token alone
  const many = T - from;
  const stream = new Float32Array(paths.length * many * C);
  paths.forEach((path, s) => {
    stream.set(tensor(path).values.subarray(from * C, T * C), s * many * C);
  });
  const read = await model.read(stream, `${key}, lens`);
  if (!read) return null;
  const winner = model.best(model.probabilities(logits), 1)[0].id;
  return paths.map((_, s) => [
    ...Array(from).fill(null),
    ...Array.from({ length: many }, (_, t) => {
      const p = model.probabilities(read, { t: s * many + t });
      const [{ name, p: most }] = model.best(p, 1);
      const sum = (/** @type {number[]} */ of = []) => of.reduce((all, id) => all + p[id], 0);
      const [bird, machine] = [sum(senses?.bird), sum(senses?.machine)];
      return { name, p: most, bird, machine, final: p[winner] };
    }),
  ]);
}

/**
 * @param {number} id
 * @param {Senses | null} [senses]
 * @returns {"bird" | "machine" | undefined}
 */
function senseOf(id, senses) {
  if (senses?.bird.includes(id)) return "bird";
  return senses?.machine.includes(id) ? "machine" : undefined;
}

const LONGEST = 6; // tokens of a word
const LARGE = 10_000; // tokens of a vocabulary in which nearly every word is one token

/**
 * What makes words of the tokens that may come next: as the model goes on with each.
 * @param {typeof PageModel} model
 * @param {Pass} pass
 * @returns {Promise<Pass | null>}  null: a newer request took its place
 */
export async function wholeWords(model, pass) {
  if (model.present.config.vocabSize > LARGE) return { ...pass, whole: true };
  const next = [];
  for (const one of pass.next) {
    const rest = one.p < 0.005 ? "" : await restOf(model, pass.ids, one);
    if (rest === null) return null;
    next.push({ ...one, rest });
  }
  return { ...pass, next, whole: true };
}

/**
 * What makes a word of a token, as the model goes on with it.
 * @param {typeof PageModel} model
 * @param {number[]} before  ids
 * @param {{id: number, name: string}} one
 * @returns {Promise<string | null>}  null: a newer request took its place
 */
export async function restOf(model, before, { id: first, name }) {
  const { tokenizer, config } = model.present;
  let rest = "";
  let ids = [...before, first].slice(-config.blockSize);
  const begun = /[a-z]$/i.test(name) && config.vocabSize <= LARGE;
  for (let n = 0; begun && n < LONGEST; n++) {
    const run = await model.run({ ids, key: "flow, words", lastOnly: true });
    if (!run) return null;
    const [{ id }] = model.best(model.probabilities(run.logits), 1);
    const more = id === tokenizer.eot ? "" : tokenizer.decode([id]);
    if (!/^[a-z]+$/i.test(more)) break;
    rest += more;
    ids = [...ids, id].slice(-config.blockSize);
  }
  return rest;
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
        return `head ${block}.${head} takes ${fixed(weight)} from ${tokens[key]}`;
      });
      told.push(`For ${tokens[at]}, ${list.join(", ")}.`);
    }
    const said = pass.lens[2 * block + 2]?.[at];
    if (said) told.push(`If it ended after block ${block}: ${said.name} (${fixed(said.p)}).`);
  }
  const [first] = pass.next;
  if (first) told.push(`What comes next: ${first.name}, with the probability ${fixed(first.p)}.`);
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
  const row = Array.from({ length: at + 1 }, (_, key) => weights[block][head][at * T + key]);
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

/**
 * What comes of a pass, in a sentence or two.
 * @param {Pass} pass
 * @param {number} at
 * @param {string[]} off  heads that are cut
 */
export function outcome({ lens, tokens, next, nLayer }, at, off) {
  const [first, second] = next;
  const then = `What comes next: ${quoted(first.name)} (${fixed(first.p, 2)}), then ${quoted(second.name)} (${fixed(second.p, 2)}).`;
  if (off.length) return `Without head${off.length > 1 ? "s" : ""} ${off.join(", ")}. ${then}`;
  const early = lens[2]?.[at];
  const late = lens[2 * nLayer]?.[at];
  if (!early || !late) return then;
  return `After block 0 the model would say ${quoted(early.name)} at ${quoted(tokens[at])} (${fixed(early.p, 2)}), at the end ${quoted(late.name)} (${fixed(late.p, 2)}). ${then}`;
}
