// A model as the bytes of a safetensors file, and its sizes as a config.json, both in Hugging Face's
// form: what gpt2_edu/weights.py writes.

import { size } from "../numbers.mjs";
import { places } from "../train/parameters.mjs";

/** @import { Config } from "../config.mjs" */

/**
 * @param {Config} config
 * @param {Float32Array} weights  as a Trainer has them
 * @param {Record<string, string>} metadata  texts for the header
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function safetensors(config, weights, metadata) {
  /** @type {Record<string, object>} */
  const entries = { __metadata__: { format: "pt", ...metadata } };
  const tensors = places(config);
  let bytes = 0;
  for (const { name, shape } of tensors) {
    const start = bytes;
    bytes += 4 * size(shape);
    const stored = isMap(name, shape) ? [shape[1], shape[0]] : shape;
    entries[name] = { dtype: "F32", shape: stored, data_offsets: [start, bytes] };
  }
  const header = new TextEncoder().encode(JSON.stringify(entries));
  const length = 8 * Math.ceil(header.length / 8); // so that the numbers begin at a multiple of 8
  const file = new Uint8Array(8 + length + bytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(length), true);
  file.fill(0x20, 8, 8 + length).set(header, 8);
  let at = 8 + length;
  for (const { name, shape, first, end } of tensors) {
    const numbers = weights.subarray(first, end);
    const stored = new Float32Array(file.buffer, at, numbers.length);
    if (isMap(name, shape)) turn(numbers, shape, stored);
    else stored.set(numbers);
    at += 4 * numbers.length;
  }
  return file;
}

/**
 * Hugging Face stores the maps of a block as (in, out); here a row is an output.
 * @param {string} name
 * @param {number[]} shape
 */
function isMap(name, shape) {
  return shape.length > 1 && name.startsWith("transformer.h.");
}

/**
 * @param {Float32Array} rows
 * @param {number[]} shape
 * @param {Float32Array} columns
 */
function turn(rows, [R, K], columns) {
  for (let r = 0; r < R; r++) for (let k = 0; k < K; k++) columns[k * R + r] = rows[r * K + k];
}

/**
 * @param {Config} config
 * @param {number} std  of the weights that the run began with
 */
export function configText(config, std) {
  const eot = config.vocabSize - 1;
  return JSON.stringify({
    architectures: ["GPT2LMHeadModel"],
    model_type: "gpt2",
    activation_function: "gelu_new",
    n_positions: config.blockSize,
    bos_token_id: eot,
    eos_token_id: eot,
    vocab_size: config.vocabSize,
    n_layer: config.nLayer,
    n_head: config.nHead,
    n_embd: config.nEmbd,
    embd_pdrop: 0,
    attn_pdrop: 0,
    resid_pdrop: 0,
    layer_norm_epsilon: config.layerNormEpsilon,
    initializer_range: std,
  });
}
