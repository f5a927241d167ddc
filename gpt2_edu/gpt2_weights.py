"""GPT-2 on disk: Hugging Face's config.json, and the layout of the tensors.

Two things differ from our modules. The four projections of a block are stored as ``Conv1D``,
(in, out), where ``nn.Linear`` keeps (out, in), so they are transposed. And some files carry the
causal mask as a buffer, which we compute. The tied lm_head is stored once, as wte.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from .config import GPT2Config
from .machine.messages import short_repr
from .weights import misfits

FAMILY = "GPT-2"  # in messages

_CONV1D = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
_MASK_BUFFERS = (".attn.bias", ".attn.masked_bias")
_SIZES = ("vocab_size", "n_layer", "n_head", "n_embd")
_RATES = ("embd_pdrop", "attn_pdrop", "resid_pdrop", "layer_norm_epsilon", "initializer_range")

# Settings that a config.json could have, with the values that mean GPT-2 as published.
_FIXED: dict[str, tuple[object, ...]] = {
    "model_type": ("gpt2",),
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}


def to_hugging_face(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our state dict in Hugging Face's layout: Conv1D transposed, the tied lm_head left out."""
    return {
        key: (value.t() if key.endswith(_CONV1D) else value).contiguous()
        for key, value in state.items()
        if key not in ("lm_head.weight", "lm_head.integers", "lm_head.scales")
    }


def from_hugging_face(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Hugging Face's layout in ours, copied. OpenAI's files leave out ``transformer.``."""
    ours = {}
    for key, value in state.items():
        if key.endswith(_MASK_BUFFERS):
            continue
        if not key.startswith(("transformer.", "lm_head.")):
            key = "transformer." + key
        is_conv1d = key.endswith(_CONV1D) and value.ndim == 2
        ours[key] = (value.t() if is_conv1d else value).clone(memory_format=torch.contiguous_format)
    return ours


def config_to_hugging_face(config: GPT2Config) -> dict[str, object]:
    """The settings of config.json, as ``transformers.GPT2Config`` reads them."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "n_positions": config.block_size,
        "bos_token_id": config.vocab_size - 1,
        "eos_token_id": config.vocab_size - 1,
        **{name: getattr(config, name) for name in _SIZES + _RATES},
    }


def config_from_hugging_face(stored: Mapping[str, Any]) -> GPT2Config:
    """The sizes in a config.json; ValueError for settings that GPT-2 does not have."""
    problems = misfits(stored, (*_SIZES, "n_positions"), _FIXED)
    inner, width = stored.get("n_inner"), stored.get("n_embd", 0)
    if inner is not None and not (isinstance(width, int) and inner == 4 * width):
        problems.append(f"n_inner is {short_repr(inner)}, not 4 · n_embd")
    if problems:
        raise ValueError("; ".join(problems))
    return GPT2Config(
        block_size=stored["n_positions"],
        **{name: stored[name] for name in _SIZES + _RATES if name in stored},
    )
