"""What could still make a compiled training step faster: each change by itself, beside the step.

A rung belongs into the trainer if it pays in the report of ``make gpu``. Until then it is here.
What did not pay is gone: a head padded to a multiple of 64, 4 % slower on an H200.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from gpt2_edu import GPT2

from . import contenders

Step = Callable[[], Tensor]


@dataclass(frozen=True)
class Rung:
    """What is different from the step as it is."""

    change: Callable[[GPT2], object] | None = None  # of the model, in place
    compile_mode: str | None = None  # of a GPU's compiler


# The changes replace a module's forward. A hook would not do: the compiler takes a model with
# another hook for the one that it has compiled.


def half_residual(model: GPT2, dtype: torch.dtype) -> None:
    """The residual stream in half precision: cast once, after the embeddings. Weights stay."""
    drop = model.transformer.drop
    assert isinstance(drop, nn.Dropout)
    whole = drop.forward

    def cast(x: Tensor) -> Tensor:
        return whole(x).to(dtype)

    drop.forward = cast


def rungs(dtype: torch.dtype) -> dict[str, Rung]:
    return {
        "as it is": Rung(),
        "a residual stream in half precision": Rung(change=partial(half_residual, dtype=dtype)),
        "max-autotune": Rung(compile_mode="max-autotune-no-cudagraphs"),
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
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss

    return step
