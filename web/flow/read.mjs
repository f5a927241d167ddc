// A pass that the model computes, read from its tape.

import { LARGE, restOf } from "../exhibits/rest_of.mjs";
import { nextTask } from "../tasks.mjs";
import { lengthOf } from "./cells.mjs";
import { isLit, stagePaths } from "./pass.mjs";

/** @import { Noted } from "../tape.mjs" */
/** @import { model as PageModel } from "../exhibits/page_model.mjs" */
/** @import { Senses } from "../exhibits/crane_world.mjs" */
/** @import { Pass, Said } from "./pass.mjs" */

const FULL = 4e6; // numbers on a tape: a larger model's is read in part
const LOGITS = 1.5e7; // that the lens reads at once
const BREATH = 2e4; // that are worked on without a pause
const FIRST = 9; // numbers of a token's vector that are shown
const SHOWN = 6; // of what may come next

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
  const { nLayer, nHead, nEmbd: C, nInner, llama } = model.present.config;
  const T = ids.length;
  const small = T * nLayer * (16 * C + 4 * nHead * T) < FULL;
  const record = small ? true : recorded(nLayer, open, Boolean(llama));
  const run = await through({ ids, key, record, edits, switches });
  if (!run) return null;
  const lens = await readLens(model, run.tensor, { T, key, senses, logits: run.logits });
  if (!lens) return null;
  const blocks = Array.from({ length: nLayer }, (_, n) => `transformer.h.${n}.`);
  const p = model.probabilities(run.logits);
  return {
    text,
    ids,
    tokens: model.names(ids),
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
        const units = values.subarray(t * width, (t + 1) * width);
        return Array.from(units.keys()).filter((unit) => isLit(units[unit]));
      });
    }),
    units: nInner,
    lengths: stagePaths(nLayer).map((path) => {
      const { values } = run.tensor(path);
      return ids.map((_, t) => lengthOf(values.subarray(t * C, (t + 1) * C)));
    }),
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
 * @param {boolean} llama
 */
function recorded(nLayer, open, llama) {
  const parts = ["resid_mid", "resid_post", "attn.weights", "mlp.act"];
  const whole = "ln_1 attn.q attn.k attn.v attn.scores attn.masked_scores attn.heads attn.merged";
  const more = `${whole} attn.out ln_2 mlp.pre mlp.out`.split(" ");
  const blocks = Array.from({ length: nLayer }, (_, n) => n);
  const named = blocks.flatMap((n) => {
    return [...parts, ...(n === open ? more : [])].map((part) => `transformer.h.${n}.${part}`);
  });
  const begin = llama ? [] : ["tok_emb", "pos_emb"];
  return [...begin, "embd", ...named, "ln_f", "logits"];
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
  const lens = [];
  let since = 0; // the last pause: numbers
  for (let s = 0; s < paths.length; s++) {
    if (since > BREATH) {
      await nextTask(); // the page goes on meanwhile
      since = 0;
    }
    since += many * V;
    const said = Array.from({ length: many }, (_, t) => {
      const p = model.probabilities(read, { t: s * many + t });
      const [{ name, p: most }] = model.best(p, 1);
      const sum = (/** @type {number[]} */ of = []) => of.reduce((all, id) => all + p[id], 0);
      const [bird, machine] = [sum(senses?.bird), sum(senses?.machine)];
      return { name, p: most, bird, machine, final: p[winner] };
    });
    lens.push([...Array(from).fill(null), ...said]);
  }
  return lens;
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
