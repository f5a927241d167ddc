// The line above the picture: the way from the model to the place that is shown.

import { make } from "../exhibits/dom.mjs";

/** @import { Place } from "./place.mjs" */

export class Crumbs {
  /** @param {(place: Place) => void} go */
  constructor(go) {
    this.go = go;
    this.told = "";
    this.element = make("nav", {
      class: "flow-crumbs",
      "aria-label": "where you are in the model",
    });
  }

  focus() {
    this.element.querySelector("button")?.focus({ preventScroll: true });
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
        ? make("button", { type: "button", onclick: () => this.go(place) }, name)
        : make("b", { "aria-current": "location" }, name),
    ]);
    this.element.hidden = !last; // it leads nowhere
    this.element.replaceChildren(...nodes);
  }
}
