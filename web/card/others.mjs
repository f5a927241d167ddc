// What this page cannot read, by name: other families, and other ways to stretch rotation.

/** @import { Stored } from "./read.mjs" */

/** @type {[RegExp, string][]} */
const OTHERS = [
  [
    /moe|mixtral|deepseek|gpt_oss|llama4|dbrx|grok|minimax|kimi|arctic/,
    "a mixture of experts: each block has several MLPs, and a token passes through a few of them, so fewer parameters compute than are stored",
  ],
  [
    /^gemma/,
    "Gemma, a relative of Llama that scales its embeddings and has GELU where Llama has SiLU; its later versions have more norms and blocks with a sliding window",
  ],
  [/mistral/, "Mistral, a relative of Llama whose first version has a sliding window"],
  [/^phi/, "Phi, a relative of Llama with other projections and other norms"],
  [/^olmo/, "OLMo, a relative of Llama with its norms in other places"],
  [/mamba|rwkv|jamba|zamba|hyena/, "a model that keeps a state of fixed size in place of a cache"],
  [/bert|electra|^roformer/, "an encoder, whose tokens attend in both directions"],
  [/t5|bart|whisper|marian|pegasus/, "an encoder with a decoder"],
  [
    /gpt_neo|gptj|^opt|bloom|falcon|^mpt|codegen|^openai-gpt/,
    "a relative of GPT-2 with another block or other positions",
  ],
  [
    /vl|vision|llava|mllama|omni|audio|clip|vit/,
    "a model that reads more than text; its language model may stand under text_config",
  ],
];

/** @type {Record<string, string>} */
const STRETCHED = {
  linear: "which divides all positions by a factor",
  dynamic: "whose base grows with the length of the text",
  yarn: "which slows some frequencies down and also rescales the scores",
  longrope: "which has a factor of its own for each pair of columns",
};

/**
 * @param {Stored} stored
 * @param {any} type  its model_type
 */
export function other(stored, type) {
  if (type === undefined) return "This card has no model_type, which names the family.";
  const name = JSON.stringify(type).slice(0, 60);
  if (typeof type !== "string") return `The model_type of this card is ${name}, not a name.`;
  const [, what] = OTHERS.find(([named]) => named.test(type)) ?? [];
  return what
    ? `The model_type of this card is ${name}, ${what}.`
    : `The model_type of this card is ${name}, a family that is unknown here.`;
}

/**
 * How the rotation is scaled, as Llama 3.1 does it or not at all, and what is wrong with it.
 * @param {any} rope  of rope_parameters or rope_scaling
 * @returns {[Stored | null, string[]]}
 */
export function ropeOf(rope) {
  if (typeof rope !== "object" || Array.isArray(rope)) {
    return [null, [`its RoPE is ${JSON.stringify(rope).slice(0, 60)}, not an object`]];
  }
  const kind = rope.rope_type ?? rope.type ?? "default";
  if (kind === "default") return [null, []];
  if (kind === "llama3") return [rope, []];
  const name = JSON.stringify(kind).slice(0, 60);
  const what = Object.hasOwn(STRETCHED, kind) ? `, ${STRETCHED[kind]}` : ", which is unknown here";
  return [null, [`its RoPE is of type ${name}${what}; "default" and "llama3" are read`]];
}
