"""A schedule, and a loop for longer runs."""

from typing import Any

import torch
from torch import Tensor

from ..exercise import Case
from ..step import find_step
from .training import table

DEFINES = ("rate", "train")
IMPORTS = (
    "import math",
    "import torch",
    "from torch import nn",
    "from torch.nn import functional as F",
)

START = '''
def rate(step, steps, peak, warmup):
    """The learning rate of a step, counted from 0: up in a line, then down along a cosine."""
    ...


def train(model, ids, steps, batch_size=16, T=64, lr=1e-3, warmup=20, accumulate=1):
    """As before, with what a longer run needs. Returns the loss of every step."""
    ...
'''

SOLUTION = '''
def rate(step, steps, peak, warmup):
    """The learning rate of a step, counted from 0: up in a line, then down along a cosine."""
    if step < warmup:
        return peak * (step + 1) / warmup
    done = (step - warmup) / (steps - warmup)
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def train(model, ids, steps, batch_size=16, T=64, lr=1e-3, warmup=20, accumulate=1):
    """As before, with what a longer run needs. Returns the loss of every step."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, lr, warmup)
        optimizer.zero_grad()
        total = 0.0
        for _ in range(accumulate):
            inputs, targets = batch(ids, batch_size, T)
            logits = model(inputs)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten()) / accumulate
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(total)
    return losses
'''

TOLERANCE = 1e-3


def use(mine: Any, what: str, *given: Any) -> Any:
    if what == "rate":
        return [mine.rate(*case) for case in given]
    torch.manual_seed(0)
    ids, *rest = given
    losses = mine.train(table(11), ids, *rest)
    return [len(losses), *(round(losses[i], 3) for i in (0, 1, -1))]


def right(*args: Any) -> Any:
    step = find_step("training_well")
    return step.answer(step.solution)(*args)


def cases() -> list[Case]:
    ring: Tensor = torch.arange(400) % 11
    return [
        Case(
            "rate: the first steps",
            ("rate", (0, 100, 1.0, 10), (4, 100, 1.0, 10), (9, 100, 1.0, 10)),
        ),
        Case(
            "rate: the top, half-way, the end",
            ("rate", (10, 110, 2.0, 10), (60, 110, 2.0, 10), (110, 110, 2.0, 10)),
        ),
        Case("train: 40 steps", ("train", ring, 40, 4, 16, 0.1, 5)),
        Case("train: in two portions", ("train", ring, 20, 4, 16, 0.1, 5, 2)),
    ]
