// A training run: the model and its data, with what is shown while it learns. It needs neither a page
// nor a worker: loop.mjs runs it in one, tests in Node.

import { readConfig } from "../config.mjs";
import { randomNumbers } from "../sampling.mjs";
import { IGNORED } from "../train/loss.mjs";
import { simdArithmetic } from "../train/simd.mjs";
import { Trainer } from "../train/trainer.mjs";
import { look, mark } from "./show.mjs";

/** @import { Settings } from "../train/adamw.mjs" */
/** @import { State } from "../train/state.mjs" */
/** @import { Partner } from "./share.mjs" */

/**
 * What is to be trained. Plain JSON: it is stored with the run, and without the text exported with
 * the model. The same plan gives the same bits; two workers add up in another order than one, so
 * their number belongs to it.
 * @typedef {object} Plan
 * @property {1} version
 * @property {string} name  of the model, as a reader sees it
 * @property {number} seed  from 0 to 65,535
 * @property {{nLayer: number, nHead: number, nEmbd: number, T: number}} model  T: the window
 * @property {number} batch  rows of T tokens in a step
 * @property {number} std  of the initial weights
 * @property {Settings} settings
 * @property {{mask?: boolean, positions?: boolean, layerNorm?: boolean}} switches
 * @property {1 | 2} workers
 * @property {DataPlan} data
 * @property {import("./rewarded.mjs").Reward} [reward]  then it learns from what it writes
 *
 * @typedef {{kind: "crane"} | {kind: "sentences"} |
 *   {kind: "text", unit: "characters" | "merges", vocabSize: number, text: string}} DataPlan
 */

/**
 * What web/text makes of a DataPlan. Everything is a pure function of its arguments, so a run that
 * continues needs no random state.
 * @typedef {object} Data
 * @property {number} vocabSize
 * @property {number} eot
 * @property {Uint8Array} merges  256 bytes, then two uint16 for each merge
 * @property {(seed: number, step: number, B: number, T: number) => Rows} rows  of a batch
 * @property {(T: number) => Rows} held  rows for validation
 * @property {(T: number) => {unigram: number, bigram: number, truth: number | null}} floors  losses
 *   in nats of simpler models on the rows for validation; truth: of the grammar itself
 * @property {((rows: Rows) => number) | null} truth  the grammar's own loss on rows
 * @property {number[]} prompt  that every sample begins with
 * @property {{ids: number[], tokens: string[]}} show  the text of the attention maps
 * @property {(ids: number[]) => string} decode
 * @property {((text: string) => Verdict) | null} judge
 * @property {string} note  what was done to the text, or ""
 *
 * @typedef {{ids: Int32Array, targets: Int32Array}} Rows
 * @typedef {{kind: "story" | "sentence" | null, failsAt: number | null, read: number,
 *   expected: string[]}} Verdict  read: the share of the text before failsAt
 */

/**
 * Progress, about four times a second.
 * @typedef {object} Report
 * @property {number} step  updates so far
 * @property {number} loss  mean since the last report, in nats
 * @property {number} norm  of the last gradient, before clipping
 * @property {number} lr
 * @property {number} tokens  trained on so far
 * @property {number} ms  spent on training steps so far
 */

/**
 * A sample and the loss on the rows for validation, every four seconds. The verdict is null where
 * the data have no judge.
 * @typedef {{step: number, story: string, failsAt: number | null, read: number | null,
 *   right: boolean | null, expected: string[], held: number}} Mark
 */

/**
 * What attention and gradients look like, once a second.
 * @typedef {object} Look
 * @property {number} step
 * @property {Float32Array[]} heads  attention weights (T, T) of data.show, block after block
 * @property {{name: string, largest: number}[]} layers  the largest gradient of the last step in
 *   wte, wpe, each block (h.0, …) and ln_f
 */

/**
 * A run as the browser stores it.
 * @typedef {object} Saved
 * @property {1} version
 * @property {number} at  Date.now()
 * @property {Plan} plan
 * @property {Uint8Array} merges
 * @property {number} step
 * @property {State} state  with the settings in force
 * @property {number} ms
 * @property {Report[]} reports
 * @property {Mark[]} marks
 */

/**
 * What a page is told of a run (client.mjs).
 * @typedef {"running" | "paused" | "stopped" | "failed"} Status
 * @typedef {object} Listeners
 * @property {(report: Report) => void} report
 * @property {(mark: Mark) => void} mark
 * @property {(look: Look) => void} look
 * @property {(data: {share: number, what: string}) => void} making  share: from 0 to 1
 * @property {(event: {step: number, good: number, says: string}) => void} diverged  good: the step
 *   that `back` returns to
 * @property {(event: {step: number}) => void} done
 * @property {(sentence: string) => void} said  what a reader should know
 * @property {(status: Status) => void} state
 */

const WINDOW = 20; // losses that are averaged to see whether a run diverges
const RISE = 2; // nats above the best such mean, from which on it does
const NOISE = 0.3; // nats above it, within which a state is good to return to

/**
 * @param {Plan} plan
 * @param {number} vocabSize
 */
export function configOf({ model: { nLayer, nHead, nEmbd, T } }, vocabSize) {
  const sizes = { n_layer: nLayer, n_head: nHead, n_embd: nEmbd, n_positions: T };
  return readConfig(JSON.stringify({ ...sizes, vocab_size: vocabSize }));
}

export class Run {
  /**
   * A run at its beginning, or from where it was saved.
   * @param {Plan} plan
   * @param {Data} data
   * @param {{state?: State, ms?: number, weights?: Float32Array,
   *   makeArithmetic?: typeof simdArithmetic}} [from]  weights: to begin with, in place of random ones
   */
  static async open(plan, data, { state, ms = 0, weights, makeArithmetic = simdArithmetic } = {}) {
    const { switches, settings, model } = plan;
    const config = configOf(plan, data.vocabSize);
    const from = state ? { state } : { settings };
    const trainer = await Trainer.start(config, makeArithmetic, { T: model.T, switches, ...from });
    if (!state) {
      trainer.initialise(randomNumbers(plan.seed), plan.std);
      if (weights) trainer.restore({ ...trainer.state(), weights });
    }
    return new this(plan, data, trainer, ms);
  }

  /**
   * @param {Plan} plan
   * @param {Data} data
   * @param {Trainer} trainer
   * @param {number} ms
   */
  constructor(plan, data, trainer, ms) {
    this.plan = plan;
    this.data = data;
    this.trainer = trainer;
    this.ms = ms;
    this.ceiling = Math.log(data.vocabSize) + 1; // a nat above the loss of a uniform guess
    this.good = trainer.state(); // to return to when the run diverges
    this.next = this.good; // takes its place when the losses after it are good, too
    this.lost = false; // it has diverged
    /** @type {number[]} */
    this.losses = []; // the last WINDOW
    /** @type {number[]} */
    this.unreported = [];
    this.best = Infinity; // mean of WINDOW losses
  }

  get step() {
    return this.trainer.steps;
  }

  /**
   * One update of the weights, with a partner on this worker's part of the batch. Returns "", or
   * how the run diverged.
   * @param {Partner} [partner]
   */
  async advance(partner) {
    const { plan, data, trainer } = this;
    const { T } = plan.model;
    const begun = performance.now();
    const { ids, targets } = data.rows(plan.seed, trainer.steps, plan.batch, T);
    const [first, end] = (partner?.rows(plan.batch) ?? [0, plan.batch]).map((row) => row * T);
    const count = targets.reduce((sum, target) => sum + Number(target !== IGNORED), 0);
    const own = [ids, targets].map((all) => all.subarray(first, end));
    const part = trainer.backward(own[0], own[1], { count });
    const loss = partner ? await partner.add(trainer, part) : part;
    if (!Number.isFinite(loss)) return this.diverged(loss);
    try {
      this.last = trainer.update();
    } catch {
      return this.diverged(Infinity); // the gradients are not finite, and the weights as before
    }
    this.ms += performance.now() - begun;
    return this.follow(loss);
  }

  /** @param {number} loss  of a step */
  follow(loss) {
    this.ceiling = Math.max(this.ceiling, this.step === 1 ? loss + 1 : 0);
    this.unreported.push(loss);
    this.losses = [...this.losses, loss].slice(-WINDOW);
    if (this.losses.length < WINDOW) return "";
    this.best = Math.min(this.best, this.recent);
    const limit = Math.min(this.ceiling, this.best + RISE);
    return this.recent > limit ? this.diverged(this.recent) : "";
  }

  /** The mean of the last losses. */
  get recent() {
    return mean(this.losses);
  }

  /**
   * @param {number} loss
   * @returns {string}  what happened
   */
  diverged(loss) {
    this.lost = true;
    const { lr } = this.last ?? this.trainer.settings;
    const rose = Number.isFinite(loss)
      ? `the loss rose to ${Number(loss.toPrecision(2))}`
      : "the loss became infinite";
    return (
      `At step ${this.step} ${rose}: with a learning rate of ${Number(lr.toPrecision(2))}, each step ` +
      `moves every weight by about ${Number(lr.toPrecision(2))}, and weights began near ${this.plan.std}.`
    );
  }

  /** Return to the last good state, with at most a third of the learning rate that led away. */
  back() {
    const { lr } = this.trainer.settings;
    this.trainer.restore(this.good);
    this.trainer.change({ lr: Math.min(this.trainer.settings.lr, lr / 3) });
    this.next = this.good;
    this.lost = false;
    this.losses = [];
    this.unreported = [];
    this.best = Infinity;
  }

  /** A copy of what continuing depends on, or the last good one if the run has diverged. */
  save() {
    const { lost, losses, next, step, ms } = this;
    const state = lost ? this.good : this.trainer.state();
    const fine = losses.length === WINDOW && this.recent <= this.best + NOISE;
    // A loss says nothing of the update after it.
    if (!lost && fine && step >= next.step + WINDOW) {
      this.good = next;
      this.next = state;
    }
    return { state, ms };
  }

  /** @returns {Promise<object | null>}  what is written now, or null */
  mark() {
    return mark(this);
  }

  /** @returns {Promise<object | null>}  what is inside, or null */
  look() {
    return look(this);
  }

  /** @returns {object | null}  null if no step was made since the last */
  report() {
    if (!this.last || !this.unreported.length) return null;
    const { plan, step, ms } = this;
    const loss = mean(this.unreported);
    this.unreported = [];
    return { step, loss, ...this.last, tokens: step * plan.batch * plan.model.T, ms };
  }
}

/** @param {number[]} numbers */
export const mean = (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
