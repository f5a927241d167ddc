// The sizes of a GPT-2, read from a config.json: ours, or Hugging Face's.

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

/**
 * @param {string} text  of config.json
 * @returns {Config}
 */
export function readConfig(text) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error("config.json is not JSON: is it the right file?");
  }
  if (json === null || typeof json !== "object" || Array.isArray(json)) {
    throw new Error("config.json holds no settings: is it the right file?");
  }
  if (json.model_type !== undefined && json.model_type !== "gpt2") {
    throw new Error(`this is a ${JSON.stringify(json.model_type)}, and only a GPT-2 runs here`);
  }
  if (!["gelu_new", "gelu_pytorch_tanh", undefined].includes(json.activation_function)) {
    const given = JSON.stringify(json.activation_function);
    throw new Error(`config.json asks for the activation ${given}; GPT-2 has "gelu_new"`);
  }
  for (const [key, usual] of UNUSUAL) {
    if (json[key] !== undefined && json[key] !== null && json[key] !== usual) {
      throw new Error(`config.json has "${key}": ${JSON.stringify(json[key])}; GPT-2 has ${usual}`);
    }
  }
  const config = {
    vocabSize: whole(json, "vocab_size"),
    blockSize: whole(json, "n_positions", "n_ctx"),
    nLayer: whole(json, "n_layer"),
    nHead: whole(json, "n_head"),
    nEmbd: whole(json, "n_embd"),
    headSize: 0,
    layerNormEpsilon: json.layer_norm_epsilon ?? 1e-5,
  };
  config.headSize = config.nEmbd / config.nHead;
  if (!Number.isInteger(config.headSize)) {
    throw new Error(`n_embd ${config.nEmbd} cannot be shared by n_head ${config.nHead} heads`);
  }
  if (json.n_inner !== undefined && json.n_inner !== null && json.n_inner !== 4 * config.nEmbd) {
    throw new Error(`config.json has n_inner ${json.n_inner}; GPT-2 has ${4 * config.nEmbd}`);
  }
  const epsilon = config.layerNormEpsilon;
  if (typeof epsilon !== "number" || !(epsilon > 0 && epsilon < 1)) {
    throw new Error(`layer_norm_epsilon must lie between 0 and 1, not ${JSON.stringify(epsilon)}`);
  }
  return config;
}

// What other models have and GPT-2 has not.
const UNUSUAL = new Map([
  ["scale_attn_weights", true],
  ["scale_attn_by_inverse_layer_idx", false],
  ["reorder_and_upcast_attn", false],
  ["add_cross_attention", false],
  ["tie_word_embeddings", true],
]);

/**
 * @param {Record<string, unknown>} json
 * @param {string} key
 * @param {string} [otherwise]
 * @returns {number}
 */
function whole(json, key, otherwise = key) {
  const value = json[key] ?? json[otherwise];
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > LARGEST) {
    throw new Error(`config.json must give ${key} as a whole number, not ${JSON.stringify(value)}`);
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
