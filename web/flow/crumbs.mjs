// The line above the picture: the way from the model to the place that is shown.

import { make } from "../exhibits/dom.mjs";

/** @import { Place } from "./place.mjs" */

export class Crumbs {
  /** @param {(place: Place) => void} way  to a place */
  constructor(way) {
    this.way = way;
    this.told = "";
    /** @type {Map<string, string | null>} */
    this.openers = new Map(); // of places: the names of what opened them
    this.element = make("nav", {
      class: "flow-crumbs",
      "aria-label": "where you are in the model",
    });
  }

  /**
   * @param {string} to  address
   * @param {import("../exhibits/state.mjs").State} state
   */
  go(to, state) {
    const deeper = to.length > state.get("place").length;
    if (deeper) this.openers.set(to, document.activeElement?.ariaLabel ?? null);
    if (to !== state.get("place")) state.step();
    state.set({ place: to });
  }

  /**
   * If what had the focus is gone, or plays: what opened the place that was left has it, or what plays
   * this one. The way out never has it: Space would close what has just been opened.
   * @param {SVGElement} picture
   * @param {string} left  address of a place
   * @param {HTMLElement[]} plays  buttons, of which one or none is seen
   */
  focus(picture, left, plays) {
    const has = document.activeElement;
    if (has !== document.body && !plays.some((play) => play === has)) return;
    /** @type {(SVGElement | HTMLElement)[]} */
    const all = [...picture.querySelectorAll(/** @type {"g"} */ ("[tabindex]"))];
    const name = this.openers.get(left);
    const opener = name && all.find((one) => one.getAttribute("aria-label") === name);
    const first = this.element.hidden && all.find(({ tabIndex }) => !tabIndex);
    const play = plays.find((one) => one.offsetParent);
    const here = this.element.querySelector("b");
    (opener || first || play || here)?.focus({ preventScroll: true });
  }

  /** @param {{name: string, place: Place}[]} trail */
  show(trail) {
    const told = JSON.stringify(trail);
    if (told === this.told) return; // a button that has the focus stays
    this.told = told;
    const last = trail.length - 1;
    const nodes = trail.flatMap(({ name, place }, i) => [
      ...(i ? [" › "] : []),
      i < last
        ? make("button", { type: "button", onclick: () => this.way(place) }, name)
        : make("b", { "aria-current": "location", tabindex: "-1" }, name),
    ]);
    this.element.hidden = !last; // it leads nowhere
    this.element.replaceChildren(...nodes);
    this.element.scrollLeft = this.element.scrollWidth; // where it is too long, its end is seen
  }
}
