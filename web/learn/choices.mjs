// What a reader chooses before a run: the text, the size of the model, and the rest in a fold.

import { choice as select, labelled, make } from "../exhibits/dom.mjs";
import { Switchboard, choose } from "../exhibits/switchboard.mjs";
import { Begun } from "./begun.mjs";
import { secondsOf } from "./estimate.mjs";
import { EXPERIMENTS } from "./experiments.mjs";
import { OwnText } from "./own_text.mjs";
import { DATA, SIZES, planOf, problem, rateOf, sizesOf } from "./settings.mjs";
import { runs, workers } from "./start.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Choice, Kind, Sizes } from "./settings.mjs" */

const NUMBERS = /** @type {[keyof Sizes, string][]} */ ([
  ["T", "window, in tokens"],
  ["batch", "windows in a batch"],
  ["steps", "steps"],
]);
const SWITCHES = /** @type {[keyof Choice["switches"], string][]} */ ([
  ["mask", "mask"],
  ["positions", "positions"],
  ["layerNorm", "LayerNorm"],
]);

/** @param {string} data  what a model of which size learns in good time */
function sizeFor(data) {
  return data === "sentences" ? "small" : "first";
}

export class Choices {
  /**
   * @param {Page} page
   * @param {() => void} changed
   */
  constructor({ state, settings, complain }, changed) {
    this.state = state;
    this.changed = changed;
    const changes = /** @type {string[]} */ (settings.experiments ?? Object.keys(EXPERIMENTS));
    state.declare("learn.data", settings.data ?? "crane", { among: Object.keys(DATA) });
    state.declare("learn.size", settings.size ?? sizeFor(settings.data), {
      among: Object.keys(SIZES),
    });
    state.declare("learn.beside", settings.experiment ?? "none", { among: ["none", ...changes] });
    state.declare("learn.seed", 0, { min: 0, max: 65535, whole: true });
    this.meaning = settings.meaning ?? ""; // of more settings
    this.sizes = this.first();
    this.switches = { mask: true, positions: true, layerNorm: true };
    this.board = new Switchboard(
      state,
      [...(settings.compact ? [] : [choose("learn.data", "It learns from", Object.entries(DATA))])],
      "what it learns from",
    );
    this.size = select(
      Object.fromEntries(Object.entries(SIZES).map(([key, { says }]) => [key, says])),
      () => state.set({ "learn.size": this.size.value }),
    );
    const named = changes.map((key) => [key, EXPERIMENTS[key].name]);
    this.beside = select({ none: "none", ...Object.fromEntries(named) }, () =>
      state.set({ "learn.beside": this.beside.value }),
    );
    this.begun = new Begun(complain, () => this.set());
    const rest = make(
      "div",
      { class: "switchboard begun" },
      ...(settings.compact ? [] : [labelled("Its size", this.size)]),
      ...(changes.length ? [labelled("A second run beside it", this.beside)] : []),
      ...(settings.compact ? [] : this.begun.nodes),
    );
    this.fields = NUMBERS.map(([key, name]) => this.number(key, name));
    this.boxes = SWITCHES.map(([key]) => this.box(key));
    this.more = this.fold();
    this.own = new OwnText(complain, changed);
    this.element = make(
      "div",
      { class: "choices" },
      this.board.element,
      this.own.element,
      rest,
      ...(settings.compact ? [] : [this.more]),
    );
    this.set();
  }

  first = () => sizesOf(this.data, this.state.get("learn.size"));

  /** @returns {Kind} */
  get data() {
    return this.state.get("learn.data");
  }

  // the key of the experiment beside the run, or "none"
  get second() {
    return this.state.get("learn.beside");
  }

  /**
   * @param {keyof Sizes} key
   * @param {string} name
   */
  number(key, name) {
    const field = make("input", {
      type: "number",
      inputmode: "numeric",
      oninput: () => {
        this.sizes = { ...this.sizes, [key]: field.value === "" ? NaN : Number(field.value) };
        this.changed();
      },
    });
    return { key, field, element: labelled(name, field) };
  }

  /** @param {keyof Choice["switches"]} key */
  box(key) {
    const box = make("input", {
      type: "checkbox",
      checked: true,
      onchange: () => {
        this.switches[key] = box.checked;
        this.changed();
      },
    });
    return box;
  }

  fold() {
    this.seed = make("input", {
      type: "number",
      min: "0",
      max: "65535",
      onchange: () => this.state.set({ "learn.seed": Number(this.seed.value) }),
    });
    const switches = SWITCHES.map(([, name], i) =>
      make("label", { class: "switch" }, this.boxes[i], name),
    );
    return make(
      "details",
      { class: "more" },
      make("summary", {}, "more settings"),
      make(
        "div",
        { class: "switchboard" },
        ...this.fields.map(({ element }) => element),
        labelled("seed", this.seed),
        ...switches,
      ),
      make("p", { class: "soft" }, this.meaning),
    );
  }

  /**
   * The choice itself has changed: its sizes begin where they should.
   * @param {boolean} other  data, so that another size fits
   */
  renew(other) {
    if (other) this.state.set({ "learn.size": sizeFor(this.data) });
    this.sizes = this.first();
    this.set();
  }

  set() {
    this.board.set();
    const begun = this.begun.model;
    this.size.value = this.state.get("learn.size");
    this.size.disabled = Boolean(begun);
    if (begun) this.sizes.T = begun.model.T;
    this.own.set(Boolean(begun));
    this.beside.value = this.second;
    this.seed.value = String(this.state.get("learn.seed"));
    this.own.element.hidden = this.data !== "text";
    for (const { key, field } of this.fields) {
      if (document.activeElement !== field) field.value = String(this.sizes[key]);
      if (key === "T") field.disabled = Boolean(begun);
    }
  }

  /**
   * What a run was begun with.
   * @param {import("./drive.mjs").Plan} plan
   */
  adopt({ data, model, batch, seed, switches, settings: { steps } }) {
    const size = Object.entries(SIZES).find(
      ([, { nLayer, nEmbd }]) => nLayer === model.nLayer && nEmbd === model.nEmbd,
    );
    this.state.set({
      "learn.data": data.kind,
      "learn.size": size?.[0] ?? "first",
      "learn.seed": seed,
      "learn.beside": "none",
    });
    this.begun.set(null);
    this.sizes = { T: model.T, batch, steps };
    this.switches = { mask: true, positions: true, layerNorm: true, ...switches };
    SWITCHES.forEach(([key], i) => (this.boxes[i].checked = this.switches[key]));
    if (data.kind !== "text") return;
    this.own.unit = data.unit;
    this.own.fill(data.text);
  }

  /** @param {number} lr */
  chosen(lr) {
    const { data, sizes, switches, state } = this;
    const { text, unit } = this.own;
    const [size, seed] = [state.get("learn.size"), state.get("learn.seed")];
    const begun = this.begun.model;
    return { data, size, seed, lr, sizes, switches: { ...switches }, text, unit, begun };
  }

  /**
   * The plans of one run, or of two; throws what the reader should choose instead.
   * @param {number} lr
   */
  async plans(lr) {
    const choice = this.chosen(lr);
    const own = choice.data === "text" ? (await runs()).checkText(choice.text) : "";
    const wrong = problem(choice) || own;
    if (wrong) throw new Error(wrong);
    if (this.second === "none") return [planOf(choice, workers())];
    const plan = planOf(choice, 1);
    return [plan, EXPERIMENTS[this.second].change(plan)];
  }

  /** How long the run that is chosen takes, in seconds; 0 where it is not to be said. */
  get seconds() {
    const choice = this.chosen(this.lr);
    if (problem(choice)) return 0;
    const two = this.second !== "none";
    return secondsOf(planOf(choice, two ? 1 : workers()));
  }

  get lr() {
    return rateOf(this.data);
  }
}
