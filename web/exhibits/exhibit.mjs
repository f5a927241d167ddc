// What every exhibit is: an element that holds the notebook's own output until it comes into view,
// and then answers. It shares the page's state and model with all others.

import { firstLine } from "./acts.mjs";
import { asTable } from "./as_table.mjs";
import { cover, make } from "./dom.mjs";
import { modelFromDrop } from "./files.mjs";
import { model } from "./page_model.mjs";
import { bookButton, checkFamily, choices, inWords } from "./model_choice.mjs";
import { state } from "./state.mjs";
import { remarkOn, whoAnswers } from "./crane_world.mjs";
import { nextTask } from "../tasks.mjs";

/** @import { State } from "./state.mjs" */
/** @import { Table } from "./as_table.mjs" */
/** @import { Files } from "./page_model.mjs" */

/**
 * What a kind of exhibit is given: the settings of its notebook, what the page shares, and a way to
 * say in a sentence what is to be seen now.
 * @typedef {{settings: Record<string, any>, state: State, model: typeof model,
 *   say: (sentence: string) => void, sentence: HTMLElement, element: HTMLElement,
 *   update: () => Promise<void>, again: () => void, complain: (error: unknown) => void}} Page  a kind may place the
 *   sentence among its nodes; else it stands below them
 */

/**
 * What a kind makes of it. `show` computes and paints what the state asks for; `latest()` is false
 * when the state has changed again meanwhile: then nothing more should be painted. `table` is what
 * is shown, as a table. `names`: it says itself which model answers. `concerns` tells which entries of
 * the state matter; all, if not given. `act` does what the sentence above asks for; `whole` is the place in
 * One pass, as its address names it.
 * @typedef {{nodes: (Node | string)[], show: (latest: () => boolean) => Promise<void> | void,
 *   table: () => Table, names?: boolean, concerns?: (name: string) => boolean,
 *   act?: import("./hand.mjs").Act, whole?: () => Record<string, string>}} Parts
 */

/** @typedef {(page: Page) => Parts} Kind */

const PATIENCE = 300; // milliseconds after which a reader is told that something is computed
const LOST = 10_000; // milliseconds after which the engine may be lost
const QUIET = 700; // milliseconds without a change after which a sentence is read aloud

const NO_ANSWER = "The model has not answered for ten seconds. “reset” starts it anew.";

export class Exhibit extends HTMLElement {
  /** @type {Kind} */
  static kind;
  static needsModel = true;
  static takesLlama = false;
  /** @type {(settings: Record<string, any>) => boolean | Promise<boolean>} */
  static waits = () => true; // for the model, before anything is shown

  constructor() {
    super();
    this.state = state;
    this.model = model;
    /** @type {Record<string, any>} */
    this.settings = {};
    this.sentence = make("p", { class: "sentence" }); // what changed
    this.aloud = make("p", { class: "aloud", role: "status" });
    this.status = make("p", { class: "status" }); // what went wrong, or takes long
    this.awake = false;
    this.round = 0;
    this.timer = 0;
    this.leave = () => {};
    /** @type {Parts | null} */
    this.parts = null;
    /** @type {Node[] | null} */
    this.printed = null; // what the notebook has here
  }

  connectedCallback() {
    if (this.awake) return;
    const before = document.querySelectorAll(`${this.localName}[id]`).length;
    this.id ||= before ? `${this.localName}-${before + 1}` : this.localName;
    if (location.hash === `#${this.id}`) this.scrollIntoView(); // a link that was made here
    if (this.own.needsModel) {
      this.ondragover = (event) => event.preventDefault();
      this.ondrop = (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        this.bring(modelFromDrop(event.dataTransfer));
      };
    }
    const seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        seen.disconnect();
        this.wake();
      },
      { rootMargin: "300px" },
    );
    seen.observe(this);
    this.leave = () => seen.disconnect();
  }

  disconnectedCallback() {
    this.leave();
  }

  async wake() {
    if (this.awake) return;
    this.awake = true;
    this.dataset.state = "waking";
    try {
      this.settings = JSON.parse(this.dataset.settings ?? "{}");
      if (await this.own.waits(this.settings)) await this.model.ready();
      this.printed ??= [...this.childNodes];
      this.begin();
    } catch (error) {
      this.fail(error);
      return;
    }
    const ends = [
      this.state.subscribe((changed) => {
        const { concerns = () => true } = this.parts ?? {};
        if ([...changed].some(concerns)) this.update();
      }),
    ];
    const themed = new MutationObserver(() => this.update()); // a canvas keeps its colours
    const [page, lab] = [document.documentElement, document.body];
    themed.observe(page, { attributeFilter: ["data-theme"] });
    themed.observe(lab, { attributeFilter: ["data-jp-theme-light"] });
    ends.push(() => themed.disconnect());
    const other = () => this.again();
    if (this.own.needsModel) this.model.listeners.add(other);
    this.leave = () => {
      for (const end of ends) end();
      this.model.listeners.delete(other);
      this.awake = false;
    };
    await nextTask(); // what it answers is work of its own
    await this.update();
  }

  /** For another model, which has other sizes. */
  again() {
    try {
      this.begin();
      this.update();
    } catch (error) {
      this.fail(error);
    }
  }

  get own() {
    return /** @type {typeof Exhibit} */ (this.constructor);
  }

  begin() {
    const { settings, state, model, sentence } = this;
    checkFamily(this.own, model);
    this.parts = this.own.kind({
      settings,
      state,
      model,
      sentence,
      element: this,
      say: (text) => this.say(text),
      update: () => this.update(),
      again: () => this.again(),
      complain: (error) => this.complain(error),
    });
    this.replaceChildren(...this.frame(this.parts));
    cover(this, true); // until its first answer: then nothing moves
  }

  /** @param {Parts} parts */
  frame(parts) {
    const { nodes } = parts;
    this.first = firstLine(this, this.settings.first ?? "", parts);
    const placed = nodes.some((node) => node instanceof Node && node.contains(this.sentence));
    this.tableFold = make(
      "details",
      { class: "as-table", ontoggle: () => this.writeTable() },
      make("summary", {}, "show as table"),
      (this.tablePlace = make("div", { class: "scroll", tabindex: "0" })),
    );
    const link = make("button", { onclick: () => this.link() }, "link to this");
    const own = this.own.needsModel ? choices(this) : [];
    const take = document.createElement("g2-take"); // the site makes something of it: take.js
    const again = make("button", { onclick: () => this.reset() }, "reset");
    return [
      ...(this.settings.first ? [this.first.element] : []),
      ...nodes,
      ...(placed ? [] : [this.sentence]),
      this.status,
      this.aloud,
      make("div", { class: "foot" }, this.tableFold, make("span", {}, ...own, take, link, again)),
    ];
  }

  /** @param {Promise<Files>} files */
  async bring(files) {
    this.complain("The model is loaded …");
    try {
      const { name } = await this.model.use(await files);
      await this.update();
      if (this.dataset.state !== "ready") return; // it says why
      this.complain(`${name} answers now, here and in the book's other exhibits.`);
    } catch (error) {
      this.complain(error);
    }
  }

  async update() {
    const round = ++this.round;
    const latest = () => round === this.round && this.isConnected;
    this.dataset.state = "busy";
    const slow = [
      setTimeout(() => latest() && this.complain("The model computes …"), PATIENCE),
      setTimeout(() => latest() && this.complain(NO_ANSWER), LOST),
    ];
    try {
      await this.parts?.show(latest);
      if (!latest()) return;
      const plain = !this.own.needsModel || this.parts?.names;
      this.complain(plain ? "" : remarkOn(this.state.texts) || whoAnswers());
      this.dataset.state = "ready";
      this.first?.follow();
      this.writeTable();
    } catch (error) {
      if (!latest()) return;
      this.complain(error);
      this.dataset.state = "stale";
    } finally {
      slow.forEach(clearTimeout);
      if (latest() && this.hasAttribute("data-new")) cover(this, false);
    }
  }

  /** Everything as in the beginning; an engine that does not answer is replaced. */
  reset() {
    if (this.dataset.state === "busy") this.model.restart();
    this.state.reset();
    if (this.dataset.state !== "ready") this.update();
  }

  /**
   * Say in a sentence what is to be seen now.
   * @param {string} sentence
   */
  say(sentence) {
    this.sentence.textContent = sentence;
    clearTimeout(this.timer);
    this.timer = Number(setTimeout(() => (this.aloud.textContent = sentence), QUIET));
  }

  /** @param {unknown} what  a sentence, or an error */
  complain(what) {
    this.status.textContent = typeof what === "string" ? what : inWords(what);
  }

  /**
   * The notebook's own output stays, with the reason.
   * @param {unknown} error
   */
  fail(error) {
    this.leave();
    this.complain(`What is printed here does not answer: ${inWords(error)} `);
    this.status.append(make("button", { onclick: () => this.wake() }, "try again"));
    if (this.model.loaded?.own) this.status.append(" ", bookButton(this));
    if (this.printed) this.replaceChildren(...this.printed);
    this.append(this.status);
    this.dataset.state = "failed";
    this.awake = false;
  }

  async link() {
    this.state.write(`#${this.id}`);
    const said = await Promise.resolve(navigator.clipboard?.writeText(location.href)).then(
      () => "The link is in the clipboard.",
      () => "The page's address leads to what is shown now: copy it.",
    );
    this.complain(said);
  }

  writeTable() {
    if (!this.tableFold?.open || !this.tablePlace || !this.parts) return;
    this.tablePlace.replaceChildren(asTable(this.parts.table()));
  }
}

/**
 * @param {string} name  <gpt2-name>
 * @param {Kind} kind
 * @param {{needsModel?: boolean, takesLlama?: boolean, waits?: typeof Exhibit.waits}} [options]
 *   needsModel false: it answers without the model; takesLlama: it shows no part that only GPT-2 has;
 *   waits: whether it begins only once the model is there, or asks for it when it needs it
 */
export function define(name, kind, { needsModel = true, ...more } = {}) {
  const one = class extends Exhibit {};
  Object.assign(one, { kind, needsModel, waits: () => needsModel, ...more });
  customElements.define(`gpt2-${name}`, one);
}
