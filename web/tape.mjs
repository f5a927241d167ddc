// What `trace` is in Python: every noted tensor of a forward pass, by its full path, and edits.

import { shown } from "./messages.mjs";
import { size } from "./numbers.mjs";

/** @import { Tensor } from "./memory.mjs" */
/** @import { Backend } from "./plain.mjs" */
/** @typedef {(values: Float32Array, shape: number[]) => ArrayLike<number> | void} EditFunction */
/** @typedef {ArrayLike<number> | EditFunction} Edit */
/** @typedef {{path: string, axes: string, shape: number[], values: Float32Array,
 *   grad?: Float32Array}} Noted  grad: of a training step, the gradient of its loss */

export class Tape {
  /**
   * @param {Record<string, Edit>} [edits]  by path: other numbers, or a function that changes them
   *   in place or returns others
   * @param {(path: string) => boolean} [keep]  which tensors to record; all, if not given
   */
  constructor(edits = {}, keep = () => true) {
    this.edits = new Map(Object.entries(edits));
    this.keep = keep;
    /** @type {Map<string, Noted>} */
    this.noted = new Map();
    this.met = new Set();
  }

  /** A new pass begins. */
  begin() {
    this.noted.clear();
  }

  /**
   * @param {string} path
   * @param {Tensor} tensor
   * @param {string} axes  one letter for each dimension, the batch among them
   * @param {Backend} backend
   * @returns {Promise<Tensor>}
   */
  async note(path, tensor, axes, backend) {
    const edit = this.edits.get(path);
    if (edit === undefined && !this.keep(path)) return tensor;
    let values = await backend.read(tensor);
    if (edit !== undefined) {
      this.met.add(path);
      const edited = typeof edit === "function" ? (edit(values, tensor.shape) ?? values) : edit;
      if (edited.length !== size(tensor.shape)) {
        throw new Error(
          `the edit of ${path} must give ${size(tensor.shape)} numbers, but gave ${shown(edited.length)}`,
        );
      }
      values = Float32Array.from(edited, Number);
      if (values.some(Number.isNaN)) throw new Error(`the edit of ${path} gives no numbers`);
      tensor = backend.write(values, tensor.shape);
    }
    const shape = axes.startsWith("B ") ? [1, ...tensor.shape] : tensor.shape.slice();
    if (this.keep(path)) this.noted.set(path, { path, axes, shape, values });
    return tensor;
  }

  /** Paths that an edit was given for and that no pass has met. */
  get missed() {
    return [...this.edits.keys()].filter((path) => !this.met.has(path));
  }
}
