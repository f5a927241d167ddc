// Training: forward, loss, backward, clip, step; on one thread, in memory that is planned once.
//
// A batch is B rows of T tokens. They go through the graph one after the other, and their gradients
// add up: the tensors of one row fit into a processor's cache, and memory does not grow with B.

import { checkSwitches } from "../checks.mjs";
import { GPT2 } from "../model.mjs";
import { PlainBackend } from "../plain.mjs";
import { adamW, checkSettings, clip, DEFAULTS, factors, learningRate } from "./adamw.mjs";
import { Gradients } from "./backward.mjs";
import { Graph } from "./graph.mjs";
import { crossEntropy, shareOf } from "./loss.mjs";
import { initialise, makeParameters } from "./parameters.mjs";
import { Recording } from "./recording.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Switches } from "../model.mjs" */
/** @import { Tape } from "../tape.mjs" */
/** @import { Settings } from "./adamw.mjs" */
/** @import { Variable } from "./graph.mjs" */

/**
 * The arithmetic of a trainer in plain JavaScript; simd.mjs has a faster one.
 * @returns {{backend: PlainBackend, gradients: Gradients, crossEntropy: typeof crossEntropy,
 *   adamW: typeof adamW, sumOfSquares: (numbers: Float32Array) => number}}
 */
export function plainArithmetic() {
  const sumOfSquares = (/** @type {Float32Array} */ numbers) =>
    numbers.reduce((sum, n) => sum + n * n, 0);
  return {
    backend: new PlainBackend(),
    gradients: new Gradients(),
    crossEntropy,
    adamW,
    sumOfSquares,
  };
}

/**
 * A run that can be stored, and continued bit for bit.
 * @typedef {{step: number, weights: Float32Array, m: Float32Array, v: Float32Array}} State
 */

export class Trainer {
  /**
   * Plan a run: write down the forward pass and take all the memory that a step needs.
   * @param {Config} config
   * @param {ReturnType<typeof plainArithmetic>} arithmetic
   * @param {{T?: number, switches?: Switches, settings?: Partial<Settings>}} [options]  T: tokens
   *   of a row, at most the config's blockSize
   */
  static async start(config, arithmetic, { T = config.blockSize, switches = {}, settings } = {}) {
    checkSwitches(switches, config);
    checkSettings({ ...DEFAULTS, ...settings });
    try {
      const trainer = new Trainer(config, arithmetic, T, { ...DEFAULTS, ...settings });
      trainer.logits = await trainer.graph.record(config, trainer.model.weights, switches);
      trainer.run(trainer.ids, trainer.ids, 1); // so that scratch memory is there, too
      trainer.regions.grads.data.fill(0);
      return trainer;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error; // a browser's own, where memory ends
      throw new Error("this browser has no memory for such a run: choose a smaller model", {
        cause: error,
      });
    }
  }

  /**
   * @param {Config} config
   * @param {ReturnType<typeof plainArithmetic>} arithmetic
   * @param {number} T
   * @param {Settings} settings
   */
  constructor(config, arithmetic, T, settings) {
    const { backend, gradients } = arithmetic;
    const { parameters, weights, regions, decaying } = makeParameters(config, backend);
    this.config = config;
    this.arithmetic = arithmetic;
    this.T = T;
    this.settings = settings; // may change while it runs
    this.parameters = parameters; // by the names of PyTorch's state_dict
    this.regions = regions;
    this.decaying = decaying; // how many of the weights
    this.model = new GPT2(config, weights, /** @type {any} */ (backend)); // to write with
    this.ids = new Int32Array(T);
    this.targets = new Int32Array(T);
    this.graph = new Graph(backend, gradients, this.ids);
    /** @type {Variable?} */
    this.logits = null;
    this.steps = 0; // updates so far
  }

  /**
   * Random weights to begin with.
   * @param {() => number} random  from 0 to below 1
   * @param {number} [std]  0.02 in GPT-2; small models learn faster from 0.1
   */
  initialise(random, std = 0.02) {
    initialise(this.parameters, this.config, random, std);
  }

  /**
   * One update of the weights.
   * @param {ArrayLike<number>} ids  B rows of T tokens
   * @param {ArrayLike<number>} targets  the token after each, or IGNORED
   * @returns {{loss: number, norm: number, lr: number}}
   */
  step(ids, targets) {
    const loss = this.backward(ids, targets);
    return { loss, ...this.update() };
  }

  /**
   * The mean loss of a batch, in nats, and the gradients, in the parameters' `grad`. Where several
   * trainers share a batch, each gets the `count` of positions in all of it, and then losses and
   * gradients are to be added.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {{count?: number, tape?: Tape}} [options]  the tape records the tensors of the pass, and
   *   their gradients
   */
  backward(ids, targets, { count, tape } = {}) {
    const share = shareOf(ids, targets, this.T, this.config, count);
    this.regions.grads.data.fill(0);
    return this.run(ids, targets, share, tape && new Recording(tape, ids.length / this.T));
  }

  /**
   * The mean loss of a batch, in nats, without gradients.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   */
  loss(ids, targets) {
    const share = shareOf(ids, targets, this.T, this.config);
    let loss = 0;
    for (let row = 0; row < ids.length; row += this.T) loss += this.forward(ids, targets, row, 1);
    return loss * share;
  }

  /**
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {number} share  of a position in the mean
   * @param {Recording} [recording]
   */
  run(ids, targets, share, recording) {
    let loss = 0;
    for (let row = 0; row < ids.length; row += this.T) {
      if (recording) recording.row = row / this.T;
      loss += this.forward(ids, targets, row, share, recording);
      this.graph.backward(recording?.grads);
    }
    return loss * share;
  }

  /**
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {number} row  its first place
   * @param {number} share
   * @param {Recording} [recording]
   */
  forward(ids, targets, row, share, recording) {
    for (let t = 0; t < this.T; t++) {
      this.ids[t] = ids[row + t];
      this.targets[t] = targets[row + t];
    }
    this.graph.forward(recording?.values);
    const logits = /** @type {Variable} */ (this.logits);
    return this.arithmetic.crossEntropy(logits, this.targets, share);
  }

  /**
   * Clip the gradients, and take a step of AdamW. Throws an Error, and leaves the weights as they
   * are, if a gradient is not finite.
   * @returns {{norm: number, lr: number}}  the norm is that before clipping
   */
  update() {
    const { adamW, sumOfSquares } = this.arithmetic;
    const { settings, decaying } = this;
    let squares = 0;
    for (const { grad } of this.parameters.values()) squares += sumOfSquares(grad.data);
    const norm = Math.sqrt(squares);
    if (!Number.isFinite(norm)) {
      throw new Error("the gradients are not finite any more: take a lower learning rate");
    }
    const lr = learningRate(this.steps, settings);
    const scale = clip(norm, settings.gradClip);
    const all = Object.values(this.regions).map((region) => region.data);
    this.steps++;
    for (const [first, end, decay] of [
      [0, decaying, settings.weightDecay],
      [decaying, all[0].length, 0],
    ]) {
      const [w, g, m, v] = all.map((numbers) => numbers.subarray(first, end));
      adamW(w, g, m, v, factors(this.steps, lr, decay, scale, settings));
    }
    return { norm, lr };
  }

  /** @returns {State}  a copy of all that the next steps depend on, but for the data */
  state() {
    const { weights, m, v } = this.regions;
    return {
      step: this.steps,
      weights: weights.data.slice(),
      m: m.data.slice(),
      v: v.data.slice(),
    };
  }

  /** @param {State} state  of a run with the same config */
  restore({ step, ...regions }) {
    for (const [name, numbers] of Object.entries(regions)) {
      const own = this.regions[/** @type {keyof State & keyof typeof this.regions} */ (name)].data;
      if (numbers.length !== own.length) throw new Error("this run is of a model of other sizes");
      own.set(numbers);
    }
    this.steps = step;
  }

  /** Give all memory back: the trainer cannot be used any more, and holds nothing. */
  close() {
    for (const name of Object.keys(this)) Reflect.deleteProperty(this, name);
  }
}
