// Training: forward, loss, backward, clip, step; on one thread, in memory that is planned once.
//
// A batch is B rows of T tokens. They go through the graph one after the other, and their gradients
// add up: the tensors of one row fit into a processor's cache, and memory does not grow with B.

import { checkSwitches } from "../checks.mjs";
import { stream } from "../generation.mjs";
import { GPT2 } from "../model.mjs";
import { PlainBackend } from "../plain.mjs";
import { adamW, changed, clip, DEFAULTS, factors, learningRate } from "./adamw.mjs";
import { PlainGradients } from "./backward.mjs";
import { CHOOSE, checkSizes } from "./bytes.mjs";
import { Graph } from "./graph.mjs";
import { shareOf, softmaxRow } from "./loss.mjs";
import { initialValue, makeParameters } from "./parameters.mjs";
import { Recording } from "./recording.mjs";
import { Rows } from "./rows.mjs";
import { checkState } from "./state.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Switches } from "../model.mjs" */
/** @import { Tape } from "../tape.mjs" */
/** @import { Settings } from "./adamw.mjs" */
/** @import { State } from "./state.mjs" */
/** @typedef {ReturnType<typeof plainArithmetic>} Arithmetic */

/**
 * The arithmetic of a trainer in plain JavaScript; simd.mjs has a faster one.
 * @returns {{backend: PlainBackend, gradients: PlainGradients, softmaxRow: typeof softmaxRow,
 *   adamW: typeof adamW, sumOfSquares: (numbers: Float32Array) => number}}
 */
export function plainArithmetic() {
  const sumOfSquares = (/** @type {Float32Array} */ numbers) =>
    numbers.reduce((sum, n) => sum + n * n, 0);
  return {
    backend: new PlainBackend(),
    gradients: new PlainGradients(),
    softmaxRow,
    adamW,
    sumOfSquares,
  };
}

export class Trainer {
  /**
   * Start a run: record the forward pass and allocate all memory that a step needs. The weights are
   * zeros until `initialise`, or those of a state. Throws an Error if there can be no such run.
   * @param {Config} config
   * @param {() => Arithmetic | Promise<Arithmetic>} makeArithmetic  plainArithmetic, or simdArithmetic
   * @param {{T?: number, switches?: Switches, settings?: Partial<Settings>, state?: State}} [options]
   *   T: tokens of a row, at most the config's blockSize; state: a run to continue, with its own T,
   *   switches and settings, of which only the settings may be given otherwise
   */
  static async start(config, makeArithmetic, { state, settings, ...options } = {}) {
    const { T = state?.T ?? config.blockSize, switches = state?.switches ?? {} } = options;
    checkSwitches(switches, config);
    checkSizes(config, T);
    const first = changed(DEFAULTS, settings);
    try {
      const trainer = new Trainer(config, await makeArithmetic(), T, switches, first);
      const { graph, model, arithmetic } = trainer;
      const logits = await graph.record(config, model.weights, switches);
      trainer.rows = new Rows(graph, logits, arithmetic.softmaxRow);
      trainer.rows.loss(graph.ids, graph.ids, 1, { learns: true }); // so that scratch memory is there
      trainer.regions.grads.data.fill(0);
      if (state) trainer.restore(state);
      if (state && settings) trainer.change(settings);
      return trainer;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error; // a browser's own, where memory ends
      throw new Error(`this browser has no memory for such a run: ${CHOOSE}`, { cause: error });
    }
  }

  /**
   * @param {Config} config
   * @param {Arithmetic} arithmetic
   * @param {number} T
   * @param {Switches} switches
   * @param {Settings} settings
   */
  constructor(config, arithmetic, T, switches, settings) {
    const { backend, gradients } = arithmetic;
    const { parameters, weights, regions, decaying } = makeParameters(config, backend);
    this.config = config;
    this.arithmetic = arithmetic;
    this.T = T;
    this.switches = structuredClone(switches);
    this.settings = settings; // until `change`
    this.parameters = parameters; // by the names of PyTorch's state_dict
    this.regions = regions;
    this.decaying = decaying; // how many of the weights
    // Its window is a row, because the embeddings of later positions are never trained.
    const window = { ...config, blockSize: T };
    this.model = new GPT2(window, weights, /** @type {any} */ (backend));
    this.graph = new Graph(backend, gradients, new Int32Array(T));
    this.rows = /** @type {Rows} */ ({}); // once the graph is recorded
    this.steps = 0; // updates so far
    this.writing = false;
  }

  /**
   * Reset the whole run: random weights, moments of 0, step 0. The settings stay.
   * @param {() => number} random  from 0 to below 1
   * @param {number} [std]  0.02 in GPT-2; small models learn faster from 0.1
   */
  initialise(random, std = 0.02) {
    this.checkIdle();
    for (const { data } of Object.values(this.regions)) data.fill(0);
    for (const [name, { data }] of this.parameters) {
      const draw = initialValue(name, this.config.nLayer, random, std);
      for (let i = 0; i < data.length; i++) data[i] = draw();
    }
    this.steps = 0;
  }

  /**
   * Change settings from the next step on. Throws an Error, and changes nothing, if they are wrong.
   * If only lr is lowered, and would be below minLr, the two keep their ratio.
   * @param {Partial<Settings>} settings
   * @returns {Settings}  all that are in force now
   */
  change(settings) {
    return (this.settings = changed(this.settings, settings));
  }

  /**
   * One update of the weights. Throws an Error if loss, gradients or weights are not finite.
   * @param {ArrayLike<number>} ids  B rows of T tokens
   * @param {ArrayLike<number>} targets  the token after each, or IGNORED
   * @returns {{loss: number, norm: number, lr: number}}
   */
  step(ids, targets) {
    this.checkIdle();
    const loss = this.backward(ids, targets);
    ensureFinite(Number.isFinite(loss), "the loss is");
    return { loss, ...this.update() };
  }

  /**
   * The mean loss of a batch, in nats; the gradients are in the parameters' `grad`. Where several
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
    const recording = tape && new Recording(tape, ids.length / this.T);
    return this.rows.loss(ids, targets, share, { learns: true, recording });
  }

  /**
   * The gradients of a loss in which each position has a weight, plus `rein` times the divergence
   * from a frozen copy: Σ (weight · -log p(target) + rein · KL(p ‖ p of the copy)) / positions.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {ArrayLike<number>} weights  of the positions
   * @param {{rein: number, copy: Float32Array}} from  copy: its weights, in the order of `places`
   * @returns {{loss: number, entropy: number, divergence: number}}  means in nats: the loss without
   *   the rein, and of the predictions their entropy, and how far they are from the copy's
   */
  policy(ids, targets, weights, from) {
    this.checkIdle();
    const share = shareOf(ids, targets, this.T, this.config);
    if (weights.length !== ids.length) {
      throw new Error(`there are ${weights.length} weights for ${ids.length} positions`);
    }
    this.regions.grads.data.fill(0);
    return this.rows.policy(ids, targets, weights, {
      share,
      parameters: this.regions.weights,
      ...from,
    });
  }

  /** A copy of all gradients in the order of `places`, which may be transferred to another worker. */
  gradients() {
    return this.regions.grads.data.slice();
  }

  /**
   * Add the gradients of another part of the batch, which `gradients` of its trainer returned.
   * @param {Float32Array} numbers
   */
  addGradients(numbers) {
    const { data } = this.regions.grads;
    if (!(numbers instanceof Float32Array && numbers.length === data.length)) {
      throw new Error(`these are not the ${data.length} gradients of such a model`);
    }
    for (let i = 0; i < data.length; i++) data[i] += numbers[i];
  }

  /**
   * The mean loss of a batch, in nats. Gradients are unchanged.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   */
  loss(ids, targets) {
    return this.rows.loss(ids, targets, shareOf(ids, targets, this.T, this.config));
  }

  /**
   * Clip the gradients and take a step of AdamW. Throws an Error before the step if a gradient is
   * not finite, and after it if a weight is not.
   * @returns {{norm: number, lr: number}}  the norm is that before clipping
   */
  update() {
    this.checkIdle();
    const { adamW, sumOfSquares } = this.arithmetic;
    const { settings, decaying, regions } = this;
    const norm = Math.sqrt(sumOfSquares(regions.grads.data));
    ensureFinite(Number.isFinite(norm), "the gradients are");
    const lr = learningRate(this.steps, settings);
    const scale = clip(norm, settings.gradClip);
    const all = [regions.weights, regions.grads, regions.m, regions.v].map(({ data }) => data);
    this.steps++;
    let finite = true;
    for (const [first, end, decay] of [
      [0, decaying, settings.weightDecay],
      [decaying, all[0].length, 0],
    ]) {
      const [w, g, m, v] = all.map((numbers) => numbers.subarray(first, end));
      finite = adamW(w, g, m, v, factors(this.steps, lr, decay, scale, settings)) && finite;
    }
    ensureFinite(finite, "the weights are");
    return { norm, lr };
  }

  /**
   * Generate text, with the run's switches: resolves to the new ids. Until then no step can be taken,
   * because the cache holds keys and values of the present weights.
   * @param {number[]} prompt
   * @param {number} n  at most
   * @param {Omit<NonNullable<Parameters<typeof stream>[3]>, "switches">} [settings]
   */
  async write(prompt, n, settings) {
    this.checkIdle();
    this.writing = true;
    try {
      const written = [];
      const { model, switches } = this;
      for await (const { id } of stream(model, prompt, n, { ...settings, switches })) {
        written.push(id);
      }
      return written;
    } finally {
      this.writing = false;
    }
  }

  /** Throws an Error while the model writes. */
  checkIdle() {
    if (this.writing) throw new Error("the model is writing: wait for its text");
  }

  /** @returns {State}  a copy */
  state() {
    const { config, T, switches, settings, steps: step, regions } = this;
    const [weights, m, v] = [regions.weights, regions.m, regions.v].map(({ data }) => data.slice());
    const plain = structuredClone({ config, T, switches, settings });
    return { version: 1, ...plain, step, weights, m, v };
  }

  /**
   * Continue from a state, with its settings. Throws an Error, and changes nothing, if the state is
   * not one of such a run.
   * @param {State} state
   */
  restore(state) {
    this.checkIdle();
    checkState(state, this);
    this.settings = changed(state.settings);
    this.steps = state.step;
    for (const name of /** @type {const} */ (["weights", "m", "v"])) {
      this.regions[name].data.set(state[name]);
    }
  }

  /** Give all memory back: the trainer cannot be used any more, and holds nothing. */
  close() {
    for (const name of Object.keys(this)) Reflect.deleteProperty(this, name);
  }
}

/**
 * @param {boolean} finite
 * @param {string} what
 */
function ensureFinite(finite, what) {
  if (finite) return;
  throw new Error(
    `${what} no longer finite: choose a lower learning rate, and continue from the last good state`,
  );
}
