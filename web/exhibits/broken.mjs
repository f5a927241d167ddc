// Crane World's model as it comes out of a loader with something wrong: the bytes of its files are
// changed in place.

import { bundledModel } from "../page.mjs";
import { initialValue, normal } from "../train/parameters.mjs";
import { thrower } from "./knobs.mjs";

/** @typedef {{config: string, weights: ArrayBuffer, head: Float32Array | null,
 *   switches: {gelu?: "erf"}}} Broken  `head` (V, C) stands in the place of wte at the end */

/** @type {[string, string][]} */
export const MISTAKES = [
  ["nothing", "nothing loaded"],
  ["head", "head not tied"],
  ["square", "square not transposed"],
  ["positions", "positions dropped"],
  ["heads", "8 heads for 4"],
  ["gelu", "exact GELU"],
  ["epsilon", "other epsilon"],
];

/** @param {string[]} wrong  of MISTAKES */
export async function broken(wrong) {
  const { config, weights } = await bundledModel("crane");
  const json = JSON.parse(config);
  const [random, std] = [thrower(0), json.initializer_range];
  const length = Number(new DataView(weights).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(weights, 8, length)));
  /** @type {Broken} */
  const made = { config, weights, head: null, switches: {} };
  for (const [name, { data_offsets: offsets }] of Object.entries(header)) {
    if (!offsets) continue; // __metadata__
    const [start, end] = offsets;
    const halves = new Uint16Array(weights, 8 + length + start, (end - start) / 2);
    if (wrong.includes("nothing")) {
      const draw = initialValue(name, json.n_layer, random, std);
      for (let i = 0; i < halves.length; i++) halves[i] = half(draw());
    }
    if (wrong.includes("square") && name.endsWith("attn.c_proj.weight")) transpose(halves);
    if (wrong.includes("positions") && name.endsWith("wpe.weight")) halves.fill(0);
  }
  if (wrong.includes("head")) {
    made.head = Float32Array.from(
      { length: json.vocab_size * json.n_embd },
      () => std * normal(random),
    );
  }
  if (wrong.includes("heads")) json.n_head = 8;
  if (wrong.includes("epsilon")) json.layer_norm_epsilon = 1e-12;
  if (wrong.includes("gelu")) made.switches = { gelu: "erf" };
  return { ...made, config: JSON.stringify(json) };
}

/** @param {Uint16Array} square */
function transpose(square) {
  const n = Math.sqrt(square.length);
  const rows = square.slice();
  for (let i = 0; i < n * n; i++) square[(i % n) * n + Math.floor(i / n)] = rows[i];
}

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/**
 * A float16's bits; what is cut off does not matter here, and the smallest become 0.
 * @param {number} value  below 65,504
 */
function half(value) {
  FLOAT[0] = value;
  const magnitude = BITS[0] & 0x7fffffff;
  return magnitude < 0x38800000
    ? 0
    : ((BITS[0] >>> 16) & 0x8000) | ((magnitude - 0x38000000) >>> 13);
}
