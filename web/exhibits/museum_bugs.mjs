// The museum's bugs in the page's model: switches of the engine, or tensors that are made anew on the
// way from what stands before them, as gpt2_edu/analysis/bugs.py does with edits.

import { softmax } from "../numbers.mjs";
import { thrower } from "./knobs.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Noted } from "../tape.mjs" */
/** @import { Result } from "./page_model.mjs" */
/** @typedef {(request: Record<string, any>) => Promise<Result | null>} Run */
/**
 * What a bug is met with: tokens, how many of them were not written by the model itself, chance.
 * @typedef {{ids: number[], prompt: number, seed: number, config: Config}} Pass
 */
/** @typedef {Pass & {random: () => number, learned: Record<string, Float32Array>}} Context */
/** @typedef {{see: string[], to: string, make: (...seen: Noted[]) => Float32Array}} Exchange */
/**
 * `stages` come one after the other, since each sees what the ones before have done. `learn` gives
 * paths whose tensors are needed when these others are put in their places.
 * @typedef {{switches?: object, edits?: (context: Context) => object,
 *   stages?: (context: Context) => Exchange[][], learn?: (run: Run, pass: Pass) =>
 *   Promise<Record<string, Float32Array> | null>, logits?: (row: Float32Array) => Float32Array}} Bug
 */

const block = (/** @type {number} */ n) => `transformer.h.${n}.`;
const blocks = (/** @type {Pass} */ { config }) =>
  Array.from({ length: config.nLayer }, (_, n) => n);
const DROPPED = 0.1;
const BEFORE_MASK = -4; // stands for -10,000

/** @type {Record<string, Bug>} */
export const BUGS = {
  "no mask": { switches: { mask: false } },
  "mask after softmax": {
    stages: ofScores("weights", (row, t) => softmax(row.slice()).map((w, j) => (j > t ? 0 : w))),
  },
  "finite mask": {
    stages: ofScores("masked_scores", (row, t) => row.map((s, j) => (j > t ? BEFORE_MASK : s))),
  },
  "wrong view": {
    stages: (pass) =>
      blocks(pass).map((n) => ["q", "k", "v"].map((x) => inPlace(`${block(n)}attn.${x}`, view))),
  },
  "positions forgotten": { switches: { positions: false } },
  "softmax before cross-entropy": { logits: (row) => softmax(row.slice()) },
  "dropout left on": {
    stages: (context) => {
      const drop = (/** @type {Noted} */ { values }) =>
        values.map((x) => (context.random() < DROPPED ? 0 : x / (1 - DROPPED)));
      const added = blocks(context).flatMap((n) => [`${block(n)}attn.out`, `${block(n)}mlp.out`]);
      return ["embd", ...added].map((path) => [inPlace(path, drop)]);
    },
  },
  "transposed Conv1D": { learn: projections, stages: turned },
  "cache with the wrong mask": {
    stages: (context) =>
      context.prompt >= context.ids.length
        ? []
        : ofScores("masked_scores", (row, t) =>
            row.map((s, j) => (j > (t < context.prompt ? t : 0) ? -Infinity : s)),
          )(context),
  },
  "scale by C": {
    edits: (pass) => {
      const scale = pass.config.nHead ** -0.5;
      return Object.fromEntries(blocks(pass).map((n) => [`${block(n)}attn.scores`, { scale }]));
    },
  },
  "ε outside the root": {
    learn: biases,
    stages: norms((v, eps) => Math.sqrt(v + eps) / (Math.sqrt(v) + eps)),
  },
  "unbiased variance": {
    learn: biases,
    stages: norms((v, eps, C) => Math.sqrt((v + eps) / ((v * C) / (C - 1) + eps))),
  },
  "erf for tanh": { switches: { gelu: "erf" } },
};

/** What was learned of a model @type {WeakMap<Config, Map<string, Record<string, Float32Array>>>} */
const known = new WeakMap();

/**
 * One pass of the model with a bug; null if a newer one took its place. Names without a bug of the
 * forward pass are passes of the right model.
 * @param {Run} run
 * @param {string} name
 * @param {Pass} pass
 * @param {Record<string, any>} request  what else the pass is asked for
 */
export async function meet(run, name, pass, request) {
  const { ids, config } = pass;
  const { switches, edits: first, stages, learn, logits } = BUGS[name] ?? {};
  const ours = known.get(config) ?? new Map();
  known.set(config, ours);
  if (learn && !ours.has(name)) {
    const learned = await learn(run, pass);
    if (!learned) return null;
    ours.set(name, learned);
  }
  const context = { ...pass, random: thrower(pass.seed), learned: ours.get(name) ?? {} };
  const edits = /** @type {Record<string, any>} */ (first?.(context) ?? {});
  for (const stage of stages?.(context) ?? []) {
    const record = stage.flatMap(({ see }) => see);
    const seen = await run({ ids, switches, edits, record, lastOnly: true });
    if (!seen) return null;
    for (const { see, to, make } of stage) edits[to] = make(...see.map(seen.tensor));
  }
  const result = await run({ ids, switches, edits, ...request });
  if (!result || !logits) return result;
  return { ...result, logits: rows(result.logits, config.vocabSize, logits) };
}

/**
 * @param {Float32Array} values
 * @param {number} width
 * @param {(row: Float32Array, index: number) => ArrayLike<number>} make
 */
function rows(values, width, make) {
  const made = new Float32Array(values.length);
  for (let at = 0; at < values.length; at += width) {
    made.set(make(values.subarray(at, at + width), at / width), at);
  }
  return made;
}

/**
 * In every block, each query's row of scores becomes one of a later tensor.
 * @param {string} to
 * @param {(row: Float32Array, t: number) => Float32Array} make
 * @returns {(pass: Pass) => Exchange[][]}
 */
function ofScores(to, make) {
  return (pass) =>
    blocks(pass).map((n) => [
      {
        see: [`${block(n)}attn.scores`],
        to: `${block(n)}attn.${to}`,
        make: ({ values, shape }) => rows(values, shape[3], (row, i) => make(row, i % shape[2])), // (1, H, T, S)
      },
    ]);
}

/**
 * @param {string} path
 * @param {(noted: Noted) => Float32Array} make
 * @returns {Exchange}
 */
function inPlace(path, make) {
  return { see: [path], to: path, make };
}

/**
 * The heads as x.view(B, H, T, D) cuts them, where they should be split and then transposed.
 * @param {Noted} noted  (1, H, T, D)
 */
function view({ values, shape: [, H, T, D] }) {
  return values.map((_, i) => {
    const [token, rest] = [Math.floor(i / (H * D)), i % (H * D)];
    return values[(Math.floor(rest / D) * T + token) * D + (rest % D)];
  });
}

/**
 * attn.c_proj (C, C) of each block, as the engine's answer to the rows of the identity.
 * @param {Run} run
 * @param {Pass} pass
 */
async function projections(run, pass) {
  const { nEmbd: C, blockSize } = pass.config;
  if (C > blockSize) throw new Error(`${C} rows do not fit into a window of ${blockSize} tokens`);
  const out = blocks(pass).map((n) => `${block(n)}attn.out`);
  const ask = async (/** @type {number} */ one) => {
    const identity = new Float32Array(C * C);
    for (let i = 0; i < C; i++) identity[i * (C + 1)] = one;
    const edits = Object.fromEntries(blocks(pass).map((n) => [`${block(n)}attn.merged`, identity]));
    return run({ ids: Array(C).fill(0), edits, record: out, lastOnly: true });
  };
  const [nothing, all] = [await ask(0), await ask(1)];
  if (!nothing || !all) return null;
  return Object.fromEntries(
    out.flatMap((path) => {
      const bias = nothing.tensor(path).values.slice(0, C);
      return [
        [path, all.tensor(path).values.map((x, i) => x - bias[i % C])],
        [`${path} bias`, bias],
      ];
    }),
  );
}

/**
 * @param {Context} context
 * @returns {Exchange[][]}
 */
function turned(context) {
  const C = context.config.nEmbd;
  return blocks(context).map((n) => {
    const to = `${block(n)}attn.out`;
    const [stored, bias] = [context.learned[to], context.learned[`${to} bias`]];
    const times = (/** @type {Float32Array} */ row) =>
      bias.map((b, o) => row.reduce((sum, x, i) => sum + x * stored[o * C + i], b));
    return [{ see: [`${block(n)}attn.merged`], to, make: ({ values }) => rows(values, C, times) }];
  });
}

/**
 * Each LayerNorm with what it is given.
 * @param {Pass} pass
 * @returns {[string, string][]}
 */
function pairs(pass) {
  const inBlocks = blocks(pass).map((n) => [`${block(n)}resid_mid`, `${block(n)}ln_2`]);
  const streams = ["embd", ...blocks(pass).map((n) => `${block(n)}resid_post`)];
  const others = streams.map((path, n) => [path, n < inBlocks.length ? `${block(n)}ln_1` : "ln_f"]);
  const all = others.flatMap((pair, n) => (inBlocks[n] ? [pair, inBlocks[n]] : [pair]));
  return /** @type {[string, string][]} */ (all);
}

/**
 * The biases of all LayerNorms: what they make of zeros.
 * @param {Run} run
 * @param {Pass} pass
 */
async function biases(run, pass) {
  const zeros = new Float32Array(pass.config.nEmbd);
  const edits = Object.fromEntries(pairs(pass).map(([from]) => [from, zeros]));
  const record = pairs(pass).map(([, to]) => to);
  const seen = await run({ ids: [0], edits, record, lastOnly: true });
  return seen && Object.fromEntries(record.map((path) => [path, seen.tensor(path).values]));
}

/**
 * LayerNorms whose result, but for the bias, is too large or too small.
 * @param {(variance: number, eps: number, C: number) => number} times
 * @returns {(context: Context) => Exchange[][]}
 */
function norms(times) {
  return (context) => {
    const { nEmbd: C, layerNormEpsilon: eps } = context.config;
    const of = (/** @type {Float32Array} */ x) => {
      const mean = x.reduce((a, b) => a + b, 0) / C;
      return times(x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / C, eps, C);
    };
    return pairs(context).map(([from, to]) => [
      {
        see: [from, to],
        to,
        make: (x, y) => {
          const bias = context.learned[to];
          return rows(y.values, C, (row, t) => {
            const factor = of(x.values.subarray(t * C, (t + 1) * C));
            return row.map((one, i) => bias[i] + factor * (one - bias[i]));
          });
        },
      },
    ]);
  };
}
