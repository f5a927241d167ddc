// What a tape holds of a training step: every noted tensor with the gradient that reached it, as
// `trace(model, grads=True)` has them in Python.

import { size } from "../numbers.mjs";

/** @import { Tape } from "../tape.mjs" */
/** @import { Operation } from "./graph.mjs" */

export class Recording {
  /**
   * @param {Tape} tape
   * @param {number} rows  of the batch
   */
  constructor(tape, rows) {
    if (tape.edits.size) throw new Error("a training step takes no edits");
    tape.begin();
    this.tape = tape;
    this.rows = rows;
    this.row = 0; // that runs now
  }

  /** @param {Operation} operation  that has computed its output */
  values = ({ output, names }) => {
    for (const { path, axes } of names) {
      if (!this.tape.keep(path)) continue;
      const batched = axes.startsWith("B ");
      if (!this.tape.noted.has(path)) {
        const shape = batched ? [this.rows, ...output.shape] : output.shape.slice();
        const values = new Float32Array(size(shape));
        this.tape.noted.set(path, { path, axes, shape, values, grad: values.slice() });
      }
      this.at(path, batched, "values").set(output.data);
    }
  };

  /**
   * What all rows share has the sum of their gradients.
   * @param {Operation} operation  that will be run backwards
   */
  grads = ({ output, names }) => {
    for (const { path, axes } of names) {
      if (!this.tape.keep(path)) continue;
      const [grad, own] = [this.at(path, axes.startsWith("B "), "grad"), output.grad.data];
      for (let i = 0; i < grad.length; i++) grad[i] += own[i];
    }
  };

  /**
   * The part of the running row.
   * @param {string} path
   * @param {boolean} batched
   * @param {"values" | "grad"} which
   */
  at(path, batched, which) {
    const all = /** @type {Float32Array} */ (this.tape.noted.get(path)?.[which]);
    const length = all.length / this.rows;
    return batched ? all.subarray(this.row * length, (this.row + 1) * length) : all;
  }
}
