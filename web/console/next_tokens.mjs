// What may come next, as bars that can be clicked, and the knobs of the draw.

import { nextProbabilities } from "../sampling.mjs";
import { labelled, make } from "../exhibits/dom.mjs";

const SHOWN = 8;

export class NextTokens {
  /**
   * @param {(id: number) => void} append  a token that was clicked
   * @param {() => void} turned  a knob
   */
  constructor(append, turned) {
    /** @type {number[]} */
    this.ids = []; // of the bars
    this.rows = Array.from({ length: SHOWN }, (_, i) => {
      const row = { name: make("b"), share: make("i") };
      const onclick = () => append(this.ids[i]);
      const button = make("button", { type: "button", onclick }, row.name, row.share);
      button.style.visibility = "hidden"; // until it has a name
      return { ...row, button };
    });
    this.bars = make(
      "ol",
      { class: "next", "aria-label": "next tokens" },
      ...this.rows.map(({ button }) => make("li", {}, button)),
    );
    const knob = (/** @type {Record<string, string>} */ attributes) =>
      make("input", { type: "number", ...attributes, oninput: turned });
    this.temperature = knob({ min: "0", max: "2", step: "0.1", value: "1" });
    this.topK = knob({ min: "1", step: "1", placeholder: "all" });
    this.topP = knob({ min: "0.05", max: "1", step: "0.05", value: "1" });
    this.seed = knob({ min: "0", step: "1", value: "0" });
    this.knobs = make(
      "div",
      { class: "controls" },
      labelled("temperature", this.temperature),
      labelled("top-k", this.topK),
      labelled("top-p", this.topP),
      labelled("seed", this.seed),
    );
  }

  /** As sampling.mjs takes them. */
  get settings() {
    const number = (/** @type {HTMLInputElement} */ input) =>
      input.value === "" ? undefined : input.valueAsNumber;
    return {
      temperature: number(this.temperature),
      topK: number(this.topK),
      topP: number(this.topP),
      seed: number(this.seed),
    };
  }

  /**
   * @param {Float32Array} logits  of the last token
   * @param {(id: number) => string} name
   */
  show(logits, name) {
    const probabilities = nextProbabilities(logits, this.settings);
    this.ids = Array.from(probabilities.keys())
      .sort((a, b) => probabilities[b] - probabilities[a])
      .slice(0, SHOWN)
      .filter((id) => probabilities[id] > 0);
    this.rows.forEach(({ button, name: token, share }, i) => {
      const id = this.ids[i];
      const p = id === undefined ? 0 : probabilities[id];
      button.style.visibility = id === undefined ? "hidden" : ""; // its room stays
      button.style.setProperty("--share", String(p));
      token.textContent = id === undefined ? "" : name(id);
      share.textContent = p < 5e-4 ? "<0.001" : p.toFixed(3);
    });
  }
}
