// The sizes of a GPT-2, read from a config.json: ours, or Hugging Face's.

import { readObject, shown } from "./messages.mjs";

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
  const json = readObject("config.json", "settings", () =>
    text.length <= LONGEST ? JSON.parse(text) : null,
  );
  const { model_type: type = "gpt2", layer_norm_epsilon: epsilon = 1e-5 } = json;
  if (type !== "gpt2") throw new Error(`this is a ${shown(type)}, and only a GPT-2 runs here`);
  const [nHead, nEmbd] = [whole(json, "n_head"), whole(json, "n_embd")];
  const inner = /** @type {[string, unknown[]]} */ (["n_inner", [4 * nEmbd, null]]);
  for (const [key, allowed] of [...FIXED, inner]) {
    if (json[key] !== undefined && !allowed.includes(json[key])) {
      const usual = shown(allowed[0]);
      throw new Error(`config.json has "${key}": ${shown(json[key])}; GPT-2 has ${usual}`);
    }
  }
  const headSize = nEmbd / nHead;
  if (!Number.isInteger(headSize)) {
    throw new Error(`n_embd ${nEmbd} cannot be shared by n_head ${nHead} heads`);
  }
  if (typeof epsilon !== "number" || !(epsilon > 0 && epsilon < 1)) {
    throw new Error(`layer_norm_epsilon must lie between 0 and 1, not ${shown(epsilon)}`);
  }
  return {
    vocabSize: whole(json, "vocab_size"),
    blockSize: whole(json, "n_positions"),
    nLayer: whole(json, "n_layer"),
    nHead,
    nEmbd,
    headSize,
    layerNormEpsilon: epsilon,
  };
}

/**
 * @param {any} json
 * @param {string} key
 * @returns {number}
 */
function whole(json, key) {
  const value = json[key];
  if (!Number.isInteger(value) || value < 1 || value > LARGEST) {
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
