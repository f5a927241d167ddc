// The museum's bugs (chapter 19) in the picture: one at a time, without cuts and numbers set by hand.

import { choice, labelled } from "../exhibits/dom.mjs";
import { BUGS, meet } from "../exhibits/museum_bugs.mjs";

/** @import { model as PageModel } from "../exhibits/page_model.mjs" */
/** @import { State } from "../exhibits/state.mjs" */

/** Those that show in one pass. */
export const NAMES = Object.keys(BUGS).filter((name) => name !== "cache with the wrong mask");

/**
 * What runs a pass with a bug; without one, nothing does instead of the model.
 * @param {typeof PageModel} model
 * @param {string} bug
 * @returns {((asked: {ids: number[], key: string, record: any}) => Promise<any>) | undefined}
 */
export function throughBug(model, bug) {
  if (!bug) return undefined;
  return ({ ids, key, record }) => {
    const run = (/** @type {any} */ part) => model.run({ ...part, key });
    const pass = { ids, prompt: ids.length, seed: 0, config: model.present.config };
    return meet(run, bug, pass, { record });
  };
}

/**
 * A choice among them; `set` shows the state.
 * @param {State} state
 */
export function bugChoice(state) {
  const options = Object.fromEntries(["", ...NAMES].map((name) => [name, name || "none"]));
  const select = choice(options, () => {
    state.set({ bug: select.value, off: [], set: [], run: 0, learned: 0 });
  });
  const set = () => (select.value = state.get("bug"));
  set();
  return { element: labelled("a bug of chapter 19", select), set };
}
