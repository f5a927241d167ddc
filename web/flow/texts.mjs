// The texts that a reader can choose: a field, three examples, and behind "more" others and what is
// stored.

import { make } from "../exhibits/dom.mjs";
import { Strip } from "../exhibits/strip.mjs";
import { runsAsChips } from "./stored.mjs";

const SHOWN = 3; // examples
const READY = 3; // stored pass of GPT-2 that is one of them

export class Texts {
  /**
   * @param {Record<string, any>} settings
   * @param {string} value
   * @param {(changes: Record<string, any>) => void} begin
   */
  constructor({ text, chips = [], gpt2, learned }, value, begin) {
    const english = gpt2?.[READY - 1];
    const shown = english ? SHOWN - 1 : SHOWN;
    const others = chips.slice(shown);
    this.first = text; // of the book
    this.begin = begin;
    this.examples = /** @type {string[]} */ ([]); // the reader's own
    const onText = (/** @type {string} */ text) => begin({ text });
    this.strip = new Strip({ value, chips: chips.slice(0, shown), onText });
    const runs = runsAsChips("GPT-2’s stored passes", gpt2, (run) => begin({ run, off: [] }));
    const see = () => {
      this.open(true);
      runs.querySelector("button")?.focus();
    };
    const told = "GPT-2 knows English: see its five stored passes";
    this.english = make("button", { onclick: see, hidden: !gpt2 }, told);
    this.rest = make(
      "div",
      {},
      runsAsChips("more beginnings", others, (nth) => begin({ text: others[nth - 1] })),
      runs,
      runsAsChips("the crane while it learned", learned?.texts, (learned) => begin({ learned })),
    );
    if (english) {
      const onclick = () => begin({ run: READY, off: [] });
      const chip = make(
        "button",
        { class: "flow-ready", title: english, onclick },
        `GPT-2: ${english}`,
      );
      this.strip.chips.append(chip);
    }
    this.more = make("button", { class: "flow-more", onclick: () => this.open(this.rest.hidden) });
    this.more.hidden = !gpt2 && !learned && !others.length;
    this.strip.list.before(
      make("div", { class: "flow-examples" }, this.strip.chips, this.more),
      this.rest,
    );
    this.open(false);
  }

  /**
   * Examples from the text that a model of the reader's has learned from, in place of the book's; the
   * first is shown, if the reader has not asked for another text.
   * @param {import("../exhibits/page_model.mjs").From} [from]
   */
  own(from) {
    const examples = from?.examples ?? [];
    if (!examples.length || this.examples === examples) return;
    this.examples = examples;
    this.strip.offer(examples);
    if (this.strip.input.value === this.first) this.begin({ text: examples[0] });
    this.more.hidden = true;
    this.open(false);
  }

  /** @param {boolean} opens  what is stored */
  open(opens) {
    this.rest.hidden = !opens;
    this.more.ariaExpanded = String(opens);
    this.more.textContent = opens ? "fewer" : "more";
  }
}
