// A tour of ten steps through the picture: each sets it by the page's state, so that it can be linked.

import { fixed, make } from "../exhibits/dom.mjs";

/** @import { State } from "../exhibits/state.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Writer } from "./writer.mjs" */
/** @typedef {{options: string[], right: string}} Guess */

/**
 * `task` comes first; `answer` is told of the pass that is shown, after a guess or an act where the
 * step has one. `set` is what it shows. `chapter` explains it.
 * @typedef {{title: string, task: string, answer: (pass: Pass, done: boolean) => string,
 *   set: Record<string, any>, chapter: number, guess?: Guess, act?: string}} Step
 */

const KEYS = ["text", "run", "learned", "off", "set", "bug", "versus", "at", "place", "station"];
const two = (/** @type {number} */ value) => fixed(value, 2);
const [CRANE, MARSH] = [6, 3]; // tokens

/** @param {Pass} pass @param {number} stage */
const saidAt = ({ lens }, stage) => lens[stage]?.[CRANE];
/** @param {Pass} pass @param {number} block @param {number} head @param {number} key */
const weight = ({ weights, tokens }, block, head, key) =>
  two(weights[block][head][CRANE * tokens.length + key]);
/** @param {Pass} pass */
const ofAte = ({ next }) => two(next.find(({ name }) => name === "␣ate")?.p ?? 0);

/** @type {Step[]} */
export const STEPS = [
  {
    title: "Seven pieces",
    task: "The text is cut into tokens.",
    answer: ({ ids }) => `${ids.length} of them, one number each: ␣crane is ${ids[CRANE]}.`,
    set: { station: 0 },
    chapter: 1,
  },
  {
    title: "Each fetches a vector",
    task: "128 numbers for the token, from a table, plus 128 for its place.",
    answer: () => "The first nine are drawn: blue above zero, ochre below.",
    set: { station: 3 },
    chapter: 2,
  },
  {
    title: "Predict",
    task: "After block 0, before ␣marsh has reached ␣crane: what would the model say next?",
    answer: (pass) => {
      const said = saidAt(pass, 2);
      return said
        ? `${said.name} (${two(said.p)}). It bets on the machine: ${two(said.machine)} against ${two(said.bird)} for the bird.`
        : "";
    },
    guess: { options: ["crane", "ate", "lifted"], right: "lifted" },
    set: { station: 19 },
    chapter: 17,
  },
  {
    title: "Tokens look back",
    task: "In block 1 two heads look from ␣crane at ␣marsh.",
    answer: (pass) =>
      `They take ${weight(pass, 1, 0, MARSH)} and ${weight(pass, 1, 2, MARSH)} of what they bring from there.`,
    set: { station: 27 },
    chapter: 6,
  },
  {
    title: "The stream turns",
    task: "What they bring is added.",
    answer: (pass) => {
      const [before, after] = [2, 3].map((stage) => saidAt(pass, stage));
      return before && after
        ? `The bird had ${two(before.bird)}, now it has ${two(after.bird)}. Nothing was replaced; something was added.`
        : "";
    },
    set: { station: 30 },
    chapter: 8,
  },
  {
    title: "Why so much?",
    task: "A query meets a key: 32 products, one sum.",
    answer: (pass) =>
      `Divided by √32 and made a share, it is ${weight(pass, 1, 0, MARSH)}. Press next for the other products.`,
    set: { place: "1.0.6.3.16" },
    chapter: 4,
  },
  {
    title: "Each thinks alone",
    task: "The MLP sees one token at a time.",
    answer: ({ lit, units }) =>
      `Of its ${units} units ${lit?.[1][CRANE]} are lit at ␣crane. Click one.`,
    set: { place: "1.mlp" },
    chapter: 7,
  },
  {
    title: "A look that carries little",
    task: "Head 2.3 looks at the beginning.",
    answer: (pass) =>
      `It gives ⟨end⟩ ${weight(pass, 2, 3, 0)}: a place to look when there is nothing to look for.`,
    set: { place: "2.3" },
    chapter: 17,
  },
  {
    title: "Cut it",
    task: "Head 1.0, the thickest ribbon, is cut.",
    answer: (pass, done) =>
      done
        ? `Without both ␣ate falls to ${ofAte(pass)}. Weights are not effects.`
        : `Still ␣ate (${ofAte(pass)}). Cut 1.2, too.`,
    act: "cut 1.2",
    set: { off: ["1.0"] },
    chapter: 17,
  },
  {
    title: "Choose, and again",
    task: "A dart picks one of the words, by their shares.",
    answer: (_, done) =>
      done
        ? "It became the eighth lane. The seven others need not be computed again."
        : "Throw it: the word becomes the eighth lane.",
    act: "throw the dart",
    set: {},
    chapter: 15,
  },
];

export class Tour {
  /**
   * @param {State} state
   * @param {{open: HTMLElement, text: string, field: HTMLInputElement, writer: Writer,
   *   chapters?: string[]}} more  `open`: the button that begins it; `chapters`: their addresses
   */
  constructor(state, { open, text, field, writer, chapters = [] }) {
    this.state = state;
    this.open = open;
    this.text = text;
    this.field = field;
    this.writer = writer;
    this.chapters = chapters;
    /** @type {Record<string, any> | null} */
    this.before = null; // what was shown before the tour
    this.guessed = "";
    this.card = make("section", {
      class: "flow-tour",
      "aria-label": "tour",
      tabindex: "-1",
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (by) this.go(this.state.get("tour") + by);
        else if (event.key === "Escape") this.close();
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
    });
  }

  /** @param {number} n  step, from 1 */
  go(n) {
    if (n < 1) return;
    if (n > STEPS.length) {
      this.close();
      this.state.set({ text: this.text });
      this.field.focus();
      return;
    }
    const { state } = this;
    this.before ??= Object.fromEntries(KEYS.map((key) => [key, state.get(key)]));
    const first = {
      text: this.text,
      run: 0,
      learned: 0,
      off: [],
      set: [],
      versus: "",
      at: CRANE,
      place: "",
      station: -1,
    };
    state.set({ ...first, ...STEPS[n - 1].set, tour: n });
    this.card.hidden = false; // what is hidden takes no focus
    this.card.focus({ preventScroll: true });
  }

  close() {
    this.state.set({ tour: 0, ...this.before });
    this.before = null;
  }

  /** @param {Pass} pass  that is shown */
  set(pass) {
    const n = Math.min(this.state.get("tour"), STEPS.length);
    this.open.hidden ||= n > 0;
    this.card.hidden = !n;
    if (!n) return;
    const { title, task, answer, guess, act, chapter } = STEPS[n - 1];
    const fits = pass.text.startsWith(this.text) && pass.ids.length > CRANE;
    const done = n === 9 ? this.state.get("off").length > 1 : this.state.get("text") !== this.text;
    const waits = guess && !this.guessed;
    const button = (/** @type {string} */ name, /** @type {() => void} */ onclick, more = {}) =>
      make("button", { type: "button", onclick, ...more }, name);
    const say = (/** @type {string} */ option) => {
      this.guessed = option;
      this.set(pass);
    };
    const verdict =
      guess && this.guessed ? (this.guessed === guess.right ? "Right: " : "No: ") : "";
    const acts = () => {
      if (n === 9) this.state.set({ off: ["1.0", "1.2"] });
      else this.writer.begin(1);
    };
    const address = this.chapters[chapter - 1];
    const where = `chapter ${chapter}`;
    const focused = this.card.contains(document.activeElement);
    this.card.replaceChildren(
      make("p", { class: "flow-step" }, `${n} of ${STEPS.length}`),
      make("h3", {}, title),
      make(
        "p",
        { "aria-live": "polite" },
        `${task} `,
        fits && !waits ? verdict + answer(pass, done) : "",
      ),
      make(
        "div",
        { class: "flow-tour-acts" },
        button("◀", () => this.go(n - 1), { "aria-label": "back", disabled: n === 1 }),
        ...(waits ? guess.options.map((one) => button(one, () => say(one))) : []),
        ...(act && !done ? [button(act, acts)] : []),
        button(n < STEPS.length ? "▶" : "type your own", () => this.go(n + 1), {
          "aria-label": n < STEPS.length ? "on" : "type your own",
        }),
        ...(address ? [make("a", { href: address }, `${where} →`)] : [make("span", {}, where)]),
        button("close", () => this.close()),
      ),
    );
    if (focused) this.card.focus({ preventScroll: true }); // the button that had it is gone
  }
}
