"""From GPT-2 to Llama, one change at a time: models that differ in a single part.

No forward pass is written again: modules of ``GPT2`` are replaced by those of llama.py. Only
rotation is approached from the other end, because GPT-2 does not tell its blocks the positions:
there, every part of ``Llama`` but the rotation is replaced by GPT-2's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from ..config import GPT2Config, LlamaConfig
from ..llama import GroupedSelfAttention, Llama, SwiGLU
from ..model import GPT2, MLP, UpdateKV


def as_llama(config: GPT2Config, n_kv_head: int) -> LlamaConfig:
    """The same sizes for Llama's parts. Its MLP has three matrices, as large as GPT-2's two."""
    same = ("vocab_size", "block_size", "n_layer", "n_head", "n_embd", "head_size")
    return LlamaConfig(
        **{name: getattr(config, name) for name in same},
        n_kv_head=n_kv_head,
        n_inner=8 * config.n_embd // 3,
        rope_base=10_000.0,
        rms_norm_eps=config.layer_norm_epsilon,
    )


def with_norms(norm: type[nn.LayerNorm | nn.RMSNorm], model: GPT2 | Llama) -> GPT2 | Llama:
    """All norms of the model are of this kind."""
    C = model.config.n_embd
    for block in model.transformer.h:
        block.ln_1, block.ln_2 = norm(C, eps=1e-5), norm(C, eps=1e-5)
    model.transformer.ln_f = norm(C, eps=1e-5)
    return model


def with_rotation(config: GPT2Config) -> Llama:
    """Queries and keys are rotated by their positions, and no vector is added for a position."""
    model = Llama(replace(as_llama(config, config.n_head), qkv_bias=True))
    with_norms(nn.LayerNorm, model)
    for block in model.transformer.h:
        block.attn.o_proj = nn.Linear(config.n_embd, config.n_embd)  # with a bias
        block.mlp = MLP(config)
    return model


def without_positions(config: GPT2Config) -> GPT2:
    """Nothing tells a token where it stands, except how many tokens the mask lets it see."""
    model = GPT2(config)
    zeros = torch.zeros(config.block_size, config.n_embd)
    model.transformer.wpe = nn.Embedding.from_pretrained(zeros)  # which is not trained
    return model


def with_swiglu(config: GPT2Config) -> GPT2:
    """SwiGLU instead of GELU, and so no biases in the MLP."""
    model = GPT2(config)
    for block in model.transformer.h:
        block.mlp = SwiGLU(as_llama(config, config.n_head))
    return model


def without_biases(config: GPT2Config) -> GPT2:
    """The linear maps only multiply."""
    model = GPT2(config)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_parameter("bias", None)
    return model


@dataclass(frozen=True, kw_only=True)
class GroupedConfig(GPT2Config):
    """Sizes of a GPT-2 in which several query heads share a head of keys and values."""

    n_kv_head: int = 1


class Unturned(GroupedSelfAttention):
    """Llama's attention in a block of GPT-2, which has no angles for it: nothing is rotated."""

    def forward(  # type: ignore[override]
        self, x: Tensor, visible: Tensor | None = None, update_kv: UpdateKV | None = None
    ) -> Tensor:  # (B, T, C) → (B, T, C)
        cos, sin = x.new_ones(1), x.new_zeros(1)
        return super().forward(x, (cos, sin), visible, update_kv)


def with_key_heads(n_kv_head: int, config: GPT2Config) -> GPT2:
    """The query heads share this many heads of keys and values."""
    model = GPT2(GroupedConfig(**{**vars(config), "n_kv_head": n_kv_head}))
    for block in model.transformer.h:
        block.attn = Unturned(replace(as_llama(config, n_kv_head), qkv_bias=True))
        block.attn.o_proj = nn.Linear(config.n_embd, config.n_embd)  # with a bias
    return model


VARIANTS: dict[str, Callable[[GPT2Config], GPT2 | Llama]] = {
    "learned": GPT2,  # a learned vector for each position, and the rest of GPT-2
    "rope": with_rotation,
    "none": without_positions,
    "rmsnorm": lambda config: with_norms(nn.RMSNorm, GPT2(config)),
    "swiglu": with_swiglu,
    "nobias": without_biases,
    "kv2": partial(with_key_heads, 2),
    "kv1": partial(with_key_heads, 1),
    "all": lambda config: Llama(as_llama(config, max(config.n_head // 2, 1))),
}


def variant(name: str, config: GPT2Config) -> GPT2 | Llama:
    """An untrained model with the change of this name in VARIANTS.

    All begin alike: weights from N(0, initializer_range), smaller by √(2N) where a map writes to
    the residual stream, as in ``GPT2.init_weights``; biases 0.
    """
    model = VARIANTS[name](config)
    for path, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding) and module.weight.requires_grad:
            writes = path.endswith(("c_proj", "o_proj", "down_proj"))
            std = config.initializer_range / (math.sqrt(2 * config.n_layer) if writes else 1)
            nn.init.normal_(module.weight, std=std)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
    return model
