"""A file of conversations, a model to start from, and the settings of a run on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.trainer import TrainConfig
from tests.training.small_run import small_config

SIZES = {"vocab_size": 1024, "block_size": 48, "n_layer": 2, "n_head": 3}
NO_SIZES = {"n_layer": None, "n_head": None, "n_embd": None, "dropout": 0.0, "block_size": 40}
NO_SIZES |= {"prompt": "<|endoftext|>", "sample_tokens": 4}
LORA = {"lora_rank": 2}
THINGS = ("hat", "map", "rope", "lamp", "coat", "drum", "flute")


def line(*turns: str) -> str:
    roles = ("user", "assistant")
    return json.dumps(
        {"messages": [{"role": roles[i % 2], "content": t} for i, t in enumerate(turns)]}
    )


def chats(count: int = 60) -> list[str]:
    """Questions whose answer is the thing in them, longer and shorter ones, and plain texts."""
    things = [THINGS[i % 7] for i in range(count)]
    lines = [
        line(f"Ivo saw a {one}.{' Who?' * (i % 5)} What?", one) for i, one in enumerate(things)
    ]
    return [
        json.dumps({"text": "A crane ate fish."}) if i % 4 == 3 else one
        for i, one in enumerate(lines)
    ]


def save_chats(path: Path) -> Path:
    path.write_text("\n".join(chats()) + "\n")
    return path


def save_start(folder: Path) -> Path:
    """A small model with the vocabulary of Crane World."""
    torch.manual_seed(3)
    GPT2(GPT2Config(**SIZES, n_embd=21, initializer_range=0.1)).save_pretrained(folder)
    return folder


def config(chat: Path, start: Path, out: Path, **changed: Any) -> TrainConfig:
    """A run of twelve steps from ``start``."""
    return small_config(chat, out, init_from=str(start), **NO_SIZES | changed)
