"""Llama, Qwen2 and Qwen3 on disk: Hugging Face's config.json, and the names of the tensors.

Our modules that GPT-2 has, too, carry GPT-2's names. The tensors themselves are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from .config import LlamaConfig, RopeScaling
from .machine.messages import short_repr
from .weights import misfits, table_of

FAMILY = "Llama"  # in messages

# Hugging Face's names of modules → ours, in the order in which they are replaced.
_MODULES = {
    "model.layers.": "transformer.h.",
    "model.embed_tokens.": "transformer.wte.",
    "model.norm.": "transformer.ln_f.",
    ".self_attn.": ".attn.",
    ".input_layernorm.": ".ln_1.",
    ".post_attention_layernorm.": ".ln_2.",
}

_SIZES = {  # ours → Hugging Face's
    "vocab_size": "vocab_size",
    "block_size": "max_position_embeddings",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_embd": "hidden_size",
    "n_inner": "intermediate_size",
}
_SCALING = {
    "factor": "factor",
    "low_freq_factor": "low_freq_factor",
    "high_freq_factor": "high_freq_factor",
    "original_block_size": "original_max_position_embeddings",
}
FAMILIES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}

# Settings that the three families could have and their published models do not.
_FIXED: dict[str, tuple[object, ...]] = {
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "use_sliding_window": (False,),
}


def from_hugging_face(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Hugging Face's tensors under our names, copied; RoPE's frequencies, which we compute, not."""
    return {
        _renamed(key): value.clone()
        for key, value in state.items()
        if not key.endswith(".rotary_emb.inv_freq")  # in files before transformers 4.32
    }


def _renamed(key: str) -> str:
    for theirs, ours in _MODULES.items():
        key = key.replace(theirs, ours)
    return key


def to_hugging_face(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our state dict under Hugging Face's names; a tied lm_head is left out."""
    stored = {}
    for key, value in state.items():
        if key.startswith("lm_head.") and value.data_ptr() == state[table_of(key)].data_ptr():
            continue
        for theirs, ours in _MODULES.items():
            key = key.replace(ours, theirs)
        stored[key] = value.contiguous()
    return stored


def family(config: LlamaConfig) -> str:
    """What Hugging Face calls a model with these settings, as ``model_type``."""
    if config.qkv_bias and config.qk_norm:
        raise ValueError("no published family has both biases and norms on q and k")
    return "qwen3" if config.qk_norm else "qwen2" if config.qkv_bias else "llama"


def config_to_hugging_face(config: LlamaConfig) -> dict[str, object]:
    """The settings of config.json, as ``transformers`` reads them."""
    model_type, scaling = family(config), config.rope_scaling
    rope: dict[str, object] = {"rope_type": "default" if scaling is None else "llama3"}
    if scaling is not None:
        rope |= {theirs: getattr(scaling, ours) for ours, theirs in _SCALING.items()}
    return {
        "architectures": [FAMILIES[model_type]],
        "model_type": model_type,
        **{theirs: getattr(config, ours) for ours, theirs in _SIZES.items()},
        "num_key_value_heads": config.n_kv_head,
        "head_dim": config.head_size,
        "hidden_act": "silu",
        "rms_norm_eps": config.rms_norm_eps,
        "tie_word_embeddings": config.tie_word_embeddings,
        "initializer_range": config.initializer_range,
        "rope_theta": config.rope_base,
        "rope_scaling": None if scaling is None else rope,
        "rope_parameters": rope | {"rope_theta": config.rope_base},
    }


def config_from_hugging_face(stored: Mapping[str, Any]) -> LlamaConfig:
    """The sizes in a config.json; ValueError for settings that these families do not have."""
    model_type = stored.get("model_type")
    problems = []
    if model_type not in FAMILIES:
        problems.append(f"model_type is {short_repr(model_type)}, not one of {', '.join(FAMILIES)}")
    problems += misfits(stored, _SIZES.values(), _FIXED)
    rope = stored.get("rope_parameters") or stored.get("rope_scaling") or {}
    if not isinstance(rope, Mapping):
        problems.append(f"rope_parameters must be an object, got {short_repr(rope)}")
        rope = {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "llama3"):
        problems.append(f"its RoPE is of type {short_repr(kind)}, not 'default' or 'llama3'")
    elif kind == "llama3":
        problems += [f"rope's {name} is missing" for name in _SCALING.values() if name not in rope]
    if problems:
        raise ValueError("; ".join(problems))

    heads, width = stored["num_attention_heads"], stored["hidden_size"]
    head_size: Any = stored.get("head_dim")
    if head_size is None and isinstance(heads, int) and isinstance(width, int) and heads > 0:
        head_size = width // heads
    scaling = {ours: rope[theirs] for ours, theirs in _SCALING.items()} if kind == "llama3" else {}
    return LlamaConfig(
        **{ours: stored[theirs] for ours, theirs in _SIZES.items()},
        n_kv_head=stored.get("num_key_value_heads") or heads,
        head_size=head_size,
        rope_base=rope.get("rope_theta", stored.get("rope_theta", 10_000.0)),
        rope_scaling=RopeScaling(**scaling) if scaling else None,
        rms_norm_eps=stored.get("rms_norm_eps", 1e-6),
        tie_word_embeddings=stored.get("tie_word_embeddings", False),
        qkv_bias=model_type == "qwen2",
        qk_norm=model_type == "qwen3",
        initializer_range=stored.get("initializer_range", 0.02),
    )


PROBE = LlamaConfig(  # small, with every part but Qwen2's biases, which no family has beside norms
    vocab_size=128,
    block_size=128,
    n_layer=2,
    n_head=4,
    n_kv_head=2,
    n_embd=32,
    n_inner=48,
    head_size=8,
    rope_scaling=RopeScaling(factor=4.0, original_block_size=32),
    qk_norm=True,
)
