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
    this.offer();
  }

  offer() {
    const { saved, where, acts } = this;
    const forget = /** @type {const} */ (["forget it", () => this.forget()]);
    if (!saved) return this.show(where, forget);
    const { step, plan, at } = saved;
    const { steps } = saved.state.settings;
    const here = where === "here";
    const kept = (/** @type {number} */ n) =>
      `is kept here: ${plan.name}, step ${count(n)}, from ${when(at)}.`;
    const open = () => acts.go(saved, 0);
    if (!finished(saved)) {
      const says = here ? `It has stopped at step ${count(step)}.` : `A run ${kept(step)}`;
      return this.show(says, ["go on", open], forget);
    }
    const more = Math.max(10, Math.round(steps / 2));
    const further = /** @type {const} */ ([
      `train ${count(more)} steps more`,
      () => acts.go(saved, more),
    ]);
    if (here) return this.show(`All ${count(steps)} steps are done.`, further, forget);
    this.show(`A finished run ${kept(steps)}`, ["open it", open], further, forget);
  }

  forget() {
    this.says = "";
    this.acts.drop();
  }

  /** Whether a new run has to wait for an answer, because it takes this one's place. */
  asks() {
    const { saved, says } = this;
    if (!saved || !says || saved.step <= DEAR) return false;
    this.show(
      `A new run takes the place of ${saved.plan.name}, step ${count(saved.step)}, which cannot be brought back.`,
      ["begin anew", this.acts.begin],
      ["keep it", () => this.offer()],
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
