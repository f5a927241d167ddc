// The stations of a pass, in order: every tensor that the model notes, with its line of model.py or
// llama.py and the chapter that explains it.

/** @typedef {{path: string, code: string, chapter: number, role: string, depth: number}} Station
 *   `depth`: how far it is in the picture: blocks are 1 wide, what stands before them and behind, too */

/** @type {[string, string, number, number, string?][]} */
const BEGIN = [
  ["idx", "idx = encode(text)", 1, 0.64], // behind the tokens' boxes
  ["tok_emb", "tok_emb = wte(idx)", 2, 0.75],
  ["pos_emb", "pos_emb = wpe(torch.arange(T))", 2, 0.87],
  ["embd", "x = tok_emb + pos_emb", 2, 1],
];
/** @type {[string, string, number, number, string?][]} */
const BLOCK = [
  ["ln_1", "normed = ln_1(x)", 9, 0.02],
  ["attn.q", "q = split_heads(c_attn(normed)[..., :C])", 6, 0.04, "q"],
  ["attn.k", "k = split_heads(c_attn(normed)[..., C : 2 * C])", 6, 0.06, "k"],
  ["attn.v", "v = split_heads(c_attn(normed)[..., 2 * C :])", 6, 0.08, "v"],
  ["attn.scores", "scores = q @ k.transpose(-2, -1) / math.sqrt(D)", 4, 0.1],
  ["attn.masked_scores", "masked_scores = scores.masked_fill(~visible, -torch.inf)", 5, 0.12],
  ["attn.weights", "weights = masked_scores.softmax(dim=-1)", 4, 0.15, "weights"],
  ["attn.heads", "heads = weights @ v", 6, 0.38],
  ["attn.merged", "merged = heads.transpose(1, 2).flatten(start_dim=2)", 6, 0.42],
  ["attn.out", "out = c_proj(merged)", 6, 0.45],
  ["resid_mid", "x = x + out", 8, 0.6],
  ["ln_2", "normed = ln_2(x)", 9, 0.62],
  ["mlp.pre", "pre = c_fc(normed)", 7, 0.66],
  ["mlp.act", 'act = F.gelu(pre, approximate="tanh")', 7, 0.75],
  ["mlp.out", "out = c_proj(act)", 7, 0.88],
  ["resid_post", "x = x + out", 8, 0.995],
];
/** @type {[string, string, number, number, string?][]} */
const END = [
  ["ln_f", "x = ln_f(x)", 9, 0.1],
  ["logits", "logits = x @ wte.weight.T", 11, 0.3],
  ["probabilities", "p = logits.softmax(dim=-1)", 11, 1, "weights"],
];

/** What Llama has otherwise: its line and chapter; null: nothing in its place. @type {Record<string, [string, number] | null>} */
const LLAMA = {
  tok_emb: null,
  pos_emb: null,
  embd: ["x = wte(idx)", 2],
  ln_1: ["normed = ln_1(x)  # RMSNorm", 20],
  "attn.q": ["q = rotate(split_heads(q_proj(normed)), cos, sin)", 20],
  "attn.k": ["k = rotate(split_heads(k_proj(normed)), cos, sin)", 20],
  "attn.v": ["v = split_heads(v_proj(normed))", 20],
  "attn.out": ["out = o_proj(merged)", 6],
  ln_2: ["normed = ln_2(x)  # RMSNorm", 20],
  "mlp.pre": ["pre = gate_proj(normed)", 20],
  "mlp.act": ["act = F.silu(pre) * up_proj(normed)", 20],
  "mlp.out": ["out = down_proj(act)", 20],
  ln_f: ["x = ln_f(x)  # RMSNorm", 20],
  logits: ["logits = lm_head(x)", 11],
};

/**
 * All stations of a pass, in order.
 * @param {number} nLayer
 * @param {boolean} [llama]
 * @returns {Station[]}
 */
export function wayThrough(nLayer, llama = false) {
  const zone = (
    /** @type {typeof BEGIN} */ list,
    /** @type {string} */ before,
    /** @type {number} */ start,
  ) =>
    list.flatMap(([name, line, of, depth, role = "plain"]) => {
      const own = llama && name in LLAMA ? LLAMA[name] : [line, of];
      if (!own) return [];
      const [code, chapter] = /** @type {[string, number]} */ (own);
      return [{ path: before + name, code, chapter, role, depth: start + depth }];
    });
  const blocks = Array.from({ length: nLayer }, (_, n) =>
    zone(BLOCK, `transformer.h.${n}.`, n + 1),
  );
  return [...zone(BEGIN, "", 0), ...blocks.flat(), ...zone(END, "", nLayer + 1)];
}
