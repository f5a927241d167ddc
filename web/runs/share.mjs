// Two workers that train one model: each takes half of every batch, and both add up the gradients of
// both. As a + b = b + a in every bit, their weights stay the same without being sent.

/** @import { Settings } from "../train/adamw.mjs" */
/** @import { State } from "../train/state.mjs" */
/** @import { Trainer } from "../train/trainer.mjs" */
/** @import { Run } from "./run.mjs" */
/** @typedef {{grads: Float32Array, loss: number}} Part  of a step */
/** @typedef {{settings: Settings} | {state: State} | Part | {error: string}} Message */

/** The other worker, as one of the two sees it. */
export class Partner {
  /**
   * @param {MessagePort} port
   * @param {0 | 1} place  of this worker: the first decides, the second follows
   */
  constructor(port, place) {
    this.port = port;
    this.place = place;
    /** @type {any[]} */
    this.arrived = [];
    /** @type {((message: any) => void) | null} */
    this.waiting = null;
    port.onmessage = ({ data }) => {
      if (!this.waiting) return this.arrived.push(data);
      this.waiting(data);
      this.waiting = null;
    };
  }

  /**
   * @param {Message} message
   * @param {Transferable[]} [transfer]
   */
  send(message, transfer = []) {
    this.port.postMessage(message, transfer);
  }

  /** @returns {Promise<any>}  the next message, however long it takes: computers sleep */
  async next() {
    const message =
      this.arrived.shift() ?? (await new Promise((resolve) => (this.waiting = resolve)));
    if (message.error) throw new Error(message.error);
    return message;
  }

  /**
   * The rows of a batch that are this worker's: from the first to before the second.
   * @param {number} B
   */
  rows(B) {
    const half = Math.ceil(B / 2);
    return this.place ? [half, B] : [0, half];
  }

  /**
   * Add the other's gradients to those of a trainer.
   * @param {Trainer} trainer
   * @param {number} loss
   * @returns {Promise<number>}  the loss of both
   */
  async add(trainer, loss) {
    const grads = trainer.gradients();
    this.send({ grads, loss }, [grads.buffer]);
    const other = await this.next();
    trainer.addGradients(other.grads);
    return loss + other.loss;
  }
}

/**
 * Follow the first worker: a step with the settings it sends, or its state.
 * @param {Run} run
 * @param {Partner} partner
 */
export async function follow(run, partner) {
  try {
    for (;;) {
      const { settings, state } = await partner.next();
      if (state) run.trainer.restore(state);
      else {
        run.trainer.change(settings);
        await run.advance(partner); // if it diverges, so it does there
      }
    }
  } catch (error) {
    partner.send({ error: String(error) });
  }
}
