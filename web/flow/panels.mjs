// What stands below the picture where a page asks for it: a text that gives a vector, the tensors of
// the pass, and what does the computing.

import { make } from "../exhibits/dom.mjs";
import { machine } from "../exhibits/machine.mjs";
import { Patch } from "./patch.mjs";
import { Tensors } from "./tensors.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Pass } from "./pass.mjs" */

/**
 * `settings.giver`: the other text; `settings.tensors`: "open" or "folded", the second with the engine.
 * @param {Page} page
 * @param {{switches: () => Record<string, any>, forget: () => void}} more  `forget`: what was computed
 */
export function panels(page, { switches, forget }) {
  const { settings, update } = page;
  const folded = settings.tensors === "folded";
  /** Folds that are open, and stay so when another model comes. @type {Set<string>} */
  const open = (settings.open ??= new Set());
  const patch = settings.giver === undefined ? null : new Patch(page);
  const tensors = settings.tensors
    ? new Tensors(page, { switches, summary: folded ? "Every tensor of the pass" : "" })
    : null;
  const engine = folded ? machine({ ...page, update: () => (forget(), update()) }) : null;
  const fold = make("details", {}, make("summary", {}, "Model and arithmetic"));
  if (engine) fold.append(engine.element);
  for (const one of [tensors?.element, fold]) {
    if (!(one instanceof HTMLDetailsElement)) continue;
    const name = one.querySelector("summary")?.textContent ?? "";
    one.open = open.has(name);
    one.ontoggle = () => {
      if (one.open) open.add(name);
      else open.delete(name);
      update();
    };
  }
  return {
    patch,
    nodes: [...(tensors ? [tensors.element] : []), ...(engine ? [fold] : [])],
    /**
     * @param {Pass} pass
     * @param {number} at
     * @param {() => boolean} latest
     */
    set: async (pass, at, latest) => {
      await tensors?.set(pass, at, latest);
      if (!fold.open) return;
      await page.model.ready();
      await engine?.show();
    },
  };
}
