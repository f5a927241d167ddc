// What stands in a line beside the picture: which model answers, what its colours mean, what comes next.

import { unknown, whoAnswers } from "../exhibits/crane_world.mjs";
import { bare, fixed, make } from "../exhibits/dom.mjs";
import { bookButton } from "../exhibits/model_choice.mjs";
import { gpt2Button, megabytes } from "../exhibits/published.mjs";
import { inSentences } from "./pass.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Texts } from "./texts.mjs" */

const GPT2 = "GPT-2"; // the published one, when it answers
const OWN_RUN = "GPT-2 124M answered this once. Crane World’s model answers you.";
const LEARNING = "Crane World’s model while it learned.";

export class Lines {
  /**
   * @param {Page} page
   * @param {Texts} texts  their field comes first
   * @param {HTMLElement} tour  what begins it
   */
  constructor({ settings, state, model, element, complain }, { strip, english }, tour) {
    const { element: box, input } = strip;
    this.settings = settings;
    this.state = state;
    this.model = model;
    this.input = input;
    this.told = make("ol", { class: "aloud" });
    this.says = make("span", { role: "status" });
    this.legend = make("p", { class: "soft flow-legend" });
    const use = (/** @type {any} */ files) => /** @type {any} */ (element).bring(files);
    this.gpt2 = gpt2Button(use, complain);
    this.book = bookButton(/** @type {any} */ (element), "back to the book’s model");
    this.book.addEventListener("click", () => {
      if (model.loaded?.from) state.set({ text: settings.text, at: -1 }); // whose words it knows
    });
    const little = make("span", { class: "long" }, "Its answer means little. ");
    this.english = make("span");
    this.offer = [" ", little, english];
    this.who = make("p", { class: "soft flow-who" }, this.says, this.english, " ");
    this.who.append(this.book, " ", this.gpt2);
    this.field = make("div", { class: "flow-field" }, input, tour);
    box.prepend(this.field); // the field first
    this.left = false; // a stored pass of GPT-2, for a text of the reader's
    this.unread = ""; // what of the text the model has never met, in a sentence
    /** @type {{text: string, says: string} | null} */
    this.changed = null; // what came of a text that was changed
    this.shown = false;
  }

  /**
   * @param {Pass} pass  that is shown
   * @param {{at: number, other?: Pass | null, writes: boolean}} how  `other`: what it is compared
   *   with; `writes`: its text goes on
   * @param {string} [tells]  what is told instead
   * @returns {(Node | string)[]}  what comes next
   */
  set(pass, { at, other, writes }, tells) {
    const { settings, state, input, says, legend, changed } = this;
    const { loaded } = this.model;
    const [run, { text }] = [state.get("run"), pass];
    const chips = settings.chips ?? [];
    this.left = Boolean(run) || (this.left && !chips.includes(text));
    const strange = run || state.get("learned") ? [] : unknown(text);
    this.unread = neverRead(strange);
    const now = this.left ? "Crane World’s model answers now." : "";
    const book = this.unread || now || bookAnswers(settings.parameters);
    const answers = ownAnswers(loaded?.from) || book;
    const told = run ? OWN_RUN : state.get("learned") ? LEARNING : answers;
    if (!strange.length) this.english.replaceChildren();
    else if (!this.english.firstChild) this.english.append(...this.offer); // else it keeps the focus
    this.who.classList.toggle("unread", strange.length > 0);
    this.nameGpt2();
    const line = changed?.text === pass.text ? changed.says : told;
    this.who.classList.toggle("fresh", line === changed?.says && line !== "");
    if (says.textContent !== line) says.textContent = line; // it is read aloud
    this.book.hidden = !loaded?.own || Boolean(state.get("run") || state.get("learned"));
    this.gpt2.hidden = !settings.gpt2 || loaded?.name === GPT2;
    legend.hidden = strange.length > 0; // there they mean little
    const thing = loaded?.from?.unit === "characters" ? "character" : "word";
    legend.replaceChildren(...legendOf(pass, Boolean(other), thing));
    this.told.replaceChildren(...inSentences(pass, at).map((one) => make("li", {}, one)));
    // What was written last; at first that would have all of it laid out.
    if (this.shown) input.scrollLeft = writes ? input.scrollWidth : 0;
    this.shown = true;
    const first = tells ?? this.unread;
    return first ? [first] : answerOf(pass, writes);
  }

  /** With its size, where a stored pass of it was seen or the present model does not know a word. */
  nameGpt2() {
    const size = this.left || this.unread ? ` (${megabytes()} MB)` : "";
    const label = `use ${this.left ? "all of " : ""}GPT-2${size}`;
    if (this.gpt2.textContent !== label) this.gpt2.textContent = label;
  }
}

/**
 * What the book's model has never met.
 * @param {string[]} words
 */
function neverRead([first, ...more]) {
  if (!first) return "";
  const name = `“${Array.from(first).slice(0, 20).join("")}”`;
  return `Crane World has never read ${name}${more.length ? ` and ${more.length} more` : ""}.`;
}

/**
 * Which model answers, where it is the reader's, and what its tokens are.
 * @param {import("../exhibits/page_model.mjs").From} [from]
 */
function ownAnswers(from) {
  const tokens = {
    characters: " Each token is one character, and ␣ is a space.",
    merges: " A token is a word or a part of one, and ␣ is a space.",
  };
  return whoAnswers() && whoAnswers() + (from ? tokens[from.unit] : "");
}

/** @param {string} [parameters]  how many the book's model has */
function bookAnswers(parameters) {
  const size = parameters ? `${parameters} parameters for ` : "";
  return `Crane World’s model answers: ${size}a small language of stories.`;
}

/**
 * What the colours and words of the whole mean.
 * @param {Pass} pass
 * @param {boolean} compared
 * @param {string} thing  that a token is
 */
function legendOf({ next, lens }, compared, thing) {
  if (compared || !lens[0].at(-1)) return [];
  const either = next.some(({ sense }) => sense);
  const long = either ? "Is the crane a bird or a machine? " : "What the model would say ";
  const start = [
    make("span", { class: "long" }, long),
    either ? "If it stopped there: " : "if it stopped there: ",
  ];
  const dot = (/** @type {string} */ sense) => make("i", { class: sense });
  if (!either) return [...start, dot("winner"), ` the ${thing} that wins.`];
  return [...start, dot("bird"), " a bird’s verb, ", dot("machine"), " a machine’s."];
}

/**
 * The last words of a text, in so many characters: none is cut in half.
 * @param {string} text
 * @param {number} words  as slice() counts them
 * @param {number} most  characters, likewise
 */
export function endOf(text, words, most) {
  const end = text.split(/\s/).slice(words).join(" ");
  return Array.from(end).slice(most).join("");
}

/**
 * The end of the text and what comes next, in a line: more of the text while it is written. Where
 * heads are cut, the likeliest word also has what it had before.
 * @param {Pass} pass
 * @param {boolean} writes
 */
function answerOf({ text, next, uncut }, writes) {
  const [words, most, many] = writes ? [-5, -24, 1] : [-2, -18, 3];
  const shares = next.slice(0, many).filter(({ p }, i) => !i || p >= 0.005);
  return [
    `${endOf(text, words, most)} → `,
    ...shares.map(({ id, name, rest = "", p, sense = "" }, i) => {
      const of = { class: `share-of ${sense}`, style: `--share:${p.toFixed(3)}` };
      const before = uncut && !i ? `${fixed(uncut[id], 2)} → ` : "";
      return make("span", of, `${bare(name)}${rest} ${before}${fixed(p, 2)}`);
    }),
  ];
}
