// Sampling: top-k and top-p, and what they and the temperature make of the shares before it is thrown.

import { make } from "../exhibits/dom.mjs";
import { hit, ranked, thrower, turn } from "../exhibits/knobs.mjs";
import { Switchboard } from "../exhibits/switchboard.mjs";
import { turned } from "./writer.mjs";

/** @import { State } from "../exhibits/state.mjs" */
/** @import { Pass } from "./pass.mjs" */

export class Dart {
  /**
   * @param {State} state
   * @param {string} [more]  what stands beside it
   */
  constructor(state, more = "") {
    this.state = state;
    const all = (/** @type {number} */ off) => (/** @type {number} */ value) =>
      value === off ? "all" : String(Number(value.toFixed(2)));
    this.board = new Switchboard(
      state,
      [
        { kind: "slider", key: "k", label: "top-k", max: 100, step: 1, show: all(0) },
        { kind: "slider", key: "p", label: "top-p", min: 0.05, step: 0.05, show: all(1) },
      ],
      "the dart",
    );
    const told = make("summary", {}, `Sampling${more}`);
    this.element = make("details", { class: "flow-dart" }, told, this.board.element);
    this.element.open = state.get("k") > 0 || state.get("p") < 1 || state.get("bug") !== "";
  }

  /** Whether a knob is turned. */
  get turned() {
    return turned(this.state);
  }

  /**
   * What the dart is thrown at.
   * @param {Float64Array} shares  of every token
   */
  shares(shares) {
    if (!this.turned) return shares;
    const [temperature, k, p] = ["temperature", "k", "p"].map((key) => this.state.get(key));
    return turn(shares.map(Math.log), { temperature, k: k || shares.length, p });
  }

  /**
   * The token that it hits: the same for the same text and seed.
   * @param {Float64Array} all  shares of every token
   * @param {number} T  tokens before it
   */
  hits(all, T) {
    const [shares, dart] = [this.shares(all), thrower(1000 * this.state.get("seed") + T)()];
    return hit(dart, shares, ranked(shares));
  }

  /**
   * The pass with what the dart sees, beside the model's own shares.
   * @param {Pass} pass
   * @returns {Pass}
   */
  seen(pass) {
    this.board.set();
    if (!this.turned || !pass.shares) return pass;
    const shares = this.shares(pass.shares);
    return { ...pass, next: pass.next.map((one) => ({ ...one, p: shares[one.id], other: one.p })) };
  }
}
