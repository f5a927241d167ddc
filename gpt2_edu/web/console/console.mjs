// <gpt2-console>: a text, its tokens, what comes next, and every tensor on the way.
//
// What stands in the element before is what readers without JavaScript see. The model is loaded
// when the console comes into view.

import { END_OF_TEXT, bundledModel, loadTokenizer, startEngine } from "../page.mjs";
import { readConfig } from "../config.mjs";
import { SUPERSEDED } from "../messages.mjs";
import { Bring } from "./bring.mjs";
import { choice, labelled, make, visible } from "./dom.mjs";
import { NextTokens } from "./next_tokens.mjs";
import { TensorMap } from "./tensor_map.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Tokenizer } from "../tokenizer.mjs" */
/** @typedef {{name: string, config: string, weights: Blob | ArrayBuffer}} Files */

const BACKENDS = {
  auto: "the fastest here",
  wasm: "WebAssembly",
  "wasm-half": "WebAssembly, float16 weights",
  "wasm-int8": "WebAssembly, int8 weights: faster, not identical",
  plain: "plain JavaScript",
  webgpu: "WebGPU",
};
const EXAMPLES = ["In the marsh, the crane", "In the city, the crane"];
const WRITTEN = 40; // tokens at a click
const FIRST_LOOK = "transformer.h.1.attn.weights";

/** Which tokenizer a model has, by the size of its vocabulary. */
const TOKENIZERS = new Map([
  [1024, "crane"],
  [50257, "gpt2"],
]);

class Console {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.engine = startEngine();
    const look = () => this.look();
    this.text = make("textarea", { rows: "2", spellcheck: "false", oninput: look }, EXAMPLES[0]);
    this.strip = make("ol", { class: "strip", "aria-label": "tokens" });
    this.next = new NextTokens((id) => this.append(id), look);
    this.write = make("button", { type: "button", onclick: () => this.writeOn() }, "write on");
    this.stop = make("button", { type: "button", hidden: true }, "stop");
    this.status = make("p", { class: "status", role: "status" }, "The model is loaded …");
    this.path = choice({}, look);
    this.backend = choice(BACKENDS, () => this.files && this.use(this.files));
    this.map = new TensorMap();
    this.bring = new Bring(
      (files) => this.use(files),
      (sentence) => this.say(sentence),
    );
    this.bring.listen(element);
    const examples = EXAMPLES.map((text) =>
      make("button", { type: "button", onclick: () => this.setText(text) }, text),
    );
    element.replaceChildren(
      make("div", { class: "controls" }, ...examples),
      labelled("text", this.text),
      this.strip,
      make("p", { class: "heading" }, "What comes next"),
      this.next.bars,
      this.next.knobs,
      make("div", { class: "controls" }, this.write, this.stop),
      this.status,
      make("p", { class: "heading" }, "Look inside"),
      make(
        "div",
        { class: "controls" },
        labelled("tensor", this.path),
        labelled("arithmetic", this.backend),
      ),
      this.map.element,
      this.bring.element,
    );
    /** @type {Files | null} */
    this.files = null;
    /** @type {{config: Config, tokenizer: Tokenizer, story: boolean} | null} */
    this.model = null;
    this.ready = "";
  }

  /** @param {string} sentence */
  say(sentence) {
    this.status.textContent = sentence;
  }

  /** @param {unknown} error */
  complain(error) {
    this.say(error instanceof Error ? error.message : String(error));
  }

  /** @param {string} text */
  setText(text) {
    this.text.value = text;
    this.look();
  }

  /** The model that comes with the page. */
  async useBundled() {
    try {
      await this.use({ name: "Crane World's model", ...(await bundledModel("crane")) });
    } catch (error) {
      this.complain(error);
    }
  }

  /**
   * Load a model in place of the present one, which stays if that fails.
   * @param {Files} files
   */
  async use(files) {
    const began = performance.now();
    const progress = (/** @type {number} */ share) =>
      this.say(`${files.name}: ${Math.round(100 * share)} % of the weights are read`);
    try {
      const { name, config: text, weights } = files;
      const tokenizer = await this.tokenizerFor(files);
      const request = { config: text, weights, backend: this.backend.value };
      const { config, backend } = await this.engine.load("console", request, progress);
      this.files = files;
      this.model = { config, tokenizer, story: TOKENIZERS.get(config.vocabSize) === "crane" };
      const seconds = ((performance.now() - began) / 1000).toFixed(2);
      this.ready = `${name} runs in ${backend}, ready after ${seconds} s`;
      await this.listTensors();
      await this.look();
    } catch (error) {
      this.complain(error);
    }
  }

  /** @param {Files} files */
  tokenizerFor({ name, config }) {
    const { vocabSize } = readConfig(config);
    const known = TOKENIZERS.get(vocabSize);
    if (!known) {
      const sizes = "GPT-2's has 50,257, Crane World's 1,024";
      throw new Error(`${name} has ${vocabSize} tokens, and no tokenizer here as many: ${sizes}`);
    }
    return loadTokenizer(known);
  }

  /** The ledger's names, found by a pass of one token. */
  async listTensors() {
    const { noted } = await this.engine.run("console", { ids: [0], record: true });
    const chosen = this.path.value || FIRST_LOOK;
    /** @type {Map<string, HTMLOptGroupElement>} */
    const groups = new Map();
    for (const { path } of noted) {
      const block = /^transformer\.h\.(\d+)/.exec(path);
      const around = groups.size > 1 ? "after the blocks" : "before the blocks";
      const label = block ? `block ${block[1]}` : around;
      const group = groups.get(label) ?? make("optgroup", { label });
      groups.set(label, group);
      group.append(make("option", { value: path }, path.replace(/^transformer\.h\.\d+\./, "")));
    }
    this.path.replaceChildren(...groups.values());
    this.path.value = chosen;
    if (!this.path.value) this.path.value = "logits";
  }

  /**
   * The text's ids; stories of Crane World begin where another ended.
   * @param {{config: Config, tokenizer: Tokenizer, story: boolean}} model
   */
  ids({ config, tokenizer, story }) {
    const own = tokenizer.encode(this.text.value);
    const ids = story || !own.length ? [tokenizer.eot, ...own] : own;
    if (ids.length > config.blockSize) {
      const window = `the model's window of ${config.blockSize}`;
      throw new Error(`${ids.length} tokens are more than ${window}: shorten the text`);
    }
    return ids;
  }

  /** Run the text through the model and show what came of it. */
  async look() {
    const { model } = this;
    if (!model) return;
    try {
      const ids = this.ids(model);
      const path = this.path.value;
      const began = performance.now();
      const request = { ids, key: "look", record: [path], lastOnly: path !== "logits" };
      const { logits, noted } = await this.engine.run("console", request);
      const time = performance.now() - began;
      if (model !== this.model) return; // another was loaded meanwhile
      const show = (/** @type {number} */ id) =>
        id === model.tokenizer.eot ? "⏎" : visible(model.tokenizer.show(id));
      const names = ids.map(show);
      this.strip.replaceChildren(
        ...ids.map((id, i) => make("li", {}, make("b", {}, names[i]), make("i", {}, String(id)))),
      );
      this.next.show(logits.slice(-model.config.vocabSize), show);
      this.map.set(noted[0], names, show);
      this.say(`${this.ready}; ${ids.length} tokens took ${time.toFixed(0)} ms`);
    } catch (error) {
      if (!String(error).includes(SUPERSEDED)) this.complain(error);
    }
  }

  /** @param {number} id */
  append(id) {
    const { tokenizer } = /** @type {NonNullable<typeof this.model>} */ (this.model);
    if (id === tokenizer.eot) this.say(`${END_OF_TEXT}: here the model would stop`);
    else this.setText(this.text.value + tokenizer.decode([id]));
  }

  /** Draw tokens, one after the other, until the reader stops it or the text ends. */
  async writeOn() {
    if (!this.model) return;
    const { tokenizer } = this.model;
    const before = this.text.value;
    /** @type {number[]} */
    const written = [];
    const add = (/** @type {number} */ id) => {
      if (id === tokenizer.eot) return;
      written.push(id);
      this.text.value = before + tokenizer.decode(written);
    };
    try {
      const began = performance.now();
      const settings = { ...this.next.settings, eosId: tokenizer.eot, overflow: "crop" };
      const request = { ids: this.ids(this.model), n: WRITTEN, key: "write", settings };
      const { answer, cancel } = this.engine.stream("console", request, add);
      this.stop.onclick = cancel;
      this.stop.hidden = false;
      await answer;
      const rate = (1000 * written.length) / (performance.now() - began);
      await this.look();
      this.say(`${written.length} tokens written, ${rate.toFixed(0)} a second`);
    } catch (error) {
      this.complain(error);
    } finally {
      this.stop.hidden = true;
    }
  }
}

class ConsoleElement extends HTMLElement {
  connectedCallback() {
    const near = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      near.disconnect();
      new Console(this).useBundled();
    });
    near.observe(this);
  }
}

customElements.define("gpt2-console", ConsoleElement);
