// The sizes of a GPT-2, read from a config.json: ours, or Hugging Face's.

import { shown } from "./messages.mjs";

/**
 * @typedef {object} Config
 * @property {number} vocabSize
 * @property {number} blockSize
 * @property {number} nLayer
 * @property {number} nHead
 * @property {number} nEmbd
 * @property {number} headSize
 * @property {number} layerNormEpsilon
 */

const LARGEST = 1 << 24; // no size of a GPT-2 comes near it
const LONGEST = 1_000_000; // characters

// What other models have otherwise, with the values that mean a GPT-2's; as in pretrained.py.
/** @type {[string, unknown[]][]} */
const FIXED = [
  ["activation_function", ["gelu_new", "gelu_pytorch_tanh"]],
  ["scale_attn_weights", [true]],
  ["scale_attn_by_inverse_layer_idx", [false]],
  ["add_cross_attention", [false]],
  ["tie_word_embeddings", [true]],
];

/**
 * @param {string} text  of config.json
 * @returns {Config}
 */
export function readConfig(text) {
  let json;
  try {
    if (text.length <= LONGEST) json = JSON.parse(text);
  } catch {
    throw new Error("config.json is not JSON: is it the right file?");
  }
  if (json === null || typeof json !== "object" || Array.isArray(json)) {
    throw new Error("config.json holds no settings: is it the right file?");
  }
  if (json.model_type !== undefined && json.model_type !== "gpt2") {
    throw new Error(`this is a ${shown(json.model_type)}, and only a GPT-2 runs here`);
  }
  for (const [key, allowed] of FIXED) {
    if (json[key] !== undefined && !allowed.includes(json[key])) {
      const usual = shown(allowed[0]);
      throw new Error(`config.json has "${key}": ${shown(json[key])}; GPT-2 has ${usual}`);
    }
  }
  const config = {
    vocabSize: whole(json, "vocab_size"),
    blockSize: whole(json, "n_positions"),
    nLayer: whole(json, "n_layer"),
    nHead: whole(json, "n_head"),
    nEmbd: whole(json, "n_embd"),
    headSize: 0,
    layerNormEpsilon: json.layer_norm_epsilon === undefined ? 1e-5 : json.layer_norm_epsilon,
  };
  config.headSize = config.nEmbd / config.nHead;
  if (!Number.isInteger(config.headSize)) {
    throw new Error(`n_embd ${config.nEmbd} cannot be shared by n_head ${config.nHead} heads`);
  }
  if (json.n_inner !== undefined && json.n_inner !== null && json.n_inner !== 4 * config.nEmbd) {
    throw new Error(
      `config.json has n_inner ${shown(json.n_inner)}; GPT-2 has ${4 * config.nEmbd}`,
    );
  }
  const epsilon = config.layerNormEpsilon;
  if (typeof epsilon !== "number" || !(epsilon > 0 && epsilon < 1)) {
    throw new Error(`layer_norm_epsilon must lie between 0 and 1, not ${shown(epsilon)}`);
  }
  return config;
}

/**
 * @param {Record<string, unknown>} json
 * @param {string} key
 * @returns {number}
 */
function whole(json, key) {
  const value = json[key];
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > LARGEST) {
    throw new Error(`config.json must give ${key} as a whole number, not ${shown(value)}`);
  }
  return value;
}

/**
 * How many numbers the model has; lm_head is wte.
 * @param {Config} config
 */
export function numParameters({ vocabSize: V, blockSize, nLayer: N, nEmbd: C }) {
  return V * C + blockSize * C + N * (12 * C * C + 13 * C) + 2 * C;
}
