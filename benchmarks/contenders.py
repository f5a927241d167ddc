"""The two that are compared: the same GPT-2, ours and that of ``transformers``, if it is there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gpt2_edu import GPT2, GPT2Config, generate

from .common import installed

# No dropout, as large models are trained today, and so that both do the same arithmetic.
NO_DROPOUT = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
SMALLEST = GPT2Config(vocab_size=50257, **NO_DROPOUT)  # the 124 million of "gpt2"
TINY = GPT2Config(vocab_size=97, block_size=64, n_layer=2, n_head=2, n_embd=16, **NO_DROPOUT)


def size(quick: bool) -> GPT2Config:
    return TINY if quick else SMALLEST


def ours(config: GPT2Config, device: torch.device, dtype: torch.dtype = torch.float32) -> GPT2:
    """Our model with random weights, in eval mode."""
    torch.manual_seed(0)
    return GPT2(config).to(device, dtype).eval()


def has_transformers() -> bool:
    return installed("transformers") is not None


def theirs(
    config: GPT2Config, device: torch.device, dtype: torch.dtype = torch.float32
) -> nn.Module:
    """The same model by ``transformers``, with its default, fused attention, in eval mode.

    ``generate`` there stops at an end-of-text id. It has none here, so that it need not be kept
    from stopping early.
    """
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(  # type: ignore[call-arg]
            vocab_size=config.vocab_size,
            n_positions=config.block_size,
            n_layer=config.n_layer,
            n_head=config.n_head,
            n_embd=config.n_embd,
            **NO_DROPOUT,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation="sdpa",
        )
    )
    return model.to(device, dtype).eval()


def our_generation(model: GPT2, idx: Tensor, new: int, **settings: Any) -> Callable[[], Tensor]:
    """Greedy and with the cache; ``settings`` go to ``generate``."""
    return lambda: generate(model, idx, new, temperature=0, **settings)


def their_generation(
    model: nn.Module, idx: Tensor, new: int, **settings: Any
) -> Callable[[], Tensor]:
    """The same by ``transformers``; ``settings`` go to its ``generate``."""
    return lambda: model.generate(
        idx,
        attention_mask=torch.ones_like(idx),
        do_sample=False,
        min_new_tokens=new,
        max_new_tokens=new,
        use_cache=True,
        pad_token_id=0,
        **settings,
    )


def compiled(model: Any, quick: bool) -> Any:
    """``torch.compile``; for a quick look its first half only, which needs no C++ compiler."""
    return torch.compile(model, dynamic=False, backend="aot_eager" if quick else "inductor")


def our_loss(model: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    def loss(idx: Tensor, targets: Tensor) -> Tensor:
        return model(idx, targets)[1]

    return loss


def their_loss(model: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """``transformers`` shifts the labels itself, so it gets the ids as labels and T - 1 count."""

    def loss(idx: Tensor, targets: Tensor) -> Tensor:
        return model(input_ids=idx, labels=idx, use_cache=False).loss

    return loss


def training_step(
    model: nn.Module,
    loss_of: Callable[[Tensor, Tensor], Tensor],
    idx: Tensor,
    precision: torch.dtype = torch.float32,
    *,
    fused: bool = True,
) -> Callable[[], None]:
    """A plain step around a model: forward, backward, clip, AdamW. idx is (B, T + 1)."""
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=fused)
    device = idx.device.type

    def step() -> None:
        with torch.autocast(device, precision, enabled=precision != torch.float32):
            loss = loss_of(idx[:, :-1], idx[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step
