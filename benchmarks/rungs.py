"""What could still make a compiled training step faster: each change by itself, beside the step.

A rung belongs into the trainer if it pays in the report of ``make gpu``. Until then it is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from gpt2_edu import GPT2
from gpt2_edu.model import CausalSelfAttention

from . import contenders

Step = Callable[[], Tensor]


@dataclass(frozen=True)
class Rung:
    """What is different from the step as it is."""

    change: Callable[[GPT2], object] | None = None  # of the model, in place
    reads_loss: bool = False  # in every step: Python waits for the device
    compile_mode: str | None = None
    only_on_gpu: bool = False


# The changes replace a module's forward. A hook would not do: the compiler takes a model with
# another hook for the one that it has compiled.


def pad_head(model: GPT2) -> None:
    """The table of the head gets rows of zeros, up to a multiple of 64, in each forward pass.

    Matrix units like that. The logits of those rows are cut off again, so nothing else changes.
    """
    V, head = model.config.vocab_size, model.lm_head

    def padded(x: Tensor) -> Tensor:
        return F.linear(x, F.pad(head.weight, (0, 0, 0, -V % 64)))[..., :V]

    head.forward = padded


def half_residual(model: GPT2, dtype: torch.dtype) -> None:
    """The residual stream in half precision: cast once, after the embeddings. Weights stay."""
    drop = model.transformer.drop
    assert isinstance(drop, nn.Dropout)
    whole = drop.forward

    def cast(x: Tensor) -> Tensor:
        return whole(x).to(dtype)

    drop.forward = cast


def pin_attention(model: GPT2, backend: SDPBackend) -> None:
    """Attention by one of torch's kernels instead of the one that it would choose."""
    for module in model.modules():
        if isinstance(module, CausalSelfAttention):
            chosen = module.forward

            def pinned(*args: Any, chosen: Any = chosen) -> Any:
                with sdpa_kernel(backend):
                    return chosen(*args)

            module.forward = pinned


def rungs(dtype: torch.dtype) -> dict[str, Rung]:
    cudnn = partial(pin_attention, backend=SDPBackend.CUDNN_ATTENTION)
    return {
        "as it is": Rung(),
        "its loss read in every step": Rung(reads_loss=True),
        "the head padded to 64s": Rung(change=pad_head),
        "a residual stream in half precision": Rung(change=partial(half_residual, dtype=dtype)),
        "cuDNN's attention": Rung(change=cudnn, only_on_gpu=True),
        "max-autotune": Rung(compile_mode="max-autotune-no-cudagraphs", only_on_gpu=True),
    }


def training_step(
    rung: Rung, model: GPT2, idx: Tensor, dtype: torch.dtype, *, quick: bool = False
) -> Step:
    """A step of training, compiled, in ``dtype``; idx is (B, T + 1). It returns its loss."""
    if rung.change:
        rung.change(model)
    loss_of = contenders.our_loss(model)
    if quick:  # the first half of a compiler, which needs no C++ or CUDA
        loss_of = contenders.compiled(loss_of, quick)
    else:
        loss_of = torch.compile(loss_of, dynamic=False, mode=rung.compile_mode)
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True)

    def step() -> Tensor:
        with torch.autocast(idx.device.type, dtype, enabled=dtype != torch.float32):
            loss: Tensor = loss_of(idx[:, :-1], idx[:, 1:])
        loss.backward()
        loss = loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if rung.reads_loss:
            float(loss)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss

    return step
