"""Cards of models as the package reads and counts them, for web/test/card.test.mjs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from gpt2_edu import GPT2, GPT2Config, flops, gpt2_weights, llama_weights, trace
from gpt2_edu.config import LlamaConfig
from gpt2_edu.llama import Llama
from gpt2_edu.machine.device import shapes_only
from gpt2_site import card

T = 7  # tokens
SMALL: dict[str, GPT2Config | LlamaConfig] = {  # all sizes differ, so that none stands for another
    "gpt2": GPT2Config(vocab_size=101, block_size=37, n_layer=2, n_head=3, n_embd=21),
    "llama": LlamaConfig(
        vocab_size=103,
        block_size=41,
        n_layer=2,
        n_head=9,
        n_kv_head=3,
        n_embd=26,
        n_inner=58,
        head_size=4,
        tie_word_embeddings=False,
    ),
}
SMALL["qwen2"] = LlamaConfig(**asdict(SMALL["llama"]) | {"qkv_bias": True, "n_kv_head": 1})
SMALL["qwen3"] = LlamaConfig(**asdict(SMALL["llama"]) | {"qk_norm": True, "n_embd": 36})

NEW_ROPE = {"rope_type": "default", "rope_theta": 3e5}
LLAMA3_ROPE = {
    "type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 3.0,
    "original_max_position_embeddings": 512,
}
# Changes of an example that both read, or that both refuse; None takes a line out.
READ: list[tuple[str, dict[str, Any]]] = [
    ("gpt2", {"n_inner": 3072, "activation_function": "gelu_pytorch_tanh"}),
    ("gpt2", {"layer_norm_epsilon": 1e-6, "tie_word_embeddings": True}),
    ("smollm2-135m", {"head_dim": 32, "num_key_value_heads": 9, "rope_theta": None}),
    ("smollm2-135m", {"num_key_value_heads": None, "tie_word_embeddings": None}),
    ("llama-3-8b", {"rope_parameters": NEW_ROPE, "rms_norm_eps": None}),
    ("llama-3-8b", {"rope_scaling": LLAMA3_ROPE}),
    ("qwen3-0.6b", {"model_type": "qwen2"}),
]
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("gpt2", {"n_layer": None}),
    ("gpt2", {"n_head": 13}),
    ("gpt2", {"n_head": -12}),
    ("gpt2", {"n_embd": "768"}),
    ("gpt2", {"vocab_size": 50257.5}),
    ("gpt2", {"n_layer": 1001}),
    ("gpt2", {"n_positions": 2**24 + 1}),
    ("gpt2", {"n_inner": 3000}),
    ("gpt2", {"activation_function": "relu"}),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
    ("gpt2", {"add_cross_attention": True}),
    ("gpt2", {"tie_word_embeddings": False}),
    ("gpt2", {"layer_norm_epsilon": 0}),
    ("gpt2", {"model_type": "gptj"}),
    ("llama-3-8b", {"hidden_size": None, "intermediate_size": None}),
    ("llama-3-8b", {"num_key_value_heads": 5}),
    ("llama-3-8b", {"num_key_value_heads": -8}),
    ("llama-3-8b", {"head_dim": 7}),
    ("llama-3-8b", {"head_dim": 0}),
    ("llama-3-8b", {"hidden_act": "gelu"}),
    ("llama-3-8b", {"attention_bias": True}),
    ("llama-3.1-8b", {"mlp_bias": True}),
    ("llama-3-8b", {"tie_word_embeddings": "yes"}),
    ("llama-3-8b", {"rope_theta": -1}),
    ("llama-3-8b", {"rms_norm_eps": True}),
    ("llama-3-8b", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}),
    ("llama-3-8b", {"rope_scaling": {"type": "linear", "factor": 2.0}}),
    ("llama-3-8b", {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}),
    ("llama-3-8b", {"rope_scaling": LLAMA3_ROPE | {"high_freq_factor": 0.5}}),
    ("llama-3-8b", {"rope_scaling": LLAMA3_ROPE | {"factor": -8}}),
    ("llama-3-8b", {"rope_scaling": ["yarn"]}),
    ("qwen3-0.6b", {"use_sliding_window": True}),
    ("qwen3-0.6b", {"model_type": "qwen3_moe"}),
    ("qwen3-0.6b", {"model_type": "gemma3_text"}),
]


def cards() -> dict[str, Any]:
    examples = {name: json.loads(card.text(name)) for name in card.EXAMPLES}
    changed = [(examples[name], changes) for name, changes in READ]
    return {
        "examples": {name: counted(stored) for name, stored in examples.items()},
        "small": {name: measured(config) for name, config in SMALL.items()},
        "read": [sizes(with_changes(*one)) for one in changed],
        "refused": [refusal(with_changes(examples[name], changes)) for name, changes in REFUSED],
    }


def with_changes(stored: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    changed = stored | changes
    return {key: value for key, value in changed.items() if changes.get(key, ...) is not None}


def config_of(stored: dict[str, Any]) -> GPT2Config | LlamaConfig:
    layout = llama_weights if stored.get("model_type") in llama_weights.FAMILIES else gpt2_weights
    return layout.config_from_hugging_face(stored)


def made(config: GPT2Config | LlamaConfig) -> GPT2 | Llama:
    return Llama(config) if isinstance(config, LlamaConfig) else GPT2(config)


def counted(stored: dict[str, Any]) -> dict[str, Any]:
    """A published model's numbers: its parameters are those of the model itself."""
    config = config_of(stored)
    with shapes_only():
        number = made(config).num_parameters()
    at = {"T": 1024, "flops": None}
    if isinstance(config, GPT2Config):
        at["flops"] = flops.flops_per_token(config, 1024, training=False)
    return {
        "parameters": number,
        "parts": flops.parameters_by_part(config),
        "cache": flops.cache_bytes_per_token(config, "bfloat16"),
        **at,
    }


def measured(config: GPT2Config | LlamaConfig) -> dict[str, Any]:
    """A small model: what its first block notes, and the FLOPs that torch counts in a pass."""
    model, idx = made(config).eval(), torch.zeros(1, T, dtype=torch.int64)
    layout = llama_weights if isinstance(config, LlamaConfig) else gpt2_weights
    with trace(model) as tape, torch.no_grad():
        model(idx)
    block = "transformer.h.0."
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.no_grad():
        model(idx)
    return {
        "card": layout.config_to_hugging_face(config),
        "parts": flops.parameters_by_part(config),
        "noted": [
            [name.removeprefix(block), axes, list(shape)]
            for name, axes, shape in tape.ledger().rows()
            if name.startswith(block)
        ],
        "T": T,
        "flops": counter.get_total_flops(),
    }


def sizes(stored: dict[str, Any]) -> dict[str, Any]:
    config = config_of(stored)
    found = {name: getattr(config, name) for name in ("n_kv_head", "head_size", "n_embd")}
    if isinstance(config, LlamaConfig):
        scaling = None if config.rope_scaling is None else config.rope_scaling.factor
        found |= {"rope_base": config.rope_base, "factor": scaling, "epsilon": config.rms_norm_eps}
        found |= {"tied": config.tie_word_embeddings, "qkv_bias": config.qkv_bias}
    else:
        found |= {"epsilon": config.layer_norm_epsilon}
    return {"card": stored, "parameters": flops.num_parameters(config), **found}


def refusal(stored: dict[str, Any]) -> dict[str, Any]:
    try:
        config_of(stored)
    except (ValueError, TypeError):
        return stored
    raise AssertionError(f"this is read: {stored}")
