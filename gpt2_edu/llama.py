"""All of Llama in one file, in the order of model.py: what changed in GPT-2's body since 2019.

Four parts differ, and the rest is GPT-2's. A token's position turns its queries and keys, instead
of adding a vector to it (RoPE). RMSNorm divides by the root of the mean square and subtracts no
mean. The MLP multiplies two projections, one of them bent (SwiGLU). Several query heads share one
head of keys and values. By its config the same code is Llama, Qwen2, which adds biases to q, k and
v, and Qwen3, which normalises each head's q and k.

Letters for sizes as in model.py; K heads of keys and values, F the width of the MLP. Modules that
GPT-2 has, too, carry the same names here, so that everything around the model takes either; the
projections carry those of Hugging Face's ``LlamaForCausalLM``.

Sources: Touvron et al. 2023 (Llama), Grattafiori et al. 2024 (Llama 3), Su et al. 2021 (RoPE),
Zhang and Sennrich 2019 (RMSNorm), Shazeer 2020 (SwiGLU), Ainslie et al. 2023 (grouped queries),
Yang et al. 2024 (Qwen2), Yang et al. 2025 (Qwen3).
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import llama_weights
from .cache import KVCache
from .checks import check_batch
from .config import LlamaConfig
from .language_model import AttentionChoice, LanguageModel
from .model import UpdateKV, attend, positions_and_mask
from .tape import note

# ---------------------------------------------------------------------------------------------
# Positions. Column i of a head and column i + D/2 are a point in the plane, which is turned by
# position · frequency i. The dot product of two turned vectors depends on the angle between them
# and so on the distance of their tokens only (Su et al. 2021, section 3.2).


def frequencies(config: LlamaConfig, device: torch.device | str = "cpu") -> Tensor:
    """Radians by which a step of one token turns each pair of columns: (D/2,), falling."""
    pairs = torch.arange(0, config.head_size, 2, dtype=torch.float32, device=device)
    turns = 1.0 / config.rope_base ** (pairs / config.head_size)
    if config.rope_scaling is None:
        return turns
    # Llama 3.1's longer window: pairs that turn slowly are slowed down further, those that turn
    # many times within the window of its training are kept, and those between are mixed.
    scaling = config.rope_scaling
    within = scaling.original_block_size * turns / (2 * math.pi)  # turns within that window
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    kept = ((within - low) / (high - low)).clamp(0, 1)
    return kept * turns + (1 - kept) * turns / scaling.factor


def rotation(config: LlamaConfig, positions: Tensor) -> tuple[Tensor, Tensor]:
    """The cosine and sine of each angle, both (T, D/2), or (B, 1, T, D/2) for positions (B, T)."""
    angles = positions.unsqueeze(-1) * frequencies(config, positions.device)
    if positions.ndim == 2:
        angles = angles.unsqueeze(1)  # the same for every head
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pairs of columns of q or k, (B, H, T, D), each by its token's angles."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# ---------------------------------------------------------------------------------------------
# The block.


class RMSNorm(nn.RMSNorm):
    """x / √(mean of x² + ε) · γ, computed in the type of γ: under autocast q and k have another."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.to(self.weight.dtype)).to(x.dtype)


class GroupedSelfAttention(nn.Module):
    """Causal attention in which H / K query heads read the same keys and values."""

    attention: AttentionChoice = "auto"

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        C, D = config.n_embd, config.head_size
        self.head_size = D
        self.q_proj = nn.Linear(C, config.n_head * D, bias=config.qkv_bias)
        self.k_proj = nn.Linear(C, config.n_kv_head * D, bias=config.qkv_bias)
        self.v_proj = nn.Linear(C, config.n_kv_head * D, bias=config.qkv_bias)
        self.o_proj = nn.Linear(config.n_head * D, C, bias=False)
        self.q_norm = RMSNorm(D, eps=config.rms_norm_eps) if config.qk_norm else nn.Identity()
        self.k_norm = RMSNorm(D, eps=config.rms_norm_eps) if config.qk_norm else nn.Identity()

    def forward(
        self,
        x: Tensor,
        turn: tuple[Tensor, Tensor],
        visible: Tensor | None = None,
        update_kv: UpdateKV | None = None,
    ) -> Tensor:  # (B, T, C) → (B, T, C)
        q = self.q_norm(self.split_heads(self.q_proj(x)))  # (B, H, T, D)
        k = self.k_norm(self.split_heads(self.k_proj(x)))  # (B, K, T, D)
        q = note("q", rotate(q, *turn), "B H T D")
        k = note("k", rotate(k, *turn), "B K T D")
        v = note("v", self.split_heads(self.v_proj(x)), "B K T D")
        if update_kv is not None:
            k, v = update_kv(k, v)

        readers = q.size(1) // k.size(1)  # query heads that share a key head, side by side
        k, v = k.repeat_interleave(readers, dim=1), v.repeat_interleave(readers, dim=1)
        heads = note("heads", attend(q, k, v, 0.0, visible, self.attention), "B H T D")
        merged = note("merged", heads.transpose(1, 2).flatten(start_dim=2), "B T M")
        return note("out", self.o_proj(merged), "B T C")

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H · D) → (B, H, T, D)."""
        return x.unflatten(-1, (-1, self.head_size)).transpose(1, 2)


class SwiGLU(nn.Module):
    """An MLP in which one projection, bent by silu(x) = x · sigmoid(x), scales another."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.n_embd, config.n_inner, bias=False)
        self.up_proj = nn.Linear(config.n_embd, config.n_inner, bias=False)
        self.down_proj = nn.Linear(config.n_inner, config.n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) → (B, T, C)
        pre = note("pre", self.gate_proj(x), "B T F")
        act = note("act", F.silu(pre) * self.up_proj(x), "B T F")
        return note("out", self.down_proj(act), "B T C")


class LlamaBlock(nn.Module):
    """GPT-2's block with the parts above: normalise, process, add; twice."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.ln_1 = RMSNorm(config.n_embd, eps=config.rms_norm_eps)
        self.attn = GroupedSelfAttention(config)
        self.ln_2 = RMSNorm(config.n_embd, eps=config.rms_norm_eps)
        self.mlp = SwiGLU(config)

    def forward(
        self,
        x: Tensor,
        turn: tuple[Tensor, Tensor],
        visible: Tensor | None = None,
        update_kv: UpdateKV | None = None,
    ) -> Tensor:  # (B, T, C) → (B, T, C)
        normed = note("ln_1", self.ln_1(x), "B T C")
        x = note("resid_mid", x + self.attn(normed, turn, visible, update_kv), "B T C")
        normed = note("ln_2", self.ln_2(x), "B T C")
        return note("resid_post", x + self.mlp(normed), "B T C")


# ---------------------------------------------------------------------------------------------
# The model.


class LlamaTransformer(nn.Module):
    """The token embeddings, the blocks and the last norm; there is no table of positions."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.h = nn.ModuleList(LlamaBlock(config) for _ in range(config.n_layer))
        self.ln_f = RMSNorm(config.n_embd, eps=config.rms_norm_eps)


class Llama(LanguageModel):
    """Llama, Qwen2 or Qwen3 with its language-model head, called as ``GPT2`` is.

    ``model(idx, targets, cache=, padding=, last_only=)`` takes token ids (B, T) and returns logits
    (B, T, V) and the mean cross-entropy in nats, or None. See ``GPT2`` for the arguments and
    errors. Padded texts count positions from their own first token, as there.
    """

    config: LlamaConfig
    config_type = LlamaConfig
    layout = llama_weights
    log_sum_exp = 4.892999

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.transformer = LlamaTransformer(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
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
        turn = rotation(self.config, positions)

        x = note("embd", self.transformer.wte(note("idx", idx, "B T")), "B T C")
        for layer, block in enumerate(self.transformer.h):
            x = block(x, turn, visible, None if cache is None else partial(cache.update, layer))
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
        """N(0, initializer_range) for every table and map, as Hugging Face initialises Llama."""
        for module in self.modules():
            if isinstance(module, nn.Embedding | nn.Linear):
                nn.init.normal_(module.weight, std=self.config.initializer_range)
                if isinstance(module, nn.Linear) and module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.RMSNorm):
                module.reset_parameters()

    @classmethod
    def probe(cls) -> Llama:
        """A model of the layout's PROBE with sin 1, sin 2, sin 3 … in each tensor."""
        model = cls(llama_weights.PROBE)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.arange(parameter.numel()).add(1).sin().view_as(parameter))
        return model.eval()
