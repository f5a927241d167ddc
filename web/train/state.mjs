// The state of a run, and the check whether a stored one can be continued.

import { checkSettings, isCount } from "./adamw.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Switches } from "../model.mjs" */
/** @import { Settings } from "./adamw.mjs" */
/** @import { Trainer } from "./trainer.mjs" */

/**
 * All that the next steps depend on, except for the data. From it a run continues bit for bit in the
 * same browser; in another one powers and cosines may be rounded otherwise. structuredClone copies it.
 * Weights and moments are in the order of `places` (parameters.mjs).
 * @typedef {{version: 1, config: Config, T: number, switches: Switches, settings: Settings,
 *   step: number, weights: Float32Array, m: Float32Array, v: Float32Array}} State
 */

const NUMBERS = /** @type {const} */ (["weights", "m", "v"]);

/**
 * Throws an Error if the run of a trainer cannot continue from this state.
 * @param {State} state
 * @param {Trainer} trainer
 */
export function checkState(state, trainer) {
  if (state?.version !== 1) throw new Error("this is no stored run that can be continued here");
  if (identity(state) !== identity(trainer)) {
    throw new Error("the stored run is of another model, or has other switches");
  }
  checkSettings(state.settings);
  const { length } = trainer.regions.weights.data;
  const isGood = (/** @type {typeof NUMBERS[number]} */ name) =>
    state[name] instanceof Float32Array &&
    state[name].length === length &&
    state[name].every((n) => Number.isFinite(n) && (n >= 0 || name !== "v"));
  const bad = isCount(state.step) ? NUMBERS.find((name) => !isGood(name)) : "step";
  if (bad) throw new Error(`the stored run is damaged: its ${bad} cannot be right`);
}

/**
 * Equal for runs that compute the same.
 * @param {Pick<State, "config" | "T" | "switches">} run
 */
function identity({ config, T, switches }) {
  const { headsOff = [], gelu = "tanh", order, ...parts } = switches ?? {};
  const off = Object.entries(parts).flatMap(([name, on]) => (on ? [] : name));
  const sizes = Object.entries(config ?? {}).map((size) => size.join());
  return JSON.stringify([T, sizes.sort(), gelu, order, [...off, ...headsOff].sort()]);
}
