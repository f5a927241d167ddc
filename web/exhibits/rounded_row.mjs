// A few weights of a row as bars, and what fewer bits leave of them: each snaps to the nearest of the
// values that there are.

import { fixed, make } from "./dom.mjs";

/** @typedef {{was: Float32Array, now: Float32Array, most: number}} Weights  most: the largest that shares
 *   their scale */

const SEEN = 6; // bits up to which the values that there are can be told apart
const NAMED = 4; // bits up to which each has its number

export class RoundedRow {
  /** @param {number} n  weights */
  constructor(n) {
    this.title = make("p", { class: "soft" });
    this.values = make("p", { "aria-hidden": "true" });
    this.columns = Array.from({ length: n }, () => ({
      off: make("u"),
      now: make("i"),
      was: make("s"),
    }));
    const items = this.columns.map(({ off, now, was }) => make("span", {}, now, off, was));
    this.list = make("div", { role: "img" }, ...items);
    this.element = make("div", { class: "rounded" }, this.title, this.values, this.list);
  }

  /**
   * @param {Weights} weights
   * @param {number} bits
   * @param {string} which  row it is
   */
  set({ was, now, most }, bits, which) {
    const largest = 2 ** (bits - 1) - 1;
    const range = Math.max(...was.map(Math.abs), ...now.map(Math.abs)) * 1.08;
    /** @param {number} value  @returns from 0, at the bottom, to 1 */
    const high = (value) => (1 + value / range) / 2;
    const scale = most / largest;
    const reach = Math.min(largest, Math.floor(range / scale));
    const whole = Array.from({ length: bits > SEEN ? 1 : 2 * reach + 1 }, (_, i) =>
      bits > SEEN ? 0 : i - reach,
    );
    this.values.replaceChildren(
      ...whole.map((k) =>
        make(
          "span",
          { style: `--at: ${high(k * scale)}`, class: k ? "" : "zero" },
          bits <= NAMED || !k ? fixed(k, 0) : "",
        ),
      ),
    );
    this.columns.forEach(({ off, now: bar, was: dash }, i) => {
      span(bar, high(0), high(now[i]));
      span(off, high(was[i]), high(now[i]));
      span(dash, high(was[i]), high(was[i]));
    });
    const many = 2 * largest + 1;
    const far = Math.max(...was.map((value, i) => Math.abs(value - now[i])));
    this.title.textContent =
      `${which}: bars are what ${bits} bits leave, dashes the weights as trained. There are ` +
      `${many.toLocaleString("en")} values, ${fixed(scale, scale < 0.001 ? 6 : 3)} apart; red is what rounding moves.`;
    this.list.ariaLabel = `${was.length} weights; rounding moves them by up to ${fixed(far, 4)}`;
  }
}

/**
 * @param {HTMLElement} element
 * @param {number} a
 * @param {number} b
 */
function span(element, a, b) {
  element.style.setProperty("--from", Math.min(a, b).toFixed(4));
  element.style.setProperty("--to", Math.max(a, b).toFixed(4));
}
