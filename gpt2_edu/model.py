"""All of GPT-2 in one file, to be read from top to bottom.

Letters for sizes, the same everywhere: B batch, T tokens, C = n_embd, H heads, D = C / H,
F = 4C, V vocabulary, N = n_layer. Each ``note`` names the tensor that it is given and the axes
it must have; see tape.py.

Sources: Radford et al. 2019 (GPT-2), Radford et al. 2018 (GPT), Vaswani et al. 2017 (attention).
Parameters carry the names of Hugging Face's ``GPT2LMHeadModel``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import gpt2_weights
from .cache import KVCache
from .checks import check_batch
from .config import GPT2Config
from .language_model import AttentionChoice, LanguageModel
from .tape import note, tracing
from .weights import BUNDLED

# ---------------------------------------------------------------------------------------------
# Attention. Both functions compute softmax(Q Kᵀ / √D) V under the causal mask (Vaswani et al.
# 2017, section 3.2.1); tests hold them equal, forward and backward.


def attention_explicit(
    q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, visible: Tensor | None = None
) -> Tensor:
    """Causal attention, step by step, so that every step can be seen.

    q: (B, H, T, D). k, v: (B, H, S, D); S is T, unless the keys of earlier tokens were kept.
    Returns the heads' results, (B, H, T, D). Row i of a table is the query, the token that
    looks; column j is the key, the token that is looked at. ``visible`` says which keys a query
    may see; without it, those up to its own, the last query standing at the last key.
    """
    T, S, D = q.size(-2), k.size(-2), q.size(-1)
    table = "B H T T" if S == T else "B H T S"
    scores = note("scores", q / math.sqrt(D) @ k.transpose(-2, -1), table)
    if visible is None:
        visible = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
    mask = torch.zeros_like(visible, dtype=q.dtype).masked_fill(~visible, -torch.inf)
    masked_scores = note("masked_scores", scores + mask, table)  # e^-inf is exactly 0
    weights = note("weights", masked_scores.softmax(dim=-1), table)  # each row sums to 1
    return F.dropout(weights, dropout_p) @ v


def attention_fused(
    q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, visible: Tensor | None = None
) -> Tensor:
    """The same in one call; a fused kernel writes no table to memory (Dao et al. 2022)."""
    T, S = q.size(-2), k.size(-2)
    causal = visible is None and T > 1  # a single query is the last one: it sees every key
    assert S == T or not causal, "is_causal would line the triangle up at the top left"
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=visible, dropout_p=dropout_p, is_causal=causal
    )


def fused_is_faster(device_type: str, dtype: torch.dtype, needs_grad: bool, T: int) -> bool:
    """False where torch's kernel is up to three times slower than writing the table.

    That is to train in half precision on a CPU, unless T is long.
    """
    return not (device_type == "cpu" and dtype == torch.bfloat16 and needs_grad and T <= 512)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float,
    visible: Tensor | None,
    attention: AttentionChoice,
) -> Tensor:
    """One of the two, in the type of the keys; a tape sees tables only on the explicit one."""
    explicit = tracing() or attention == "explicit"
    if not explicit and attention == "auto":
        explicit = not fused_is_faster(q.device.type, q.dtype, q.requires_grad, q.size(-2))
    chosen = attention_explicit if explicit else attention_fused
    return chosen(q.to(k.dtype), k, v, dropout_p, visible).to(q.dtype)


def visible_keys(positions: Tensor, S: int, padding: Tensor | None = None) -> Tensor:
    """Which of S keys each query may see: (T, S), or (B, 1, T, S) where texts are padded.

    The query at position i sees the keys 0 … i. ``padding`` (B,) counts the padding tokens on the
    left of each text: they are hidden from the text's queries. Each sees itself, because a row
    with nothing to see would have no softmax.
    """
    keys, queries = torch.arange(S, device=positions.device), positions.unsqueeze(1)
    past = keys <= queries  # (T, S)
    if padding is None:
        return past
    return past & ((keys >= padding.view(-1, 1, 1, 1)) | (keys == queries))


def positions_and_mask(
    model: nn.Module, idx: Tensor, cache: KVCache | None, padding: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Where new tokens idx (B, T) stand, and which keys each of them may see.

    The positions are (T,), or (B, T) where texts are padded: each begins where its padding ends.
    Without a mask, attention is causal: right for T = S, and for a query at the last key.
    """
    T = S = idx.size(1)  # T queries and S keys
    if cache is None:
        positions = torch.arange(T, device=idx.device)
    else:
        positions, S = cache.begin(model, idx)
    masked = padding is not None or (cache is not None and cache.needs_mask(T))
    visible = visible_keys(positions, S, padding) if masked else None
    if padding is not None:
        positions = (positions - padding.unsqueeze(1)).clamp(min=0)
    return positions, visible


# Stores the new tokens' k and v (B, H, T, D) and returns those of all tokens so far (B, H, S, D).
UpdateKV = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class CausalSelfAttention(nn.Module):
    """H heads that each let every token gather from itself and the tokens before it."""

    attention: AttentionChoice = "auto"  # explicit when a tape records, else the faster one

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        C = config.n_embd
        self.n_head = config.n_head
        self.attn_pdrop = config.attn_pdrop
        self.c_attn = nn.Linear(C, 3 * C)  # the projections to q, k and v, side by side
        self.c_proj = nn.Linear(C, C)  # mixes what the heads found
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def forward(
        self, x: Tensor, visible: Tensor | None = None, update_kv: UpdateKV | None = None
    ) -> Tensor:  # (B, T, C) → (B, T, C)
        q, k, v = self.c_attn(x).split(x.size(-1), dim=-1)  # 3 × (B, T, C)
        q = note("q", self.split_heads(q), "B H T D")
        k = note("k", self.split_heads(k), "B H T D")
        v = note("v", self.split_heads(v), "B H T D")
        if update_kv is not None:
            k, v = update_kv(k, v)

        dropout_p = self.attn_pdrop if self.training else 0.0
        heads = note("heads", attend(q, k, v, dropout_p, visible, self.attention), "B H T D")

        merged = note("merged", self.merge_heads(heads), "B T C")
        return note("out", self.resid_dropout(self.c_proj(merged)), "B T C")

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, C) → (B, H, T, D): head h takes columns h·D to (h+1)·D - 1 of every token."""
        B, T, C = x.shape
        return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

    def merge_heads(self, x: Tensor) -> Tensor:
        """(B, H, T, D) → (B, T, C): the heads' columns side by side again."""
        return x.transpose(1, 2).flatten(start_dim=2)


# ---------------------------------------------------------------------------------------------
# The block: attention moves information between tokens, the MLP works on each token alone.


class MLP(nn.Module):
    """Two linear maps with GELU between, applied to every token by itself."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        C = config.n_embd
        self.c_fc = nn.Linear(C, 4 * C)
        self.c_proj = nn.Linear(4 * C, C)
        self.dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) → (B, T, C)
        pre = note("pre", self.c_fc(x), "B T F")
        # GPT-2 was trained with the tanh form of GELU; the exact form shifts its logits.
        act = note("act", F.gelu(pre, approximate="tanh"), "B T F")
        return note("out", self.dropout(self.c_proj(act)), "B T C")


class Block(nn.Module):
    """Normalise, process, add; twice. The sum x is the residual stream."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = MLP(config)

    def forward(
        self, x: Tensor, visible: Tensor | None = None, update_kv: UpdateKV | None = None
    ) -> Tensor:  # (B, T, C) → (B, T, C)
        normed = note("ln_1", self.ln_1(x), "B T C")
        x = note("resid_mid", x + self.attn(normed, visible, update_kv), "B T C")
        normed = note("ln_2", self.ln_2(x), "B T C")
        return note("resid_post", x + self.mlp(normed), "B T C")


# ---------------------------------------------------------------------------------------------
# The model.


class Transformer(nn.Module):
    """The embeddings, the blocks and the last LayerNorm, under Hugging Face's names."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)  # a vector for each token
        self.wpe = nn.Embedding(config.block_size, config.n_embd)  # a vector for each position
        self.drop = nn.Dropout(config.embd_pdrop)
        self.h = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)


class GPT2(LanguageModel):
    """GPT-2 with its language-model head.

    ``model(idx)`` takes token ids (B, T) and returns logits (B, T, V) and None. With targets
    (B, T), where -100 means "ignore this position", it also returns the mean cross-entropy in
    nats. Both are int64. ``last_only=True`` returns the last position's logits, (B, 1, V). With a
    ``cache``, idx continues the tokens in the cache. ``padding`` (B,) int64 counts the padding
    tokens on the left of each text: their logits mean nothing. Raises TypeError or ValueError for
    ids of another type or shape, none at all, or more than block_size, and on a CPU for ids
    outside the vocabulary.
    """

    config: GPT2Config
    config_type = GPT2Config
    layout = gpt2_weights
    log_sum_exp = 17.562298

    def __init__(self, config: GPT2Config) -> None:
        super().__init__(config)
        self.transformer = Transformer(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.tie_weights()
        self.init_weights()

    def forward(
        self,
        idx: Tensor,
        targets: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        padding: Tensor | None = None,
        last_only: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        check_batch(self.config, idx, targets, cache, padding, last_only)
        positions, visible = positions_and_mask(self, idx, cache, padding)

        idx = note("idx", idx, "B T")
        tok_emb = note("tok_emb", self.transformer.wte(idx), "B T C")
        axes = "T C" if padding is None else "B T C"
        pos_emb = note("pos_emb", self.transformer.wpe(positions), axes)
        x = note("embd", self.transformer.drop(tok_emb + pos_emb), "B T C")
        for layer, block in enumerate(self.transformer.h):
            x = block(x, visible, None if cache is None else partial(cache.update, layer))
        x = note("ln_f", self.transformer.ln_f(x), "B T C")

        if last_only:
            logits = note("logits", self.lm_head(x[:, -1:]), "B 1 V")
        else:
            logits = note("logits", self.lm_head(x), "B T V")
        if cache is not None:
            cache.end(idx.size(1), blocks=len(self.transformer.h))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)

    @torch.no_grad()
    def init_weights(self) -> None:
        """GPT-2's initialisation: N(0, initializer_range), biases 0, LayerNorm the identity.

        Each block adds to the residual stream twice, so the 2N projections that write to it
        start smaller by √(2N): how far the stream grows then hardly depends on N (Radford et al.
        2019, section 2.3).
        """
        std = self.config.initializer_range
        residual_std = std / math.sqrt(2 * self.config.n_layer)
        for name, module in self.named_modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=std)
            elif isinstance(module, nn.Linear) and module is not self.lm_head:  # lm_head is wte
                writes = name.endswith("c_proj")  # to the residual stream
                nn.init.normal_(module.weight, std=residual_std if writes else std)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    @classmethod
    def probe(cls) -> Self:
        """The trained model of Crane World."""
        return cls.from_pretrained(BUNDLED["crane"])
