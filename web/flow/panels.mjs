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
  const patch = settings.giver === undefined ? null : new Patch(page);
  const tensors = settings.tensors
    ? new Tensors(page, { switches, summary: folded ? "Every tensor of the pass" : "" })
    : null;
  const engine = folded ? machine({ ...page, update: () => (forget(), update()) }) : null;
  const fold = make("details", { ontoggle: () => fold.open && update() });
  if (engine) fold.append(make("summary", {}, "Model and arithmetic"), engine.element);
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
