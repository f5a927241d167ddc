// Switchboard: parts on and off, numbers by slider, choices, heads that are cut. Each control holds
// one entry of the page's state.

import { fixed, make } from "./dom.mjs";
import { rove } from "./keys.mjs";

/** @import { State } from "./state.mjs" */

/**
 * @typedef {object} Control
 * @property {"switch" | "slider" | "choice"} kind
 * @property {string} key  of the state
 * @property {string} label
 * @property {number} [min]
 * @property {number} [max]
 * @property {number} [step]
 * @property {boolean} [log]  a slider of powers: min, max and step are exponents of 10
 * @property {number[]} [stops]  a slider of these values alone, which has their places
 * @property {number} [decimals]
 * @property {(value: number) => string} [show]  how a slider writes its number, if not so
 * @property {Option[]} [options]  of a choice
 */
/** @typedef {string | [string, string]} Option  value and text */

/**
 * @param {string} key
 * @param {string} label
 * @param {Partial<Control>} [more]
 * @returns {Control}
 */
export function slider(key, label, more) {
  return { kind: "slider", key, label, ...more };
}

/**
 * @param {string} key
 * @param {string} label
 * @returns {Control}
 */
export function flag(key, label) {
  return { kind: "switch", key, label };
}

/**
 * @param {string} key
 * @param {string} label
 * @param {Option[]} options
 * @returns {Control}
 */
export function choose(key, label, options) {
  return { kind: "choice", key, label, options };
}

export class Switchboard {
  /**
   * @param {State} state
   * @param {Control[]} controls
   * @param {string} [label]
   */
  constructor(state, controls, label = "controls") {
    this.state = state;
    /** @type {(() => void)[]} */
    this.follow = [];
    this.element = make(
      "div",
      { class: "switchboard", role: "group", "aria-label": label },
      ...controls.map((control) => this[control.kind](control)),
    );
    this.set();
  }

  /** Show the state. */
  set() {
    for (const follow of this.follow) follow();
  }

  /** @param {Control} control */
  switch({ key, label }) {
    const box = make("input", {
      type: "checkbox",
      onchange: () => this.state.set({ [key]: box.checked }),
    });
    this.follow.push(() => (box.checked = this.state.get(key)));
    return make("label", { class: "switch" }, box, label);
  }

  /** @param {Control} control */
  slider({ key, label, stops, min = 0, max = 1, step = 0.01, log = false, decimals = 2, show }) {
    const from = (/** @type {number} */ place) => stops?.[place] ?? (log ? 10 ** place : place);
    const to = (/** @type {number} */ value) => {
      if (!stops) return log ? Math.log10(value) : value;
      return stops.filter((stop) => stop < value).length;
    };
    if (stops) [max, step] = [stops.length - 1, 1];
    const range = make("input", {
      type: "range",
      min: String(min),
      max: String(max),
      step: String(step),
      "aria-label": label, // the first of its label's elements is the number
      oninput: () => this.state.set({ [key]: from(range.valueAsNumber) }),
    });
    const number = make("output");
    this.follow.push(() => {
      const value = this.state.get(key);
      range.value = String(to(value));
      const plain = log ? String(Number(value.toPrecision(2))) : fixed(value, decimals);
      number.textContent = show ? show(value) : plain;
      range.setAttribute("aria-valuetext", number.textContent);
    });
    return make("label", { class: "slider" }, make("span", {}, label, " ", number), range);
  }

  /** @param {Control} control */
  choice({ key, label, options = [] }) {
    const pairs = options.map((one) => (typeof one === "string" ? [one, one] : one));
    const buttons = pairs.map(([value, text]) =>
      make("button", { onclick: () => this.state.set({ [key]: value }) }, text),
    );
    this.follow.push(() =>
      pairs.forEach(([value], i) => {
        const on = this.state.get(key) === value;
        buttons[i].setAttribute("aria-pressed", String(on));
        buttons[i].tabIndex = on ? 0 : -1;
      }),
    );
    const group = make("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
    rove(group);
    return make("div", { class: "labelled" }, make("span", {}, label), group);
  }
}
