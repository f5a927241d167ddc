// What a run begins with: random numbers, or a model in a file, with its sizes and its tokens.

import { choice as select, labelled, make } from "../exhibits/dom.mjs";
import { runs } from "./start.mjs";
import { count } from "./words.mjs";

/** @typedef {{name: string, weights: Float32Array, merges: Uint8Array,
 *   model: import("./drive.mjs").Plan["model"], vocabSize: number}} Model */

export class Begun {
  /**
   * @param {(why: unknown) => void} complain
   * @param {() => void} changed
   */
  constructor(complain, changed) {
    this.complain = complain;
    this.changed = changed;
    this.model = /** @type {Model | null} */ (null);
    this.facts = make("span", { class: "soft" });
    this.input = make("input", {
      type: "file",
      hidden: true,
      accept: ".safetensors",
      "aria-label": "a model to begin with",
      onchange: () => this.input.files?.[0] && this.read(this.input.files[0]),
      oncancel: () => this.set(null),
    });
    this.choice = select({ random: "random numbers", file: "a model in a file" }, () => {
      this.set(null);
      if (this.choice.value === "random") return;
      this.choice.value = "random"; // until one is read
      this.input.value = "";
      this.input.click();
    });
    this.nodes = [labelled("It begins with", this.choice), this.input, this.facts];
  }

  /** @param {File} file */
  async read(file) {
    try {
      const { name, config, weights, merges } = await (await runs()).openFile(file);
      const { nLayer, nHead, nEmbd, blockSize: T, vocabSize } = config;
      const model = { nLayer, nHead, nEmbd, T };
      this.set({ name, weights, merges, model, vocabSize });
    } catch (error) {
      this.complain(error);
    }
  }

  /** @param {Model | null} model  null: random numbers */
  set(model) {
    this.model = model;
    this.choice.value = model ? "file" : "random";
    this.facts.textContent = model ? describe(model) : "";
    this.complain("");
    this.changed();
  }
}

/** @param {Model} model */
function describe({ name, vocabSize, model: { nLayer, nEmbd, T } }) {
  const blocks = `${nLayer} block${nLayer === 1 ? "" : "s"} of width ${nEmbd}`;
  return `${name}: ${blocks}, ${count(vocabSize)} tokens of its own, at most ${T} at once`;
}
