// The parameters of a model that learns: where they are in memory, and what they begin as.

import { size } from "../numbers.mjs";
import { expectedShapes } from "../shapes.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Tensor } from "../memory.mjs" */
/** @import { PlainBackend } from "../plain.mjs" */
/** @import { Weights } from "../weights.mjs" */
/** @import { Parameter } from "./graph.mjs" */

/**
 * All parameters side by side, and in the same order three times as much: their gradients, and
 * AdamW's running means of the gradients, m, and of their squares, v. Matrices come first, because
 * they decay and vectors do not. Every tensor begins at a multiple of 16 bytes, after zeros.
 * @typedef {Record<"weights" | "grads" | "m" | "v", Tensor>} Regions
 */

/**
 * Where each parameter is in such a region, under its name in PyTorch's state_dict. Files have the maps
 * of a block as (in, out); here, as in nn.Linear, a row is an output.
 * @param {Config} config
 * @returns {{name: string, shape: number[], first: number, end: number}[]}  in the order of memory
 */
export function places(config) {
  const shapes = [...expectedShapes(config)].map(([name, shape]) => ({
    name: `transformer.${name}`,
    shape: shape.length > 1 && name.startsWith("h.") ? [shape[1], shape[0]] : shape,
  }));
  const isMatrix = (/** @type {{shape: number[]}} */ { shape }) => shape.length > 1;
  let next = 0;
  return [...shapes.filter(isMatrix), ...shapes.filter((one) => !isMatrix(one))].map((one) => {
    const first = next;
    const end = first + size(one.shape);
    next = rounded(end);
    return { ...one, first, end };
  });
}

const rounded = (/** @type {number} */ n) => 4 * Math.ceil(n / 4);

/**
 * @param {Config} config
 * @param {PlainBackend} backend
 */
export function makeParameters(config, backend) {
  const inOrder = places(config);
  const total = rounded(inOrder[inOrder.length - 1].end);
  const [all, grads, m, v] = Array.from({ length: 4 }, () => backend.keep([total]));

  /** @type {Map<string, Parameter>} */
  const parameters = new Map();
  /** @type {Record<string, any>} */
  const weights = {};
  for (const { name, shape, first, end } of inOrder) {
    const [rows, columns = 1] = shape;
    const parameter = Object.assign(backend.slice(all, first, end), { shape, rows, columns });
    const grad = Object.assign(backend.slice(grads, first, end), { shape });
    parameters.set(name, Object.assign(parameter, { grad }));
    const [module, kind] = name.split(/\.(?=weight$|bias$)/);
    (weights[module] ??= {})[kind] = parameter;
  }
  /** @type {Regions} */
  const regions = { weights: all, grads, m, v };
  const decaying = inOrder.find(({ shape }) => shape.length === 1)?.first ?? total;
  return { parameters, weights: /** @type {Weights} */ (weights), regions, decaying };
}

/**
 * Draws a first value of a parameter. GPT-2's initialisation (model.py): biases 0, LayerNorms the
 * identity, everything else normal, and smaller where a block writes to the residual stream.
 * @param {string} name
 * @param {number} nLayer
 * @param {() => number} random  from 0 to below 1
 * @param {number} std
 * @returns {() => number}
 */
export function initialValue(name, nLayer, random, std) {
  if (name.endsWith("bias")) return () => 0;
  if (/ln_\w+\.weight$/.test(name)) return () => 1;
  const own = name.endsWith("c_proj.weight") ? std / Math.sqrt(2 * nLayer) : std;
  return () => own * normal(random);
}

/**
 * A number from the standard normal distribution (Box and Muller 1958).
 * @param {() => number} random
 */
export function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
