"""What to train on a text, on a device, in some minutes: sizes and settings that none has named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import torch

from .. import flops
from ..config import GPT2Config, LlamaConfig, ModelConfig
from ..data.shards import Header, read_header
from ..machine.device import named_device, pick_precision
from ..machine.measure import fastest
from ..models import new_model
from .optim import make_optimizer
from .randomness import kept_random_state

WIDTHS = (32, 64, 96, 128, 192, 256, 384, 512, 768)
LEAST = 16  # tokens of the shortest window
Family = Literal["gpt2", "llama"]


def propose(
    data: str,
    *,
    minutes: float = 10,
    device: str = "auto",
    precision: str = "auto",
    n_embd: int | None = None,
    steps: int | None = None,
    family: Family = "gpt2",
) -> dict[str, Any]:
    """Settings of TrainConfig for the shards in a folder: ``TrainConfig(data=…, **propose(…))``.

    See ``settings_for``. ``n_embd`` fixes the width and ``steps`` the length. Without both of them,
    what the device can do in so many minutes is measured, for a second or two. Raises
    FileNotFoundError or ValueError for a folder without shards, and ValueError for a text that is
    too short to train on.
    """
    if not minutes > 0:
        raise ValueError(f"minutes must be above 0, got {minutes}")
    header, where = read_header(data), named_device(device)
    settings_for(header, family=family)  # raises ValueError before anything is measured
    if n_embd and steps:
        return settings_for(header, n_embd=n_embd, steps=steps, family=family)
    rate = training_rate(where, pick_precision(precision, where), family)
    return settings_for(header, 0.9 * 60 * minutes * rate, n_embd, steps, family)


def settings_for(
    header: Header,
    budget: float = math.inf,
    n_embd: int | None = None,
    steps: int | None = None,
    family: Family = "gpt2",
) -> dict[str, Any]:
    """Settings of TrainConfig for a text, within ``budget`` FLOPs.

    The text decides which width and how many passes are worth while, by what was tried on 0.1 and
    1 MB (``benchmarks/own_text.py``): a width of 128 and 14 passes for 300,000 tokens; for more,
    more width and fewer passes, down to 4, which are hardly worse than new text (Muennighoff et
    al. 2023). Where the budget does not suffice, a narrower model is taken that still sees 20
    tokens for each parameter of its blocks (Hoffmann et al. 2022).
    """
    tokens, held = header.tokens("train"), header.tokens("val")
    T = min(128 if tokens < 1e6 else 256, tokens - 1, (held or tokens) - 1)
    if T < LEAST:
        raise ValueError(
            f"the text has {tokens:,} tokens to train on and {held:,} to validate; a window takes "
            f"at least {LEAST + 1} of each. Prepare a longer text."
        )
    batch_size = 16 if tokens < 1e6 else 32
    passes = min(max(14 * math.sqrt(3e5 / tokens), 4), 50)
    widest = 1.25 * 128 * (tokens / 3e5) ** 0.3
    for C in [n_embd] if n_embd else reversed(WIDTHS):
        N = min(max(C // 32, 2), 12)
        sizes = sizes_of(family, header.vocab_size, T, N, C)
        affordable = budget / flops.flops_per_token(sizes, T)
        if C <= widest and affordable >= min(passes * tokens, 20 * 12 * N * C**2):
            break
    if not steps:
        steps = max(20, round(min(passes * tokens, affordable) / (batch_size * T)))
        steps -= steps % (100 if steps > 200 else 1)
    often = max(steps // 10, 1)
    drops = passes > 4 and family == "gpt2"
    return {
        "family": family,
        "n_layer": N,
        "n_head": heads(C),
        "n_embd": C,
        "block_size": T,
        "batch_size": batch_size,
        "steps": steps,
        "lr": 0.4 / C,
        "dropout": 0.1 if drops else 0.0,
        "eval_every": often if held else 0,
        "sample_every": often,
        "save_every": max(steps // 4, 1),
        "prompt": "<|endoftext|>" if header.documents > 1 else "\n",
    }


def sizes_of(family: Family, vocab_size: int, T: int, n_layer: int, n_embd: int) -> ModelConfig:
    """The config of a model as it is proposed."""
    sizes = GPT2Config(
        vocab_size=vocab_size,
        block_size=T,
        n_layer=n_layer,
        n_head=heads(n_embd),
        n_embd=n_embd,
    )
    return LlamaConfig.like(sizes) if family == "llama" else sizes


def heads(n_embd: int) -> int:
    """Heads of a width of about 32, in wide models 64, that share ``n_embd`` evenly."""
    wanted = max(1, n_embd // (32 if n_embd < 512 else 64))
    return next(n for n in range(wanted, 0, -1) if n_embd % n == 0)


def training_rate(device: torch.device, dtype: torch.dtype, family: Family = "gpt2") -> float:
    """FLOP/s that training a small model reaches on a device now."""
    B, T = 16, 128
    sizes = sizes_of(family, vocab_size=2000, T=T, n_layer=4, n_embd=128)
    step = training_step(sizes, B, device, dtype)
    return B * T * flops.flops_per_token(sizes, T) / fastest(step, device)


def training_step(
    sizes: ModelConfig, batch_size: int, device: torch.device, dtype: torch.dtype
) -> Callable[[], None]:
    """A training step of a new model on ids that mean nothing, to be measured."""
    with kept_random_state(device):
        model = new_model(sizes).to(device)
        ids = torch.randint(sizes.vocab_size, (batch_size, sizes.block_size + 1), device=device)
    optimizer = make_optimizer(model, lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)

    autocast = torch.autocast(device.type, dtype, enabled=dtype != torch.float32)

    def step() -> None:
        with kept_random_state(device), autocast:
            _, loss = model(ids[:, :-1], ids[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
