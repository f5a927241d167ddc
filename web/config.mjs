// The sizes of a GPT-2 or a Llama, read from a config.json: ours, or Hugging Face's.

import { llama as readLlama } from "./card/read.mjs";
import { readObject, shown } from "./messages.mjs";

/**
 * @typedef {object} Config
 * @property {number} vocabSize
 * @property {number} blockSize
 * @property {number} nLayer
 * @property {number} nHead
 * @property {number} nEmbd
 * @property {number} headSize
 * @property {number} nKvHead  heads of keys and values; in GPT-2 every head has its own
 * @property {number} nInner  width of the MLP
 * @property {number} layerNormEpsilon  in Llama, RMSNorm's
 * @property {Llama | null} llama  what only Llama has; null in GPT-2
 * @property {{bits: number, group: number | null} | null} rounding  of a file of integers, as
 *   gpt2_edu/quantize.py saves them: a scale for each `group` columns, or for each row
 */
/**
 * Names as in config.py. `scaling`: as the file has it; null: the rotation is not slowed down.
 * @typedef {object} Llama
 * @property {number} ropeBase
 * @property {Record<string, any> | null} scaling
 * @property {boolean} tied
 * @property {boolean} qkvBias  as in Qwen2
 * @property {boolean} qkNorm  as in Qwen3
 */

const LARGEST = 1 << 24; // no size of a GPT-2 comes near it
const LONGEST = 1_000_000; // characters
const RELATIVES = ["llama", "qwen2", "qwen3"];

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
  const rounding = roundingOf(json);
  if (RELATIVES.includes(type)) return { ...llama(json, type), rounding };
  if (type !== "gpt2") {
    throw new Error(`this is a ${shown(type)}; here run gpt2, ${RELATIVES.join(", ")}`);
  }
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
    nKvHead: nHead,
    nInner: 4 * nEmbd,
    layerNormEpsilon: epsilon,
    llama: null,
    rounding,
  };
}

/**
 * @param {Record<string, any>} json
 * @param {string} type
 * @returns {Omit<Config, "rounding">}
 */
function llama(json, type) {
  const [card, problems] = readLlama(json, type);
  if (problems.length)
    throw new Error(`config.json cannot be read: ${problems.join("; ").slice(0, 300)}`);
  const { vocabSize, blockSize, nLayer, nHead, nKvHead, nEmbd, nInner, headSize } = card;
  const { ropeBase, scaling, tied, qkvBias, qkNorm, epsilon: layerNormEpsilon } = card;
  const sizes = { vocabSize, blockSize, nLayer, nHead, nKvHead, nEmbd, nInner, headSize };
  return { ...sizes, layerNormEpsilon, llama: { ropeBase, scaling, tied, qkvBias, qkNorm } };
}

/** @param {Record<string, any>} json */
function roundingOf({ quantization_config: given }) {
  if (given === undefined || given === null) return null;
  const { quant_method: method, bits, group = null } = given;
  const known = method === "gpt2-edu" && (bits === 8 || bits === 4);
  if (known && (group === null || (Number.isInteger(group) && group > 0))) return { bits, group };
  throw new Error(
    `its weights are rounded by ${shown(method)} to ${shown(bits)} bits: here those can be read ` +
      "that gpt2-edu export --bits wrote",
  );
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
