// Where the book explains a line of a card: the only table of links, by page and heading.

/** @type {Record<string, string>} */
const PLACES = {
  family: "notebooks/20_llama#the-whole-model",
  gpt2: "notebooks/11_gpt2#gpt-2-all-of-it",
  vocabulary: "notebooks/01_tokens#gpt-2-s-vocabulary",
  special: "notebooks/01_tokens#the-special-token",
  positions: "notebooks/02_embeddings#positions-get-vectors-too",
  window: "notebooks/15_generation#past-the-window",
  rotation: "notebooks/20_llama#positions-that-turn",
  blocks: "notebooks/10_block#stackable",
  width: "notebooks/10_block#width-and-depth",
  heads: "notebooks/06_heads#a-list-of-heads",
  headSize: "notebooks/06_heads#view-then-transpose",
  shared: "notebooks/20_llama#keys-that-heads-share",
  scale: "notebooks/04_attention#why-divide-by-d",
  biases: "notebooks/04_attention#one-matrix-instead-of-three",
  mask: "notebooks/05_mask#the-triangle",
  inner: "notebooks/07_mlp#the-whole-mlp",
  gelu: "notebooks/07_mlp#two-forms-of-gelu",
  gated: "notebooks/20_llama#swiglu",
  epsilon: "notebooks/09_layernorm#inside-the-root",
  rms: "notebooks/20_llama#rmsnorm",
  rest: "notebooks/20_llama#the-rest-biases-and-the-last-map",
  tied: "notebooks/11_gpt2#one-table-two-roles",
  dropout: "notebooks/11_gpt2#deeper-three-dropouts",
  start: "notebooks/11_gpt2#before-training",
  bits: "notebooks/21_bits#what-the-bits-of-a-float-are-for",
  cache: "notebooks/16_cache#a-cache-of-a-few-lines",
  count: "notebooks/10_block#what-a-block-weighs",
  memory: "notebooks/16_cache#memory",
  flops: "notebooks/18_fast_cost#flops-per-token",
  shapes: "notebooks/11_gpt2#every-tensor",
};

/**
 * The address of a place, from a page of the folder book.
 * @param {string} place
 */
export function address(place) {
  const [page, heading] = PLACES[place].split("#");
  return `../${page}.html${heading ? `#${heading}` : ""}`;
}

/**
 * The chapter of a place.
 * @param {string} place
 */
export function chapter(place) {
  return `chapter ${Number.parseInt(PLACES[place].split("/")[1])}`;
}
