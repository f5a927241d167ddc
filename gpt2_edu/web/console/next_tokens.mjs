// What may come next, as bars that can be clicked, and the knobs of the draw.

import { nextProbabilities } from "../sampling.mjs";
import { labelled, make } from "./dom.mjs";

const SHOWN = 8;

export class NextTokens {
  /**
   * @param {(id: number) => void} append  a token that was clicked
   * @param {() => void} turned  a knob
   */
  constructor(append, turned) {
    this.append = append;
    this.bars = make("ol", { class: "next", "aria-label": "next tokens" });
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
    const order = Array.from(probabilities.keys())
      .sort((a, b) => probabilities[b] - probabilities[a])
      .slice(0, SHOWN)
      .filter((id) => probabilities[id] > 0);
    const rows = order.map((id) => {
      const share = make("i", {}, probabilities[id].toFixed(3));
      const onclick = () => this.append(id);
      const button = make("button", { type: "button", onclick }, make("b", {}, name(id)), share);
      button.style.setProperty("--share", String(probabilities[id]));
      return make("li", {}, button);
    });
    this.bars.replaceChildren(...rows);
  }
}
