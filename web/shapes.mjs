// The shape of every tensor of a model, by its config.

import { size } from "./numbers.mjs";

/** @import { Config } from "./config.mjs" */

/**
 * Under the names of the modules in model.py or llama.py, without "transformer."; of GPT-2 in the
 * layout of Hugging Face's files, which have the maps of a block as (in, out). In Llama's a row is an
 * output.
 * @param {Config} config
 * @returns {Map<string, number[]>}
 */
export function expectedShapes(config) {
  return config.llama ? ofLlama(config, config.llama) : ofGPT2(config);
}

/** @param {Config} config */
function ofGPT2({ vocabSize: V, blockSize, nLayer, nEmbd: C }) {
  const shapes = new Map([
    ["wte.weight", [V, C]],
    ["wpe.weight", [blockSize, C]],
  ]);
  const module = (/** @type {string} */ name, /** @type {number[]} */ ...shape) =>
    shapes.set(`${name}.weight`, shape).set(`${name}.bias`, shape.slice(-1));
  for (let n = 0; n < nLayer; n++) {
    module(`h.${n}.ln_1`, C);
    module(`h.${n}.attn.c_attn`, C, 3 * C);
    module(`h.${n}.attn.c_proj`, C, C);
    module(`h.${n}.ln_2`, C);
    module(`h.${n}.mlp.c_fc`, C, 4 * C);
    module(`h.${n}.mlp.c_proj`, 4 * C, C);
  }
  return module("ln_f", C);
}

/**
 * @param {Config} config
 * @param {import("./config.mjs").Llama} llama
 */
function ofLlama(config, { tied, qkvBias, qkNorm }) {
  const { vocabSize: V, nLayer, nEmbd: C, nInner: F, nHead: H, nKvHead: K, headSize: D } = config;
  const shapes = new Map([["wte.weight", [V, C]]]);
  for (let n = 0; n < nLayer; n++) {
    const [attn, mlp] = [`h.${n}.attn.`, `h.${n}.mlp.`];
    shapes.set(`h.${n}.ln_1.weight`, [C]);
    for (const [name, heads] of /** @type {[string, number][]} */ (
      Object.entries({ q: H, k: K, v: K })
    )) {
      shapes.set(`${attn}${name}_proj.weight`, [heads * D, C]);
      if (qkvBias) shapes.set(`${attn}${name}_proj.bias`, [heads * D]);
    }
    shapes.set(`${attn}o_proj.weight`, [C, H * D]);
    if (qkNorm) shapes.set(`${attn}q_norm.weight`, [D]).set(`${attn}k_norm.weight`, [D]);
    shapes.set(`h.${n}.ln_2.weight`, [C]);
    shapes.set(`${mlp}gate_proj.weight`, [F, C]).set(`${mlp}up_proj.weight`, [F, C]);
    shapes.set(`${mlp}down_proj.weight`, [C, F]);
  }
  shapes.set("ln_f.weight", [C]);
  return tied ? shapes : shapes.set("lm_head.weight", [V, C]);
}

/**
 * Whether a tensor is a matrix that a file has as (in, out).
 * @param {Config} config
 * @param {string} name
 * @param {number[]} shape
 */
export function isTurned({ llama }, name, shape) {
  return !llama && name.startsWith("h.") && shape.length > 1;
}

/**
 * How many numbers the model has; a head that is the table is counted once.
 * @param {Config} config
 */
export function numParameters(config) {
  return [...expectedShapes(config).values()].reduce((sum, shape) => sum + size(shape), 0);
}
