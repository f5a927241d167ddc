"""AdamW with its two groups of parameters, and the learning rate over a run."""

from __future__ import annotations

import math
from typing import Any

from torch import nn
from torch.optim import AdamW


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices, which decay, and vectors, which do not: each parameter in exactly one group.

    Decay pulls a weight towards 0. The matrices and both embedding tables can afford that. A bias
    or a LayerNorm's scale has no large norm to lose, and a scale pulled to 0 switches its channel
    off. The tied table wte = lm_head counts once. Source: Brown et al. 2020 (GPT-3), appendix B,
    for the rate 0.1; the split is that of Hugging Face and nanoGPT.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    vectors = [parameter for parameter in parameters if parameter.ndim < 2]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]


def make_optimizer(
    model: nn.Module, *, lr: float, betas: tuple[float, float], weight_decay: float
) -> AdamW:
    """AdamW (Loshchilov and Hutter 2019), as one fused kernel where the device has one."""
    fused = next(model.parameters()).device.type in ("cpu", "cuda")
    return AdamW(parameter_groups(model, weight_decay), lr=lr, betas=betas, fused=fused)


def learning_rate(step: int, *, steps: int, lr: float, min_lr: float, warmup_steps: int) -> float:
    """The learning rate of one step, counted from 0: a straight rise, then half a cosine.

    Step 0 learns at lr / warmup_steps: starting the rise at 0 would waste it. The last warm-up
    step reaches lr. From there the cosine falls, and the last step, steps - 1, learns at min_lr.
    Source: Loshchilov and Hutter 2017, "SGDR", section 3, for the cosine.
    """
    if step < warmup_steps:
        return lr * (step + 1) / warmup_steps
    done = min((step - warmup_steps + 1) / max(steps - warmup_steps, 1), 1.0)
    return min_lr + (lr - min_lr) * (1 + math.cos(math.pi * done)) / 2
