// What can be set in "Open the model": what to look at, how to draw, and which parts take part.

import { fixed } from "./dom.mjs";
import { Switchboard } from "./switchboard.mjs";

/** @import { State } from "./state.mjs" */
/** @import { Control } from "./switchboard.mjs" */

/**
 * @param {State} state
 * @param {string[]} names  of heads, block.head
 * @param {string[]} blocks
 */
export function controls(state, names, blocks) {
  /** @param {...Control} controls */
  const switches = (...controls) => new Switchboard(state, controls);
  const view = switches({
    kind: "choice",
    key: "view",
    label: "look at",
    options: [
      ["attention", "attention"],
      ["lens", "what each stage would say"],
    ],
  });
  const knobs = switches(
    {
      kind: "slider",
      key: "temperature",
      label: "temperature",
      max: 3,
      step: 0.05,
      show: (tau) => (tau === 0 ? "0 (greedy)" : fixed(tau, 2)),
    },
    { kind: "slider", key: "seed", label: "seed", max: 99, step: 1, decimals: 0 },
  );
  const parts = switches(
    { kind: "many", key: "off", label: "cut heads", options: names.map((name) => [name, name]) },
    {
      kind: "many",
      key: "mlps",
      label: "leave out MLPs",
      options: blocks.map((n) => [n, `MLP ${n}`]),
    },
    { kind: "switch", key: "positions", label: "positions" },
    { kind: "switch", key: "mask", label: "causal mask" },
  );
  return { view, knobs, parts };
}
