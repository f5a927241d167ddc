// What a model costs on paper, as flops.py counts it.

/** @import { Card } from "./read.mjs" */

/** Bytes of a number in each form that weights are stored in. */
export const FORMS = /** @type {[string, number][]} */ ([
  ["float32", 4],
  ["bfloat16", 2],
  ["8 bits", 1],
  ["4 bits", 0.5],
]);

/** @param {Card} card  @returns {Record<string, number>} */
export function parametersByPart(card) {
  const { nLayer: N, nEmbd: C, vocabSize: V, nHead: H, nKvHead: K, headSize: D, nInner: F } = card;
  if (card.gpt2) {
    return {
      wte: V * C,
      wpe: card.blockSize * C,
      attn: N * (4 * C * C + 4 * C),
      mlp: N * (8 * C * C + 5 * C),
      ln: (2 * N + 1) * 2 * C,
      lm_head: 0,
    };
  }
  const [biases, norms] = [card.qkvBias ? (H + 2 * K) * D : 0, card.qkNorm ? 2 * D : 0];
  return {
    wte: V * C,
    wpe: 0,
    attn: N * ((2 * H + 2 * K) * D * C + biases + norms),
    mlp: N * 3 * C * F,
    ln: (2 * N + 1) * C,
    lm_head: card.tied ? 0 : V * C,
  };
}

/** @param {Record<string, number>} parts */
export const sum = (parts) => Object.values(parts).reduce((a, b) => a + b);

/** @param {Card} card */
export const parameters = (card) => sum(parametersByPart(card));

/**
 * Bytes that each token of a text adds.
 * @param {Card} card
 */
export function cacheBytes({ nLayer, nKvHead, headSize }, each = 2) {
  return 2 * nLayer * nKvHead * headSize * each;
}

/**
 * FLOPs of the forward pass for one token of T, the mean over their positions.
 * @param {Card} card
 * @param {number} T
 * @returns {Record<string, number>}
 */
export function flopsByPart(card, T) {
  const { nLayer: N, nEmbd: C, vocabSize: V, nHead: H, nKvHead: K, headSize: D, nInner: F } = card;
  return {
    "q, k, v": 2 * N * C * (H + 2 * K) * D,
    attention: 2 * N * H * D * T, // 4·H·D for each key, of which a token sees T/2 on average
    "attn.out": 2 * N * H * D * C,
    mlp: 2 * N * (card.gpt2 ? 2 : 3) * C * F,
    lm_head: 2 * V * C,
  };
}

/** Memory that people have, in bytes. */
export const DEVICES = /** @type {[string, number][]} */ ([
  ["phone, 8 GB", 8e9],
  ["laptop or T4, 16 GB", 16e9],
  ["RTX 4090, 24 GB", 24e9],
  ["A100 or H100, 80 GB", 80e9],
  ["H200, 141 GB", 141e9],
  ["eight H100, 640 GB", 640e9],
]);
export const FULL = 0.9; // of a memory; the rest is for programs and what is computed meanwhile

/**
 * The share of a memory that weights and the cache of T tokens take up. The cache is stored as the
 * weights are, in at least 16 bits.
 * @param {Card} card
 * @param {number} T
 * @param {number} each  bytes of a weight
 * @param {number} memory
 */
export function share(card, T, each, memory) {
  return (parameters(card) * each + T * cacheBytes(card, Math.max(2, each))) / memory;
}

/** @typedef {{name: string, axes: string, shape: number[], hue: string}} Noted */

/**
 * What `note` records in one block for a text of T tokens.
 * @param {Card} card
 * @param {number} T
 * @returns {Noted[]}
 */
export function shapes(card, T) {
  const { nHead: H, nKvHead: K, headSize: D, nEmbd: C, nInner: F } = card;
  /** @type {Record<string, number>} */
  const sizes = { B: 1, T, C, H, K, D, F, M: H * D };
  const key = card.gpt2 ? "H" : "K";
  const rows = [
    ["ln_1", "B T C"],
    ["attn.q", "B H T D", "q"],
    ["attn.k", `B ${key} T D`, "k"],
    ["attn.v", `B ${key} T D`, "v"],
    ...["scores", "masked_scores", "weights"].map((name) => [`attn.${name}`, "B H T T", "weights"]),
    ["attn.heads", "B H T D"],
    ["attn.merged", card.gpt2 ? "B T C" : "B T M"],
    ["attn.out", "B T C"],
    ["resid_mid", "B T C"],
    ["ln_2", "B T C"],
    ["mlp.pre", "B T F"],
    ["mlp.act", "B T F"],
    ["mlp.out", "B T C"],
    ["resid_post", "B T C"],
  ];
  return rows.map(([name, axes, hue = "plain"]) => {
    return { name, axes, shape: axes.split(" ").map((letter) => sizes[letter]), hue };
  });
}
