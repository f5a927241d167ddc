// The rows of a batch, one after the other through a graph: their loss, and its gradients.

import { crossEntropy, divergence } from "./loss.mjs";

/** @import { Tensor } from "../memory.mjs" */
/** @import { Graph, Variable } from "./graph.mjs" */
/** @import { softmaxRow } from "./loss.mjs" */
/** @import { Recording } from "./recording.mjs" */

export class Rows {
  /**
   * @param {Graph} graph  recorded, whose ids are filled here
   * @param {Variable} logits  its output
   * @param {typeof softmaxRow} softmaxRow
   */
  constructor(graph, logits, softmaxRow) {
    this.graph = graph;
    this.logits = logits;
    this.softmaxRow = softmaxRow;
    this.T = graph.ids.length;
    this.targets = new Int32Array(this.T);
    this.weights = new Float32Array(this.T); // of the positions, in the loss
  }

  /**
   * The mean loss, whose gradients are added to those of the parameters.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {number} share  of a position in the mean
   * @param {{learns?: boolean, recording?: Recording}} [options]  learns: whether to compute gradients
   */
  loss(ids, targets, share, { learns = false, recording } = {}) {
    this.weights.fill(1);
    let loss = 0;
    for (let row = 0; row < ids.length; row += this.T) {
      if (recording) recording.row = row / this.T;
      this.forward(ids, targets, row, recording);
      loss += crossEntropy(this.logits, this.targets, share, this.softmaxRow, this.weights);
      if (learns) this.graph.backward(recording?.grads);
    }
    return loss * share;
  }

  /**
   * As Trainer.policy has it. For every row the copy takes the place of the model once.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {ArrayLike<number>} weights
   * @param {{share: number, rein: number, copy: Float32Array, parameters: Tensor}} from
   */
  policy(ids, targets, weights, { share, rein, copy, parameters }) {
    const means = { loss: 0, entropy: 0, divergence: 0 };
    const own = parameters.data.slice();
    for (let row = 0; row < ids.length; row += this.T) {
      parameters.data.set(copy);
      this.forward(ids, targets, row);
      const others = this.logits.data.slice();
      parameters.data.set(own);
      this.forward(ids, targets, row);
      for (let t = 0; t < this.T; t++) this.weights[t] = weights[row + t];
      const { logits, softmaxRow } = this;
      means.loss += share * crossEntropy(logits, this.targets, share, softmaxRow, this.weights);
      const found = divergence(logits, others, this.targets, share * rein);
      means.entropy += share * found.entropy;
      means.divergence += share * found.divergence;
      this.graph.backward();
    }
    return means;
  }

  /**
   * The row that begins there; its targets are then at hand.
   * @param {ArrayLike<number>} ids
   * @param {ArrayLike<number>} targets
   * @param {number} row
   * @param {Recording} [recording]
   */
  forward(ids, targets, row, recording) {
    for (let t = 0; t < this.T; t++) {
      this.graph.ids[t] = ids[row + t];
      this.targets[t] = targets[row + t];
    }
    this.graph.forward(recording?.values);
  }
}
