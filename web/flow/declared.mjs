// What a page's address and a reader's changes say of the picture.

import { STEPS } from "./place.mjs";
import { turned } from "./writer.mjs";

/** @import { State } from "../exhibits/state.mjs" */

const MOST = 128; // tokens

/**
 * @param {State} state
 * @param {Record<string, any>} settings
 */
export function declare(state, settings) {
  state.declare("text", settings.text, { typed: false }); // what is unknown in it is told here
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true }); // -1: the last token
  state.declare("off", []); // heads that are cut
  state.declare("place", settings.place ?? "", { typed: false });
  state.declare("station", -1, { min: -1, max: 1e4, whole: true }); // -1: the whole way
  state.declare("look", 0, { min: 0, max: 99 }); // depth at which a link shows it on a phone; 0: its top
  state.declare("run", 0, { min: 0, max: 5, whole: true }); // of GPT-2's own; 0: none
  const most = settings.learned?.texts.length ?? 0;
  state.declare("learned", 0, { min: 0, max: most, whole: true }); // text of the crane's training
  state.declare("step", 3, { min: 0, max: STEPS.length - 1, whole: true }); // of a head
  state.declare("seed", 0, { min: 0, max: 1e9, whole: true });
  state.declare("set", []); // numbers that are set by hand
  state.declare("versus", "", { typed: false }); // the text that is compared with
  state.declare("bug", "", { typed: false }); // of chapter 19
  state.declare("space", false); // it is seen in space
  state.declare("tour", 0, { min: 0, max: 99, whole: true }); // its step; 0: none
}

/**
 * Whether the pass is another than the model's own, or not to be seen from outside.
 * @param {State} state
 * @param {Record<string, any>} settings
 */
export function changed(state, settings) {
  return (
    settings.giver !== undefined ||
    turned(state) ||
    state.get("set").length ||
    ["place", "versus", "bug", "tour", "learned", "space"].some((name) => state.get(name))
  );
}
