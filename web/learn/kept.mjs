// The run that can be continued: of an earlier visit, or the one that has just ended.

import { make } from "../exhibits/dom.mjs";
import { finished } from "./drive.mjs";
import { count, when } from "./words.mjs";

/** @import { Saved } from "./drive.mjs" */

const DEAR = 300; // steps, which nobody wants to lose at a click

export class Kept {
  /**
   * @param {{go: (saved: Saved, more: number) => void, begin: () => void, drop: () => void}} acts
   *   more: steps than it was to have
   */
  constructor(acts) {
    this.acts = acts;
    /** @type {Saved | null} */
    this.saved = null;
    this.says = "";
    this.where = "";
    this.element = make("div", { class: "kept", hidden: true });
  }

  /**
   * @param {Saved | null} saved  null: there is none, or it cannot be continued
   * @param {string} where  "stored" by an earlier visit, "here" in the page; without a run the reason
   */
  set(saved, where) {
    if (saved && saved === this.saved) return;
    [this.saved, this.where] = [saved, where];
    if (!saved) return this.show(where, ["forget it", () => this.forget()]);
    const { go } = this.acts;
    const { step, plan, at } = saved;
    const { steps } = saved.state.settings;
    const more = Math.max(10, Math.round(steps / 2));
    const forget = /** @type {const} */ (["forget it", () => this.forget()]);
    if (!finished(saved)) {
      const kept = `A run is kept here: ${plan.name}, step ${count(step)}, from ${when(at)}.`;
      const says = where === "here" ? `It has stopped at step ${count(step)}.` : kept;
      return this.show(says, ["go on", () => go(saved, 0)], forget);
    }
    const further = /** @type {const} */ ([
      `train ${count(more)} steps more`,
      () => go(saved, more),
    ]);
    if (where === "here") return this.show(`All ${count(steps)} steps are done.`, further, forget);
    const open = /** @type {const} */ (["open it", () => go(saved, 0)]);
    const ended = `A finished run is kept here: ${plan.name}, ${count(steps)} steps, from ${when(at)}.`;
    this.show(ended, open, further, forget);
  }

  forget() {
    this.says = "";
    this.acts.drop();
  }

  /** Whether a new run has to wait for an answer, because it takes this one's place. */
  asks() {
    const { saved, says, where } = this;
    if (!saved || !says || saved.step <= DEAR) return false;
    const lost = `A new run takes the place of ${saved.plan.name}, step ${count(saved.step)}, which cannot be brought back.`;
    this.show(
      lost,
      ["begin anew", () => this.acts.begin()],
      [
        "keep it",
        () => {
          this.saved = null;
          this.set(saved, where);
        },
      ],
    );
    this.element.scrollIntoView({ block: "nearest" });
    return true;
  }

  /**
   * @param {string} says
   * @param {...Readonly<[string, () => void]>} acts  the first is the likeliest
   */
  show(says, ...acts) {
    this.says = says;
    const buttons = acts.map(([name, onclick], i) =>
      make("button", { onclick, class: i || acts.length === 1 ? "" : "main" }, name),
    );
    this.element.replaceChildren(make("p", { role: "status" }, says), ...buttons);
  }
}
