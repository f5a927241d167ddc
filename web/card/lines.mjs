// What each line of a card means, in the order in which a token meets it.

import { given, many, shown } from "./read.mjs";

/** @import { Card } from "./read.mjs" */
/** @typedef {{topic: string, nth: number, kind: "decides" | "nothing" | "unknown", line: string,
 *   says: string, place: string}} Line  nth: of the topics; line: "" where
 *   the family has none; place: "" where the book has none */
/** @typedef {[string[], (card: Card) => string, (card: Card) => string, boolean?]} Topic  the keys
 *   that mean it; where it is explained; what it says; whether a card without it has a default that
 *   is worth saying */

const FAMILY = /** @type {Record<string, string>} */ ({
  gpt2: "GPT-2, the model that this book builds.",
  llama:
    "Llama: rotation in place of a table of positions, RMSNorm, an MLP with a gate, no biases. The rest is as in GPT-2.",
  qwen2: "Qwen2: a Llama with biases on queries, keys and values.",
  qwen3: "Qwen3: a Llama that normalises the queries and keys of each head before it turns them.",
});

/** @param {Card} card */
const norm = (card) => (card.gpt2 ? "LayerNorm" : "RMSNorm");

/**
 * Tokens until the pair of columns that turns slowest is back, to three digits.
 * @param {number} base
 * @param {number} size  of a head
 */
function slowest(base, size) {
  return many(Number((2 * Math.PI * base ** (1 - 2 / size)).toPrecision(3)));
}

/** @type {Topic[]} */
const DECIDES = [
  [["model_type"], ({ gpt2 }) => (gpt2 ? "gpt2" : "family"), ({ type }) => FAMILY[type]],
  [
    ["vocab_size"],
    () => "vocabulary",
    (card) =>
      `There are ${many(card.vocabSize)} tokens, so the table of embeddings has as many rows and the logits as many columns.`,
  ],
  [
    ["n_positions", "max_position_embeddings"],
    ({ gpt2 }) => (gpt2 ? "positions" : "window"),
    ({ gpt2, blockSize }) =>
      gpt2
        ? `The model sees at most ${many(blockSize)} tokens at once: the table wpe has a row for each position.`
        : `The model was made for up to ${many(blockSize)} tokens at once. No table ends there, so it costs no parameters.`,
  ],
  [
    ["n_embd", "hidden_size"],
    () => "width",
    ({ nEmbd }) =>
      `C: each token is a vector of ${many(nEmbd)} numbers, from the embeddings to the last norm.`,
  ],
  [
    ["n_layer", "num_hidden_layers"],
    () => "blocks",
    ({ nLayer }) => `N: ${many(nLayer)} blocks, one after the other, each with weights of its own.`,
  ],
  [
    ["n_head", "num_attention_heads"],
    () => "heads",
    ({ gpt2, nHead, nEmbd, headSize }) =>
      `H: each block has ${many(nHead)} query heads` +
      (gpt2 ? `, each with ${many(nEmbd)} / ${many(nHead)} = ${many(headSize)} columns.` : "."),
  ],
  [
    ["num_key_value_heads"],
    () => "shared",
    ({ gpt2, nHead, nKvHead }) =>
      nHead === nKvHead
        ? `K: each of the ${many(nHead)} query heads has its own keys and values${gpt2 ? "" : ", as in GPT-2"}.`
        : `K: ${many(nKvHead)} heads of keys and values, each read by ${many(nHead / nKvHead)} query heads. The cache is ${many(nHead / nKvHead)} times smaller than if each had its own.`,
    true,
  ],
  [
    ["head_dim"],
    () => "headSize",
    ({ nHead, headSize, nEmbd }) =>
      `D: a head has ${many(headSize)} columns. ${many(nHead)} heads together have ${many(nHead * headSize)}, ` +
      (nHead * headSize === nEmbd ? "which is the width C." : `and the width C is ${many(nEmbd)}.`),
    true,
  ],
  [
    ["attention_bias"],
    ({ gpt2 }) => (gpt2 ? "biases" : "rest"),
    ({ gpt2, qkvBias }) =>
      gpt2
        ? "All maps have biases."
        : qkvBias
          ? "Qwen2 has biases on queries, keys and values in any case. Its other maps have none."
          : "The maps to queries, keys and values and the map after the heads have no biases.",
  ],
  [
    ["rope_theta"],
    () => "rotation",
    ({ gpt2, ropeBase, headSize }) =>
      gpt2
        ? "Positions are rows of the table wpe, which are added to the vectors of the tokens."
        : `Positions turn the ${many(headSize / 2)} pairs of columns of each query and key. By this base, the fastest pair is back after 6.28 tokens, the slowest after ${slowest(ropeBase, headSize)}.`,
    true,
  ],
  [
    ["rope_scaling", "rope_parameters"],
    () => "rotation",
    ({ scaling }) =>
      scaling
        ? `The window was lengthened after training at ${many(scaling.original_max_position_embeddings)} tokens: the slow pairs of columns turn ${many(scaling.factor)} times slower still.`
        : "Nothing was changed for a longer window.",
  ],
  [
    ["use_sliding_window", "layer_types"],
    () => "mask",
    () => "In every block a token attends to all tokens before it, and to itself.",
  ],
  [
    ["scale_attn_weights"],
    () => "scale",
    ({ headSize }) => `Scores are divided by √D = √${headSize}.`,
  ],
  [
    ["scale_attn_by_inverse_layer_idx"],
    () => "scale",
    () => "Scores are not also divided by the number of the block.",
  ],
  [["add_cross_attention"], () => "mask", () => "No attention to a second text."],
  [
    ["n_inner", "intermediate_size"],
    () => "inner",
    ({ gpt2, nEmbd, nInner }) =>
      `F: the MLP is ${many(nInner)} wide inside` +
      (gpt2
        ? `, 4 · ${many(nEmbd)}.`
        : `, ${Number((nInner / nEmbd).toPrecision(3))} times the width. It has three matrices of that size, GPT-2's has two.`),
    true,
  ],
  [
    ["activation_function", "hidden_act"],
    ({ gpt2 }) => (gpt2 ? "gelu" : "gated"),
    ({ gpt2 }) =>
      gpt2
        ? "The activation function of the MLP is GELU, in its form with tanh."
        : "SwiGLU: one projection passes through SiLU, x · sigmoid(x), and scales another.",
    true,
  ],
  [
    ["mlp_bias"],
    () => "inner",
    ({ gpt2 }) => `The maps of the MLP have ${gpt2 ? "" : "no "}biases.`,
  ],
  [
    ["layer_norm_epsilon", "rms_norm_eps"],
    ({ gpt2 }) => (gpt2 ? "epsilon" : "rms"),
    (card) =>
      `ε: ${norm(card)} adds ${card.epsilon} under its root, so that it never divides by zero.` +
      (card.gpt2 ? "" : " RMSNorm subtracts no mean and has no biases."),
    true,
  ],
  [
    ["tie_word_embeddings"],
    ({ gpt2 }) => (gpt2 ? "tied" : "rest"),
    ({ tied, vocabSize, nEmbd }) =>
      tied
        ? "The head is the table of embeddings, used a second time: it has no parameters of its own."
        : `The head is a matrix of its own, which adds ${many(vocabSize * nEmbd)} parameters.`,
    true,
  ],
];

const STORED = "Not used by the model.";
const TRAINING = "Used in training only.";

/** Lines without effect on what a trained model computes: a key → its place and what it says. */
/** @type {Map<string, [string, string]>} */
const NOTHING = new Map([
  ["n_ctx", ["", "An older name of n_positions, which is not read."]],
  ["embd_pdrop", ["dropout", `${TRAINING} The share of the summed embeddings that is dropped.`]],
  ["attn_pdrop", ["dropout", `${TRAINING} The share of attention weights that is dropped.`]],
  [
    "resid_pdrop",
    ["dropout", `${TRAINING} The share of what attention and the MLP add that is dropped.`],
  ],
  ["attention_dropout", ["dropout", `${TRAINING} The share of attention weights that is dropped.`]],
  [
    "initializer_range",
    ["start", `${TRAINING} The standard deviation of the weights before the first step.`],
  ],
  ["bos_token_id", ["special", "The token that begins a text. The loop that writes uses it."]],
  ["eos_token_id", ["special", "The token that ends a text. The loop that writes stops there."]],
  ["pad_token_id", ["special", "The token that pads shorter texts of a batch."]],
  ["torch_dtype", ["bits", "How the numbers in the file are stored, and so how large it is."]],
  ["dtype", ["bits", "How the numbers in the file are stored, and so how large it is."]],
  [
    "quantization_config",
    ["bits", "The weights in the file are rounded to fewer bits. Their number is the same."],
  ],
  ["use_cache", ["cache", "Whether keys and values are kept, which gives the same text sooner."]],
  ["architectures", ["", "The class of transformers that reads these weights."]],
  ["transformers_version", ["", "The version of transformers that wrote this card."]],
  ["_name_or_path", ["", "Where the model was when this card was written."]],
  ["auto_map", ["", "Where transformers finds code that comes with the model."]],
  ["gradient_checkpointing", ["", `${TRAINING} Recomputes activations to save memory.`]],
  [
    "reorder_and_upcast_attn",
    ["bits", "Whether scores are computed in float32. It changes only the rounding."],
  ],
  ["pretraining_tp", ["", "Over how many devices each matrix was split while it was trained."]],
  ["is_llama_config", ["", `A note left by the training program. ${STORED}`]],
  ["rope_interleaved", ["", `A note left by the training program. ${STORED}`]],
  ["sliding_window", ["mask", "Only read where use_sliding_window is true."]],
  ["max_window_layers", ["mask", "Only read where use_sliding_window is true."]],
  ["output_past", ["", "An older name of use_cache, which is not read."]],
  ["output_attentions", ["", "Whether attention weights are handed out, too."]],
  ["output_hidden_states", ["", "Whether the output of each block is handed out, too."]],
  ["return_dict", ["", "In which form transformers hands its outputs out."]],
  ["task_specific_params", ["", "Settings for the loop that writes, not for the model."]],
  ["id2label", ["", `Names of classes, for a model that classifies texts. ${STORED}`]],
  ["label2id", ["", `Names of classes, for a model that classifies texts. ${STORED}`]],
  ...["activation", "first_dropout", "proj_to_labels", "type", "use_proj"].map(
    (name) =>
      /** @type {[string, [string, string]]} */ ([
        `summary_${name}`,
        ["", "For a head that classifies texts, which is not in the file."],
      ]),
  ),
]);
const UNKNOWN =
  "Unknown here. If it changes what the model computes, the numbers below do not hold.";

/**
 * @param {Card} card
 * @returns {Line[]}
 */
export function lines(card) {
  const known = new Set();
  /** @type {Line[]} */
  const found = [];
  DECIDES.forEach(([keys, place, says, worth], nth) => {
    const ours = keys.filter((key) => belongs(key, card));
    const there = ours.filter((key) => given(card.stored, key) !== undefined);
    const one = { topic: keys[0], nth, kind: /** @type {const} */ ("decides"), place: place(card) };
    for (const key of there) {
      known.add(key);
      found.push({ ...one, line: written(card, key), says: says(card) });
    }
    if (!ours.length) found.push({ ...one, line: "", says: `No such line. ${says(card)}` });
    else if (worth && !there.length) {
      const told = `Not in the card, so the default holds. ${says(card)}`;
      found.push({ ...one, line: ours[0], says: told });
    }
  });
  for (const key of Object.keys(card.stored)) {
    if (known.has(key)) continue;
    const [place, says] = NOTHING.get(key) ?? ["", UNKNOWN];
    const kind = says === UNKNOWN ? "unknown" : "nothing";
    found.push({ topic: key, nth: found.length, kind, line: written(card, key), says, place });
  }
  return found;
}

/**
 * A line as the card has it.
 * @param {Card} card
 * @param {string} key
 */
const written = ({ stored }, key) => `${shown(key)}: ${shown(stored[key])}`;

const ONLY_GPT2 = /^(n_|layer_norm|activation_function|scale_attn|add_cross)/;
const NEITHER = /^(model_type|vocab_size|tie_word_embeddings)$/;

/**
 * Whether a key is one of a card's family.
 * @param {string} key
 * @param {Card} card
 */
function belongs(key, { gpt2 }) {
  return NEITHER.test(key) || ONLY_GPT2.test(key) === gpt2;
}
