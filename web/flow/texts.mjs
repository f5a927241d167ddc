// The texts that a reader can choose: a field, a row of examples, and behind "more" what is stored.

import { make } from "../exhibits/dom.mjs";
import { Strip } from "../exhibits/strip.mjs";
import { runsAsChips } from "./stored.mjs";

export class Texts {
  /**
   * @param {Record<string, any>} settings
   * @param {string} value
   * @param {(changes: Record<string, any>) => void} begin
   */
  constructor({ chips, gpt2, learned }, value, begin) {
    this.strip = new Strip({ value, chips, onText: (text) => begin({ text }) });
    this.rest = make(
      "div",
      {},
      runsAsChips("GPT-2’s stored passes", gpt2, (run) => begin({ run, off: [] })),
      runsAsChips("the crane while it learned", learned?.texts, (learned) => begin({ learned })),
    );
    this.more = make("button", { class: "flow-more", onclick: () => this.open(this.rest.hidden) });
    this.more.hidden = !gpt2 && !learned;
    this.strip.list.before(
      make("div", { class: "flow-examples" }, this.strip.chips, this.more),
      this.rest,
    );
    this.open(false);
  }

  /** @param {boolean} opens  what is stored */
  open(opens) {
    this.rest.hidden = !opens;
    this.more.ariaExpanded = String(opens);
    this.more.textContent = opens ? "fewer" : "more";
  }
}
