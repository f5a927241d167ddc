// What can be set in "Open the model": what to look at, how to draw, and which parts take part.

import { fixed } from "./dom.mjs";
import { Switchboard } from "./switchboard.mjs";

/** @import { State } from "./state.mjs" */
/** @import { Control } from "./switchboard.mjs" */

export const VIEWS = {
  attention: "attention",
  lens: "what each stage would say",
  tensor: "any tensor",
  machine: "model and arithmetic",
};
/** What can be switched off: on its switch, and in a sentence. */
export const PARTS = /** @type {Record<string, [string, string]>} */ ({
  positions: ["positions", "positions"],
  mask: ["causal mask", "the mask"],
  scale: ["√D", "the division by √D"],
  layerNorm: ["LayerNorm", "LayerNorm"],
});
export const MOST_K = 100;

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
    options: Object.entries(VIEWS),
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
    {
      kind: "slider",
      key: "k",
      label: "top-k",
      max: MOST_K,
      step: 1,
      show: (k) => (k ? String(k) : "all"),
    },
    {
      kind: "slider",
      key: "p",
      label: "top-p",
      min: 0.05,
      step: 0.05,
      show: (p) => (p === 1 ? "all" : fixed(p, 2)),
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
    ...Object.entries(PARTS).map(
      ([key, [label]]) => /** @type {Control} */ ({ kind: "switch", key, label }),
    ),
  );
  return { view, knobs, parts };
}
