// The text writes itself on: a dart picks a token, which flies to the text; and from the same prompt it
// can go another way.

import { fixed, make } from "../exhibits/dom.mjs";
import { fling } from "./fling.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { State } from "../exhibits/state.mjs" */
/** @import { Dart } from "./dart.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Stage } from "./stage.mjs" */

const LONG = 24; // tokens that are written in one go
const PACE = 600; // milliseconds between them

/** Where the dart's knobs rest: all, and all. */
const KNOBS = { temperature: 1, k: 0, p: 1 };

/**
 * Whether a knob of the dart is turned.
 * @param {State} state
 */
export function turned(state) {
  return Object.entries(KNOBS).some(([key, rest]) => state.get(key) !== rest);
}

export class Writer {
  /**
   * @param {Page} page
   * @param {Stage} stage
   * @param {() => Promise<Pass | null>} latest  the pass of the present text, computed here
   */
  constructor({ state, model, element, complain }, stage, latest) {
    this.state = state;
    this.model = model;
    this.element = element;
    this.complain = complain;
    this.stage = stage;
    this.latest = latest;
    this.left = 0; // tokens that are still to be written
    this.timer = 0;
    this.written = ""; // the text with the last token that was appended
    this.prompt = ""; // from which it was written on
    /** @param {string} name @param {() => void} onclick */
    const button = (name, onclick) => make("button", { type: "button", onclick }, name);
    this.write = button("write on", () => this.begin(this.left ? 0 : LONG));
    this.fork = button("another way", () => this.again());
    this.buttons = [button("one token", () => this.begin(1)), this.write, this.fork];
    state.declare("temperature", KNOBS.temperature, { min: 0, max: 3 });
    state.declare("k", KNOBS.k, { min: 0, max: 100, whole: true }); // 0: no top-k
    state.declare("p", KNOBS.p, { min: 0.05, max: 1 });
    this.heat = make("input", {
      type: "range",
      max: "3",
      step: "0.05",
      "aria-label": "temperature",
      oninput: () => state.set({ temperature: Number(this.heat.value) }),
    });
    this.degrees = make("output");
    this.knob = make("label", { class: "flow-knob" }, "temperature ", this.degrees, this.heat);
    this.knob.hidden = true; // until it has its place
    stage.element.append(this.knob);
    /** @type {Dart | null} */
    this.dart = null; // comes with the rest of the picture
    this.forks = make("ol", { class: "flow-forks", "aria-label": "continuations" });
    this.set();
  }

  /** @param {number} many  tokens */
  begin(many) {
    const text = this.state.get("text");
    if (text !== this.written) this.prompt = text;
    this.written = text;
    this.left = many;
    this.set();
    this.go();
  }

  go() {
    this.choose().catch((error) => {
      this.end();
      this.complain(error);
    });
  }

  end() {
    this.left = 0;
    this.set();
  }

  async choose() {
    if (!this.left || !this.element.isConnected) return;
    const pass = await this.latest();
    if (!this.left) return;
    const stale = pass?.text !== this.state.get("text"); // the reader has changed it meanwhile
    if (!pass?.shares || stale || !this.dart) return this.set(); // a newer pass goes on
    this.left--;
    await this.append(this.dart.hits(pass.shares, pass.ids.length));
  }

  /** @param {number} id */
  async append(id, rest = "") {
    const { tokenizer } = await this.model.ready();
    const more = tokenizer.decode([id]) + rest;
    if (id === tokenizer.eot || more.includes("\ufffd")) {
      this.end();
      this.complain("Here the model would end its text.");
      return;
    }
    const text = this.state.get("text");
    await fling(this.stage, id);
    if (text !== this.state.get("text")) return; // the token was not for this one
    this.written = text + more;
    this.state.set({ text: this.written, at: -1, place: "", station: -1 });
  }

  /** From the same prompt once more, with other darts; what was written stays below. */
  again() {
    const { state, prompt } = this;
    const text = state.get("text");
    const back = make("button", { type: "button", onclick: () => state.set({ text, at: -1 }) });
    back.append(prompt, make("mark", {}, text.slice(prompt.length)));
    this.forks.append(make("li", {}, back));
    this.written = prompt;
    state.set({ text: prompt, at: -1, seed: state.get("seed") + 1 });
    this.timer = Number(setTimeout(() => this.begin(LONG), PACE));
  }

  /** After a pass is shown; a text that somebody else has typed ends what was written. */
  set() {
    const { state } = this;
    const text = state.get("text");
    const stored = state.get("run") || state.get("learned"); // nobody writes on there
    if (text !== this.written || stored) this.left = 0;
    for (const button of this.buttons) {
      button.disabled = Boolean(stored);
      button.title = stored ? "This pass is stored: no model is here to go on." : "";
    }
    const heat = state.get("temperature");
    this.heat.value = heat;
    this.degrees.textContent = heat ? fixed(heat, 2) : "0, greedy";
    this.write.textContent = this.left > 1 ? "stop" : "write on";
    this.fork.hidden = !this.prompt || text === this.prompt || !text.startsWith(this.prompt);
    this.forks.hidden = !this.forks.children.length;
  }

  /** @param {{x: number, y: number, width: number}} [knob]  px, where the temperature is set */
  place(knob) {
    this.knob.hidden = !knob;
    if (!knob) return;
    const [left, top, width] = [knob.x, knob.y, knob.width].map((px) => `${px}px`);
    Object.assign(this.knob.style, { left, top, width });
  }

  next() {
    this.set();
    clearTimeout(this.timer);
    if (this.left) this.timer = Number(setTimeout(() => this.go(), PACE));
  }
}
