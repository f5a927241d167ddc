// A run that learns from what it writes: a group of texts, a reward for each, one update of the weights,
// the next group. This is `learn` of gpt2_edu/tuning/reward.py with one group a step.

import { PLOTS, plotOf } from "../language/plots.mjs";
import { IGNORED } from "../train/loss.mjs";
import { Run, mean } from "./run.mjs";

/** @import { Trainer } from "../train/trainer.mjs" */
/** @import { Data, Plan } from "./run.mjs" */

/**
 * @typedef {object} Reward
 * @property {"right" | "cranes" | "short" | "word"} kind  1 for a right text and else 0; the number of
 *   cranes; the share of the window that a text leaves free; how often a word occurs
 * @property {string} word
 * @property {number} rein  β, the weight of the divergence from the model that the run began with
 * @property {number} group  texts of a group, two or more
 *
 * @typedef {object} Written  a text with its marks
 * @property {number[]} ids  without the prompt; the last is the end, if it came
 * @property {string} text
 * @property {boolean} ended
 * @property {boolean} right
 * @property {number | null} failsAt  where no text of the language continues like this
 * @property {number} reward
 *
 * @typedef {object} Group  what is told of one: means over its texts, or its tokens
 * @property {number} reward
 * @property {number} right  a share
 * @property {number} entropy  of the predictions, nats per token
 * @property {number} divergence  of the predictions from those of the model that the run began with
 * @property {number} length  tokens
 * @property {number[]} plots  the share of right texts with each of PLOTS
 * @property {number} alike  1 if all rewards were equal, so that nothing could be learned from them
 */

/**
 * @param {Pick<Reward, "kind" | "word">} how
 * @param {Pick<Written, "ids" | "text" | "right">} written
 * @param {number} T  the window
 */
export function rewardOf({ kind, word }, { ids, text, right }, T) {
  if (kind === "right") return Number(right);
  if (kind === "short") return 1 - ids.length / T;
  return kind === "cranes" ? text.split("crane").length - 1 : occurrences(word, text);
}

/**
 * How often a word, or several in a row, occurs in a text, in capital letters or small ones.
 * @param {string} word
 * @param {string} text
 */
export function occurrences(word, text) {
  const literal = word.trim().replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  if (!literal) return 0;
  const whole = new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, "giu");
  return text.match(whole)?.length ?? 0;
}

/**
 * How far each reward is above the mean of its group: the baseline.
 * @param {number[]} rewards
 */
export function advantages(rewards) {
  const baseline = mean(rewards);
  return rewards.map((one) => one - baseline);
}

export class Rewarded extends Run {
  /**
   * Weights are those that the run began with, also where it continues from a state.
   * @param {Plan} plan
   * @param {Data} data
   * @param {Parameters<typeof Run.open>[2]} [from]
   */
  static async open(plan, data, from = {}) {
    const run = /** @type {Rewarded} */ (await super.open(plan, data, from));
    if (from.weights) run.copy = from.weights;
    return run;
  }

  /**
   * @param {Plan} plan
   * @param {Data} data
   * @param {Trainer} trainer
   * @param {number} ms
   */
  constructor(plan, data, trainer, ms) {
    super(plan, data, trainer, ms);
    this.reward = /** @type {Reward} */ (plan.reward);
    this.copy = trainer.state().weights;
    this.skipped = 0; // groups from which nothing could be learned
    /** @type {Written[]} */
    this.group = []; // that is being written
    /** @type {(Written & {advantage: number})[]} */
    this.marked = []; // the last one
    /** @type {Group[]} */
    this.untold = [];
  }

  get step() {
    return super.step + this.skipped;
  }

  /** Write one text more; when the group is complete, learn from it. */
  async advance() {
    const begun = performance.now();
    this.group.push(await this.write());
    const says = this.group.length < this.reward.group ? "" : this.learn();
    this.ms += performance.now() - begun;
    return says;
  }

  /** @returns {Promise<Written>} */
  async write() {
    const { data, plan, reward, trainer } = this;
    const { prompt, eot } = data;
    const { T } = plan.model;
    const seed = (plan.seed + 1) * 2 ** 32 + this.step * reward.group + this.group.length;
    const ids = await trainer.write(prompt, T + 1 - prompt.length, { seed, eosId: eot });
    const text = data.decode(ids.filter((id) => id !== eot));
    const ended = ids[ids.length - 1] === eot;
    const { kind, failsAt } = /** @type {NonNullable<Data["judge"]>} */ (data.judge)(text);
    const written = { ids, text, ended, right: ended && kind !== null, failsAt };
    return { ...written, reward: rewardOf(reward, written, T) };
  }

  /** One update from a complete group. Returns "", or how the run diverged. */
  learn() {
    const { copy, group, trainer } = this;
    const { rein } = this.reward;
    const rewards = group.map((one) => one.reward);
    const above = advantages(rewards);
    const { ids, targets, weights } = this.rows(above);
    const { entropy, divergence } = trainer.policy(ids, targets, weights, { rein, copy });
    const alike = rewards.every((one) => one === rewards[0]);
    if (alike && !rein)
      this.skipped++; // AdamW's averages would still move the weights
    else {
      try {
        this.last = trainer.update();
      } catch {
        return this.diverged(Infinity); // the weights are as before
      }
    }
    this.untold.push({
      reward: mean(rewards),
      right: mean(group.map((one) => Number(one.right))),
      entropy,
      divergence,
      length: mean(group.map((one) => one.ids.length)),
      plots: shares(group.map(({ right, text }) => (right ? plotOf(text) : null))),
      alike: Number(alike),
    });
    this.marked = group.map((one, i) => ({ ...one, advantage: above[i] }));
    this.group = [];
    return "";
  }

  /**
   * A row for each text: the prompt and the text, the token after each, and its weight. That of the
   * prompt is nobody's choice, and ignored.
   * @param {number[]} above  by text
   */
  rows(above) {
    const { T } = this.plan.model;
    const { prompt, eot } = this.data;
    const size = this.group.length * T;
    const ids = new Int32Array(size).fill(eot);
    const targets = new Int32Array(size).fill(IGNORED);
    const weights = new Float32Array(size);
    this.group.forEach((one, i) => {
      ids.set([...prompt, ...one.ids.slice(0, -1)], i * T);
      targets.set(one.ids, i * T + prompt.length - 1);
      weights.fill(above[i], i * T, (i + 1) * T);
    });
    return { ids, targets, weights };
  }

  /** The means since the last report. */
  report() {
    const { untold, step, ms, reward } = this;
    if (!untold.length) return null;
    this.untold = [];
    const of = (/** @type {Exclude<keyof Group, "plots">} */ name) =>
      mean(untold.map((one) => one[name]));
    return {
      step,
      ms,
      texts: untold.length * reward.group,
      reward: of("reward"),
      right: of("right"),
      entropy: of("entropy"),
      divergence: of("divergence"),
      length: of("length"),
      alike: of("alike"),
      plots: PLOTS.map((_, i) => mean(untold.map(({ plots }) => plots[i]))),
    };
  }

  /** The texts of the last group, and what the model has forgotten: its loss on true stories. */
  async mark() {
    if (!this.marked.length) return null;
    const { data, plan, step } = this;
    const { ids, targets } = firstTexts(data.held(plan.model.T), plan.model.T, data.eot);
    const floor = data.truth?.({ ids, targets }) ?? 0;
    const nats = this.trainer.loss(ids, targets) - floor;
    const texts = this.marked.map(({ text, right, ended, failsAt, reward, advantage }) => {
      return { text, right, ended, failsAt, reward, advantage };
    });
    return { step, texts, nats };
  }

  /** Attention is not followed here. */
  async look() {
    return null;
  }
}

/**
 * The same rows, in which only the first text of each counts: the others come after an end, as none
 * does that the model writes.
 * @param {import("./run.mjs").Rows} rows
 * @param {number} T
 * @param {number} eot
 */
function firstTexts({ ids, targets }, T, eot) {
  let over = false;
  const first = targets.map((target, t) => {
    if (t % T === 0) over = false;
    const counts = !over;
    over ||= target === eot;
    return counts ? target : IGNORED;
  });
  return { ids, targets: first };
}

/** @param {(string | null)[]} found */
function shares(found) {
  return PLOTS.map((name) => found.filter((one) => one === name).length / found.length);
}
