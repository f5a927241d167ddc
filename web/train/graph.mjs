// The forward pass of model.mjs as a list of operations, which can be run again, and backwards.
//
// A graph takes the place of the backend while model.mjs runs once. It computes nothing: it writes
// each operation down, and gives every tensor its memory for the whole training run, and as much
// again for the gradient of the loss with respect to it. From then on forward() runs the list, and
// backward() runs it from its end, by the chain rule: each operation takes the gradient of its
// output and works out those of its inputs. This is what PyTorch's autograd does, but PyTorch
// writes a new list in each step, and here the list is always the same.

import { GPT2 } from "../model.mjs";

/** @import { Matrix, Tensor } from "../memory.mjs" */
/** @import { Config } from "../config.mjs" */
/** @import { Backend, PlainBackend } from "../plain.mjs" */
/** @import { Switches } from "../model.mjs" */
/** @import { Tape } from "../tape.mjs" */
/** @import { Weights } from "../weights.mjs" */
/** @import { PlainGradients } from "./backward.mjs" */

/**
 * A tensor with the gradient of the loss with respect to it; `causal` where a mask hides all that
 * is above its diagonal, and nothing there need be computed; `of` another of which it is a part.
 * @typedef {Tensor & {grad: Tensor, causal?: boolean, of?: Variable}} Variable
 * @typedef {Matrix & Variable} Parameter
 */

/**
 * @typedef {object} Operation
 * @property {Variable} output
 * @property {() => void} forward
 * @property {(add: boolean) => void} backward
 * @property {boolean} add  whether a later operation gives its input a gradient, to which this one's
 *   is added
 * @property {boolean} canAdd
 * @property {{path: string, axes: string}[]} names  under which the output was noted
 */

export class Graph {
  /**
   * @param {PlainBackend} backend  for memory and the forward pass
   * @param {PlainGradients} gradients
   * @param {Int32Array} ids  (T), which the caller fills before each pass
   */
  constructor(backend, gradients, ids) {
    this.backend = backend;
    this.gradients = gradients;
    this.ids = ids;
    /** @type {Operation[]} */
    this.operations = [];
    /** @type {Map<Tensor, Operation>} */
    this.users = new Map(); // by tensor, the last operation that takes it
    /** @type {Variable[]} */
    this.masked = [];
  }

  /**
   * Write down the forward pass of a model.
   * @param {Config} config
   * @param {Weights} weights  each a Parameter
   * @param {Switches} switches
   * @returns {Promise<Variable>}  the logits (T, V)
   */
  async record(config, weights, switches) {
    const model = new GPT2(config, weights, /** @type {Backend} */ (/** @type {unknown} */ (this)));
    const tape = /** @type {Tape} */ (/** @type {unknown} */ (this));
    await model.forward(this.ids, { tape, switches });
    return this.operations[this.operations.length - 1].output;
  }

  /**
   * @param {(operation: Operation) => void} [noted]  called after each that has a name; then what a
   *   mask hides is computed as well, so that it can be seen
   */
  forward(noted) {
    for (const scores of this.masked) scores.causal = !noted;
    for (const operation of this.operations) {
      operation.forward();
      if (noted && operation.names.length) noted(operation);
    }
  }

  /**
   * From the gradient of the last output to those of everything before it.
   * @param {(operation: Operation) => void} [noted]  called before each that has a name: then the
   *   gradient of its output is complete
   */
  backward(noted) {
    for (let i = this.operations.length - 1; i >= 0; i--) {
      const operation = this.operations[i];
      if (noted && operation.names.length) noted(operation);
      operation.backward(operation.add);
    }
  }

  // ---- What model.mjs calls ----------------------------------------------------------------------

  /**
   * @param {Tensor[]} inputs  to which it gives a gradient
   * @param {Variable} output
   * @param {() => void} forward
   * @param {(add: boolean) => void} backward
   * @param {boolean} [canAdd]  to the gradient of its one input
   */
  write(inputs, output, forward, backward, canAdd = false) {
    const operation = { output, forward, backward, add: false, canAdd, names: [] };
    for (const input of inputs) {
      const earlier = this.users.get(input);
      if (earlier) {
        if (!earlier.canAdd) throw new Error("this operation cannot add to a gradient");
        earlier.add = true;
      }
      this.users.set(input, operation);
    }
    this.operations.push(operation);
    return output;
  }

  /**
   * @param {Parameter} table
   * @param {ArrayLike<number>} ids
   */
  lookUp(table, ids) {
    const { backend, gradients } = this;
    const out = this.make([ids.length, table.columns]);
    const forward = () => backend.lookUp(table, ids, out);
    return this.write([], out, forward, () => gradients.lookUp(table, ids, out));
  }

  /**
   * Both parts of a sum have the gradient of the sum. The first hands its memory on, so that along
   * the residual stream there is a single gradient, to which the blocks add.
   * @param {Variable} a
   * @param {Variable} b
   */
  add(a, b) {
    const { backend, gradients } = this;
    const out = Object.assign(backend.keep(a.shape), { grad: a.grad });
    const forward = () => backend.add(a, b, out);
    return this.write([a, b], out, forward, () => gradients.add(b, out));
  }

  /**
   * @param {Variable} x
   * @param {Variable} weight
   * @param {Variable} bias
   * @param {number} epsilon
   */
  layerNorm(x, weight, bias, epsilon) {
    const { backend, gradients } = this;
    const out = this.make(x.shape);
    return this.write(
      [x],
      out,
      () => backend.layerNorm(x, weight, bias, epsilon, out),
      (add) => gradients.layerNorm(x, weight, bias, epsilon, out, add),
      true,
    );
  }

  /**
   * @param {Variable} x
   * @param {Parameter} weight
   * @param {Variable | null} bias
   */
  linear(x, weight, bias) {
    const { backend, gradients } = this;
    const out = this.make([x.shape[0], weight.rows]);
    return this.write(
      [x],
      out,
      () => backend.linear(x, weight, bias, out),
      (add) => gradients.linear(x, weight, bias, out, add),
      true,
    );
  }

  /**
   * Each number of x is moved once, so its gradient is that of the place where it goes.
   * @param {Variable} x
   * @param {Variable} out
   * @param {number[]} shape
   * @param {number[]} places
   * @param {number[]} to
   */
  move(x, out, shape, places, to) {
    const { backend, gradients } = this;
    const forward = () => backend.move(x, out, shape, places, to);
    this.write([], out, forward, () => gradients.move(x, out, shape, places, to));
  }

  /**
   * @param {Variable} x
   * @param {Variable} table
   * @param {number} rows
   * @param {number} scale
   */
  headProduct(x, table, rows, scale) {
    const { backend, gradients } = this;
    const out = this.make([x.shape[0], x.shape[1], rows]);
    return this.write(
      [x, table],
      out,
      () => backend.headProduct(x, table, rows, scale, out),
      () => gradients.headProduct(x, table, rows, scale, out),
    );
  }

  /**
   * What is hidden has the weight 0, so softmax gives it no gradient.
   * @param {Variable} scores
   * @param {number} start
   */
  mask(scores, start) {
    if (start === 0) this.masked.push(scores);
    const forward = () => this.backend.mask(scores, start);
    return this.write([], scores, forward, () => {});
  }

  /** @param {Variable} scores */
  softmax(scores) {
    const { backend, gradients } = this;
    const forward = () => backend.softmax(scores);
    return this.write([], scores, forward, () => gradients.softmax(scores));
  }

  /**
   * @param {Variable} x
   * @param {"tanh" | "erf"} form
   */
  gelu(x, form) {
    const { backend, gradients } = this;
    const out = this.make(x.shape);
    return this.write(
      [x],
      out,
      () => backend.gelu(x, form, out),
      () => gradients.gelu(x, form, out),
    );
  }

  /** @param {Variable} x */
  clear(x) {
    const { backend } = this;
    const forward = () => backend.clear(x);
    this.write([], x.of ?? x, forward, () => backend.clear(x.grad));
  }

  // ---- Memory ------------------------------------------------------------------------------------

  /**
   * @param {number[]} shape
   * @returns {Variable}
   */
  make(shape) {
    return Object.assign(this.backend.keep(shape), { grad: this.backend.keep(shape) });
  }

  /**
   * @param {Variable} x
   * @param {number} first
   * @param {number} end
   */
  slice(x, first, end) {
    const grad = this.backend.slice(x.grad, first, end);
    return Object.assign(this.backend.slice(x, first, end), { grad, of: x });
  }

  /** @param {Variable} from */
  copy(from) {
    return from; // nothing is overwritten: the backward pass needs it
  }

  mark() {}
  release() {}

  async read() {
    return new Float32Array(0);
  }

  // ---- In place of a tape ------------------------------------------------------------------------

  begin() {}

  /**
   * @param {string} path
   * @param {Variable} tensor
   * @param {string} axes
   */
  note(path, tensor, axes) {
    const last = this.operations.at(-1);
    if (last?.output !== tensor) throw new Error(`${path} is not the output of the last operation`);
    last.names.push({ path, axes });
    return tensor;
  }
}
