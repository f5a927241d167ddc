// A config.json becomes the sizes of a model. What cannot be read is refused with a sentence that says
// what it is and which line says so; tests compare this with config_from_hugging_face in Python.

import { other, ropeOf } from "./others.mjs";

/** @typedef {Record<string, any>} Stored  the object in the file */
/** @typedef {{type: string, gpt2: boolean, vocabSize: number, blockSize: number, nLayer: number,
 *   nHead: number, nKvHead: number, nEmbd: number, nInner: number, headSize: number,
 *   ropeBase: number, scaling: Stored | null, epsilon: number, tied: boolean, qkvBias: boolean,
 *   qkNorm: boolean, stored: Stored}} Card  names as in config.py; ropeBase: 0 in GPT-2 */

export const LONGEST = 100_000; // characters; a config.json has about a thousand
const MOST_LINES = 200; // it has about thirty
const MAX_SIZE = 2 ** 24; // as in config.py
const MAX_LAYERS = 1000;
const MOST = 4; // problems in one sentence
const DEEPEST = 10;
const NESTED = "This is nested too deeply for a card.";
export const FAMILIES = ["gpt2", "llama", "qwen2", "qwen3"];
export const READS = "This page reads gpt2, llama, qwen2 and qwen3.";

const GPT2 = {
  vocabSize: "vocab_size",
  blockSize: "n_positions",
  nLayer: "n_layer",
  nHead: "n_head",
  nEmbd: "n_embd",
};
const LLAMA = {
  vocabSize: "vocab_size",
  blockSize: "max_position_embeddings",
  nLayer: "num_hidden_layers",
  nHead: "num_attention_heads",
  nEmbd: "hidden_size",
  nInner: "intermediate_size",
};

// Settings that a card could have and the published models of its family do not, and what they may be.
/** @type {Record<string, any[]>} */
const GPT2_FIXED = {
  activation_function: ["gelu_new", "gelu_pytorch_tanh"],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  add_cross_attention: [false],
  tie_word_embeddings: [true],
};
/** @type {Record<string, any[]>} */
const LLAMA_FIXED = {
  hidden_act: ["silu"],
  attention_bias: [false],
  mlp_bias: [false],
  use_sliding_window: [false],
};
const EXPERTS = ["num_experts", "num_local_experts", "n_routed_experts"];
const SCALING = ["factor", "low_freq_factor", "high_freq_factor"];
const ORIGINAL = "original_max_position_embeddings";

/** Why a card cannot be read, in a sentence. */
export class Refused extends Error {}

/** @param {number} value */
export const many = (value) => value.toLocaleString("en");

/** @param {any} value  as it stands in a card, shortened */
export function shown(value) {
  if (typeof value === "number") return String(value);
  const text = (JSON.stringify(value, null, 1) ?? "missing")
    .replace(/,\n */g, ", ")
    .replace(/\n */g, "");
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/**
 * @param {Stored} stored
 * @param {string} name
 * @param {any} [otherwise]  for a line that is missing; null is a value
 */
export function given(stored, name, otherwise) {
  return Object.hasOwn(stored, name) ? stored[name] : otherwise;
}

/** @param {string} text  @returns {Card} */
export function read(text) {
  const stored = parsed(text);
  const type = given(stored, "model_type");
  if (!FAMILIES.includes(type)) throw new Refused(`${other(stored, type)} ${READS}`);
  const [card, problems] = type === "gpt2" ? gpt2(stored) : llama(stored, type);
  if (problems.length) {
    const more = problems.length > MOST ? [`and ${problems.length - MOST} more`] : [];
    throw new Refused(
      `This card of a ${type} cannot be read: ${[...problems.slice(0, MOST), ...more].join("; ")}.`,
    );
  }
  return card;
}

/** @param {string} text  @returns {Stored} */
function parsed(text) {
  if (text.length > LONGEST) {
    throw new Refused(
      `This text has ${many(text.length)} characters, and a config.json only about a thousand. ` +
        `At most ${many(LONGEST)} are read.`,
    );
  }
  if (!text.trim()) throw new Refused("The card is empty. Paste the text of a config.json.");
  if (/^\s*https?:/.test(text)) {
    throw new Refused("This is an address. This page fetches nothing: paste the text of the file.");
  }
  let stored;
  try {
    stored = JSON.parse(text);
  } catch (error) {
    throw new Refused(
      error instanceof SyntaxError
        ? `This is not JSON: ${error.message.replace(/\.$/, "")}.`
        : NESTED,
    );
  }
  if (stored !== null && typeof stored === "object" && !Array.isArray(stored)) {
    const number = Object.keys(stored).length;
    if (deep(stored)) throw new Refused(NESTED);
    if (number <= MOST_LINES) return stored;
    throw new Refused(`This card has ${many(number)} lines, and a config.json about thirty.`);
  }
  const kind = stored === null ? "null" : Array.isArray(stored) ? "a list" : `a ${typeof stored}`;
  throw new Refused(`This is ${kind}. A config.json is an object, which begins with {.`);
}

/** @param {any} value  @returns {boolean} */
function deep(value) {
  let level = [value];
  for (let depth = 0; depth < DEEPEST; depth++) {
    level = level.flatMap((one) => (one && typeof one === "object" ? Object.values(one) : []));
  }
  return level.length > 0;
}

/**
 * The sizes under our names, and what is wrong with them.
 * @param {Stored} stored
 * @param {Record<string, string>} names  ours → the card's
 * @returns {[Record<string, number>, string[]]}
 */
function sizes(stored, names) {
  /** @type {Record<string, number>} */
  const found = {};
  const problems = [];
  for (const [ours, theirs] of Object.entries(names)) {
    const value = given(stored, theirs);
    found[ours] = value;
    if (value === undefined) problems.push(`${theirs} is missing`);
    else problems.push(...size(theirs, value, ours === "nLayer" ? MAX_LAYERS : MAX_SIZE));
  }
  return [found, problems];
}

/**
 * @param {string} name
 * @param {any} value
 * @param {number} [most]
 */
function size(name, value, most = MAX_SIZE) {
  if (Number.isInteger(value) && value >= 1 && value <= most) return [];
  return [`${name} is ${shown(value)}, not a whole number from 1 to ${many(most)}`];
}

/**
 * @param {string} name
 * @param {any} value
 */
function positive(name, value) {
  if (typeof value === "number" && value > 0 && value < Infinity) return [];
  return [`${name} is ${shown(value)}, not a finite number above 0`];
}

/**
 * @param {Stored} stored
 * @param {Record<string, any[]>} fixed
 */
function misfits(stored, fixed) {
  return Object.entries(fixed).flatMap(([name, allowed]) => {
    const value = given(stored, name);
    if (value === undefined || allowed.includes(value)) return [];
    return [`${name} is ${shown(value)}, where this page counts on ${shown(allowed[0])}`];
  });
}

/**
 * @param {string} wide
 * @param {number} width
 * @param {string} parts
 * @param {number} heads
 */
function divides(wide, width, parts, heads) {
  return width % heads ? [`${wide} = ${width} is not divisible by ${parts} = ${heads}`] : [];
}

/** @param {Stored} stored  @returns {[Card, string[]]} */
function gpt2(stored) {
  const [found, problems] = sizes(stored, GPT2);
  const { nEmbd, nHead } = found;
  if (!problems.length) problems.push(...divides("n_embd", nEmbd, "n_head", nHead));
  const inner = given(stored, "n_inner") ?? 4 * nEmbd;
  if (!problems.length && inner !== 4 * nEmbd) {
    problems.push(`n_inner is ${shown(inner)}, not 4 · n_embd`);
  }
  const epsilon = given(stored, "layer_norm_epsilon", 1e-5);
  problems.push(...misfits(stored, GPT2_FIXED), ...positive("layer_norm_epsilon", epsilon));
  return /** @type {[any, string[]]} */ ([
    {
      ...found,
      type: "gpt2",
      gpt2: true,
      nKvHead: nHead,
      nInner: 4 * nEmbd,
      headSize: nEmbd / nHead,
      ropeBase: 0,
      scaling: null,
      epsilon,
      tied: true,
      qkvBias: true,
      qkNorm: false,
      stored,
    },
    problems,
  ]);
}

/**
 * @param {Stored} stored
 * @param {string} type
 * @returns {[Card, string[]]}
 */
export function llama(stored, type) {
  const [found, problems] = sizes(stored, LLAMA);
  const { nEmbd, nHead } = found;
  const nKvHead = given(stored, "num_key_value_heads") ?? nHead;
  const own = given(stored, "head_dim") ?? undefined;
  if (!problems.length) {
    problems.push(...size("num_key_value_heads", nKvHead));
    if (own === undefined) {
      problems.push(...divides("hidden_size", nEmbd, "num_attention_heads", nHead));
    } else problems.push(...size("head_dim", own));
  }
  const headSize = own ?? nEmbd / nHead;
  if (!problems.length) {
    problems.push(...divides("num_attention_heads", nHead, "num_key_value_heads", nKvHead));
    if (headSize % 2) problems.push(`a head has ${headSize} columns, and rotation turns pairs`);
  }

  const rope = given(stored, "rope_parameters") || given(stored, "rope_scaling") || {};
  const [scaling, wrong] = ropeOf(rope);
  problems.push(...wrong);
  if (scaling) {
    for (const name of SCALING) problems.push(...positive(`rope's ${name}`, scaling[name]));
    problems.push(...size(`rope's ${ORIGINAL}`, scaling[ORIGINAL]));
    if (!wrong.length && scaling.high_freq_factor <= scaling.low_freq_factor) {
      problems.push("rope's high_freq_factor is not above its low_freq_factor");
    }
  }
  const ropeBase = given(rope, "rope_theta", given(stored, "rope_theta", 10_000));
  const epsilon = given(stored, "rms_norm_eps", 1e-6);
  const tied = given(stored, "tie_word_embeddings", false);
  problems.push(...positive("rope_theta", ropeBase), ...positive("rms_norm_eps", epsilon));
  if (typeof tied !== "boolean") {
    problems.push(`tie_word_embeddings is ${shown(tied)}, not true or false`);
  }
  problems.push(...misfits(stored, LLAMA_FIXED), ...blends(stored));
  const [qkvBias, qkNorm] = [type === "qwen2", type === "qwen3"];
  const rest = { nKvHead, headSize, ropeBase, scaling, epsilon, tied, qkvBias, qkNorm, stored };
  return [/** @type {any} */ ({ type, gpt2: false, ...found, ...rest }), problems];
}

/**
 * What makes a card of these families another model: experts, and layers that see less.
 * @param {Stored} stored
 */
function blends(stored) {
  const problems = EXPERTS.filter((name) => given(stored, name) > 0).map(
    (name) => `${name} is ${shown(stored[name])}, so it is a mixture of experts`,
  );
  const layers = given(stored, "layer_types") ?? [];
  const odd = [layers].flat().find((layer) => layer !== "full_attention");
  if (odd !== undefined) {
    problems.push(`layer_types names ${shown(odd)}, where this page counts on "full_attention"`);
  }
  return problems;
}
