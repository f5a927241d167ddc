// What the tests of training share.

import { readConfig } from "../config.mjs";
import { simdArithmetic } from "../train/simd.mjs";
import { plainArithmetic, Trainer } from "../train/trainer.mjs";
import { fixture } from "./files.mjs";
import { fill } from "./runs.mjs";

export const { cases, settings, defaults, initial, policy } = fixture("training");
export const ARITHMETIC = [
  ["plain", plainArithmetic],
  ["SIMD", simdArithmetic],
];
export const EVEN = cases["even sizes"];
export const ODD = cases["odd sizes"]; // two blocks
export const LARGER = cases["larger sizes"]; // whose rows are shorter than the window

export const SWITCHES = [
  {},
  { gelu: "erf" },
  { mask: false },
  { scale: false },
  { positions: false },
  { layerNorm: false },
  { headsOff: new Set(["0.1", "1.0", "1.2"]) },
  { order: [1, 0] },
];

/** A trainer of a case, and the random numbers after its weights. */
export async function begin(expected, arithmetic, options = {}) {
  const config = readConfig(expected.config);
  const given = { T: expected.T, settings, ...options };
  const trainer = await Trainer.start(config, arithmetic, given);
  return { trainer, random: fill(trainer, expected) };
}
