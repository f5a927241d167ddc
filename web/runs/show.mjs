// What is shown of a run while it learns: samples and their verdicts, attention, gradients.

import { Tape } from "../tape.mjs";
import { fromMerges } from "../tokenizer.mjs";

/** @import { Look, Mark, Run } from "./run.mjs" */

const SAMPLES = 20; // whose share of right ones is told
const LONG = 160; // tokens that are written in one go where nobody judges

/**
 * A sample from the data's prompt, and the loss on the rows for validation; null where logits are not
 * finite: then no token can be drawn, and the run is about to end.
 * @param {Run} run
 * @returns {Promise<Mark | null>}
 */
export async function mark(run) {
  const { ids, targets } = run.data.held(run.plan.model.T);
  const written = await sample(run, run.data.prompt, run.step).catch(() => null);
  if (!written) return null;
  const { text, ...verdict } = written;
  return { step: run.step, story: text, ...verdict, held: run.trainer.loss(ids, targets) };
}

/**
 * How many of 20 samples are right.
 * @param {Run} run
 */
export async function judge(run) {
  let right = 0;
  for (let i = 0; i < SAMPLES; i++) {
    right += Number((await sample(run, run.data.prompt, SAMPLES * run.step + i)).right);
  }
  return { right, of: SAMPLES, step: run.step };
}

/**
 * Continue a text. Where there is a judge, it ends with the window; else the oldest tokens are
 * forgotten when the window is full.
 * @param {Run} run
 * @param {string} text  of which the last tokens count, if it is longer than the window
 * @param {number} seed
 * @returns {Promise<Omit<Mark, "step" | "story" | "held"> & {text: string, forgot?: boolean}>}
 */
export async function write(run, text, seed) {
  const { merges, eot, decode, judge } = run.data;
  const { T } = run.plan.model;
  const pairs = new Uint16Array(merges.slice(256).buffer);
  const own = fromMerges(merges.subarray(0, 256), pairs).encode(text);
  if (judge) return sample(run, [eot, ...own.slice(-(T - 1))], seed);
  const prompt = [eot, ...own].slice(-T);
  const how = /** @type {const} */ ({ temperature: 1, seed, eosId: eot, overflow: "crop" });
  const ids = await run.trainer.write(prompt, LONG, how);
  const forgot = 1 + own.length + ids.length > T;
  return { ...unjudged(text + decode(ids)), forgot };
}

/**
 * Write on until the text ends or fills the window, and judge it.
 * @param {Run} run
 * @param {number[]} prompt
 * @param {number} seed
 */
async function sample({ data: { eot, decode, judge }, plan, trainer }, prompt, seed) {
  const most = plan.model.T + 1 - prompt.length;
  const ids = await trainer.write(prompt, most, { temperature: 1, seed, eosId: eot });
  const text = decode([...prompt, ...ids].filter((id) => id !== eot));
  if (!judge) return unjudged(text);
  const { kind, ...verdict } = judge(text);
  return { text, ...verdict, right: kind !== null };
}

/** @param {string} text */
function unjudged(text) {
  return { text, failsAt: null, read: null, expected: [], right: null };
}

/**
 * @param {Run} run
 * @returns {Promise<Look>}
 */
export async function look({ data, plan, step, trainer }) {
  const { ids } = data.show;
  const [T, H] = [ids.length, plan.model.nHead];
  const tape = new Tape({}, (path) => path.endsWith("attn.weights"));
  await trainer.model.forward(ids, { tape, switches: plan.switches, lastOnly: true });
  const heads = [...tape.noted.values()].flatMap(({ values }) =>
    Array.from({ length: H }, (_, h) => values.slice(h * T * T, (h + 1) * T * T)),
  );
  /** @type {Map<string, number>} */
  const largest = new Map();
  for (const [name, { grad }] of trainer.parameters) {
    const layer = name
      .split(".")
      .slice(1, name.includes(".h.") ? 3 : 2)
      .join("."); // without transformer
    largest.set(layer, Math.max(largest.get(layer) ?? 0, largestOf(grad.data)));
  }
  return { step, heads, layers: [...largest].map(([name, largest]) => ({ name, largest })) };
}

/** @param {Float32Array} numbers */
function largestOf(numbers) {
  let most = 0;
  for (let i = 0; i < numbers.length; i++) most = Math.max(most, Math.abs(numbers[i]));
  return most;
}
