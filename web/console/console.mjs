// <gpt2-console>: a text, its tokens, what comes next, and every tensor on the way.
//
// What stands in the element before is what readers without JavaScript see. The model is loaded
// when the console comes into view.

import { readConfig } from "../config.mjs";
import { SUPERSEDED } from "../messages.mjs";
import { bundledModel, loadTokenizer, startEngine } from "../page.mjs";
import { Bring } from "./bring.mjs";
import { choice, labelled, make, visible } from "../exhibits/dom.mjs";
import { NextTokens } from "./next_tokens.mjs";
import { Switches } from "./switches.mjs";
import { TensorMap } from "./tensor_map.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Tokenizer } from "../tokenizer.mjs" */
/** @typedef {{name: string, config: string, weights: Blob | ArrayBuffer}} Files */
/** @typedef {{config: Config, tokenizer: Tokenizer, story: boolean}} Loaded */

const BACKENDS = {
  auto: "automatic",
  wasm: "WebAssembly",
  "wasm-half": "WebAssembly, float16 weights",
  "wasm-int8": "WebAssembly, int8 weights: not identical",
  plain: "plain JavaScript",
  webgpu: "WebGPU",
};
const EXAMPLES = ["In the marsh, the crane", "In the city, the crane"];
const WRITTEN = 40; // tokens at a click
const FIRST_LOOK = "transformer.h.1.attn.weights";
const END = "⟨end⟩"; // <|endoftext|>
const PATIENCE = 300; // milliseconds after which a reader is told that the model computes

/** Which tokenizer a model has, by the size of its vocabulary. */
const TOKENIZERS = new Map([
  [1024, "crane"],
  [50257, "gpt2"],
]);

class Console {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.engine = startEngine();
    const look = () => this.look();
    const typed = () => {
      this.stopWriting();
      this.look();
    };
    this.text = make("textarea", { rows: "2", spellcheck: "false", oninput: typed }, EXAMPLES[0]);
    this.strip = make("ol", { class: "strip", "aria-label": "tokens", tabindex: "0" });
    this.next = new NextTokens((id) => this.append(id), look);
    this.write = make("button", { type: "button", onclick: () => this.writeOn() }, "write on");
    this.stop = make("button", { type: "button", disabled: true }, "stop");
    this.stop.onclick = () => this.stopWriting();
    this.status = make("p", { class: "status", role: "status" }, "The model is loaded …");
    this.took = make("p", { class: "soft took" }, " ");
    this.switches = new Switches(look);
    this.path = choice({}, look);
    this.backend = choice(BACKENDS, () => this.files && this.tryUse(this.files));
    this.map = new TensorMap();
    this.bring = new Bring(
      (files) => this.use(files),
      () => this.useBundled(),
    );
    this.bring.listen(element);
    const examples = EXAMPLES.map((text) =>
      make("button", { type: "button", onclick: () => this.setText(text) }, text),
    );
    element.replaceChildren(
      make("div", { class: "controls" }, ...examples),
      labelled("text", this.text),
      make("div", { class: "controls" }, this.write, this.stop),
      this.strip,
      this.status,
      make("h2", {}, "What comes next"),
      this.next.bars,
      this.next.knobs,
      this.took,
      make("h2", {}, "Look inside"),
      make(
        "div",
        { class: "controls" },
        labelled("tensor", this.path),
        labelled("arithmetic", this.backend),
      ),
      this.switches.element,
      this.map.element,
      this.bring.element,
    );
    /** @type {Files | null} */
    this.files = null;
    /** @type {Loaded | null} */
    this.model = null;
    this.inUse = this.backend.value;
    this.stopWriting = () => {};
  }

  /**
   * @param {string} sentence
   * @param {boolean} [stale]  what is shown belongs to something else
   */
  say(sentence, stale = false) {
    this.status.textContent = sentence;
    this.element.classList.toggle("stale", stale);
  }

  /** @param {unknown} error */
  complain(error) {
    this.say(error instanceof Error ? error.message : String(error), true);
  }

  /** @param {string} text */
  setText(text) {
    this.stopWriting();
    this.text.value = text;
    return this.look();
  }

  /** The model that comes with the page. */
  async useBundled() {
    try {
      await this.use({ name: "Crane World's model", ...(await bundledModel("crane")) });
    } catch (error) {
      this.complain(error);
    }
  }

  /** @param {Files} files */
  async tryUse(files) {
    try {
      await this.use(files);
    } catch (error) {
      this.say(/** @type {Error} */ (error).message);
    }
  }

  /**
   * Load a model in place of the present one, which stays if that fails.
   * @param {Files} files
   */
  async use(files) {
    const began = performance.now();
    const wanted = this.backend.value;
    const { name, config: text, weights } = files;
    try {
      const tokenizer = await this.tokenizerFor(files);
      const progress = (/** @type {number} */ share) =>
        this.say(`${name}: ${Math.round(100 * share)} % of the weights are read`);
      const request = { config: text, weights, backend: wanted };
      const { config, backend } = await this.engine.load("console", request, progress);
      this.files = files;
      this.inUse = wanted;
      this.model = { config, tokenizer, story: TOKENIZERS.get(config.vocabSize) === "crane" };
      const seconds = ((performance.now() - began) / 1000).toFixed(2);
      await this.listTensors();
      await this.look();
      this.say(`${name} runs in ${backend}, ready after ${seconds} s`);
    } catch (error) {
      this.backend.value = this.inUse;
      throw error;
    }
  }

  /** @param {Files} files */
  tokenizerFor({ name, config }) {
    const { vocabSize } = readConfig(config);
    const known = TOKENIZERS.get(vocabSize);
    if (known) return loadTokenizer(known);
    const sizes = "GPT-2's has 50,257, Crane World's 1,024";
    throw new Error(`${name} has ${vocabSize} tokens, and no tokenizer here as many: ${sizes}`);
  }

  /** The ledger's names, found by a pass of one token. */
  async listTensors() {
    const { noted } = await this.engine.run("console", { ids: [0], record: true });
    const chosen = this.path.value || FIRST_LOOK;
    const options = noted.map((/** @type {{path: string}} */ { path }) =>
      make("option", { value: path }, path.replace(/^transformer\.h\.(\d+)\./, "block $1 · ")),
    );
    this.path.replaceChildren(...options);
    this.path.value = chosen;
    if (!this.path.value) this.path.value = "logits";
  }

  /**
   * The text's ids; stories of Crane World begin where another ended.
   * @param {Loaded} model
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
    const slow = setTimeout(() => this.say("The model computes …", true), PATIENCE);
    try {
      const ids = this.ids(model);
      const record = [this.path.value];
      const switches = this.switches.settings;
      const began = performance.now();
      const request = { ids, key: "look", record, switches, lastOnly: true };
      const { logits, noted } = await this.engine.run("console", request);
      const time = performance.now() - began;
      if (model !== this.model) return; // another was loaded meanwhile
      const show = (/** @type {number} */ id) =>
        id === model.tokenizer.eot ? END : visible(model.tokenizer.show(id));
      const names = ids.map(show);
      this.strip.replaceChildren(
        ...ids.map((id, i) => make("li", {}, make("b", {}, names[i]), make("i", {}, String(id)))),
      );
      this.strip.scrollTop = this.strip.scrollHeight;
      this.next.show(logits, show);
      this.map.set(noted[0], names, show);
      const tokens = ids.length === 1 ? "1 token" : `${ids.length} tokens`;
      this.took.textContent = `${tokens} took ${time.toFixed(0)} ms`;
      if (this.element.classList.contains("stale")) this.say("");
    } catch (error) {
      if (!String(error).includes(SUPERSEDED)) this.complain(error);
    } finally {
      clearTimeout(slow);
    }
  }

  /** @param {number} id */
  append(id) {
    const { tokenizer } = /** @type {Loaded} */ (this.model);
    if (id === tokenizer.eot) this.say("Here the model would end its text.");
    else this.setText(this.text.value + tokenizer.decode([id]));
  }

  /** @param {boolean} now */
  writing(now) {
    this.write.disabled = now;
    this.stop.disabled = !now;
  }

  /** Draw tokens, one after the other, until the reader stops it or the text ends. */
  async writeOn() {
    if (!this.model) return;
    const { tokenizer } = this.model;
    const before = this.text.value;
    /** @type {number[]} */
    const written = [];
    let stopped = false;
    try {
      const began = performance.now();
      const switches = this.switches.settings;
      const own = { eosId: tokenizer.eot, overflow: "crop", switches };
      const settings = { ...this.next.settings, ...own };
      const request = { ids: this.ids(this.model), n: WRITTEN, key: "write", settings };
      const { answer, cancel } = this.engine.stream("console", request, (id) => {
        if (stopped || id === tokenizer.eot) return;
        written.push(id);
        this.text.value = before + tokenizer.decode(written);
      });
      this.stopWriting = () => {
        stopped = true;
        cancel();
      };
      this.writing(true);
      await answer;
      const rate = (1000 * written.length) / (performance.now() - began);
      await this.look();
      const end = "The text ends here: change it, or the seed.";
      this.say(
        written.length ? `${written.length} tokens written, ${rate.toFixed(0)} a second` : end,
      );
    } catch (error) {
      this.complain(error);
    } finally {
      this.stopWriting = () => {};
      this.writing(false);
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
