"""A schedule, and a loop for longer runs."""

import math
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from ....training import plain
from ....training.optim import learning_rate
from ...comparing import Labelled
from ...exercise import Case, Mistake, find_step, fitting
from ...parts import execute
from ..training.build import measured, reading, table
from . import rate_at

PARTS = ("rate", "train")
IMPORTS = (
    "import math",
    "import torch",
    "from torch import nn",
    "from torch.nn import functional as F",
)

START = '''
def rate(step, steps, lr, min_lr, warmup):
    """The learning rate of a step, counted from 0: up to lr, down to min_lr."""
    ...


def train(
    model,
    ids,
    steps,
    batch_size=16,
    T=64,
    lr=1e-3,
    min_lr=1e-4,
    warmup=20,
    decay=0.1,
    clip=1.0,
    accumulate=1,
):
    """The loop, for longer runs. Returns the loss of every step."""
    ...
'''

SOLUTION = '''
def rate(step, steps, lr, min_lr, warmup):
    """The learning rate of a step, counted from 0: up to lr, down to min_lr."""
    if step < warmup:
        return lr * (step + 1) / warmup
    done = (step + 1 - warmup) / (steps - warmup)
    return min_lr + (lr - min_lr) * (1 + math.cos(math.pi * done)) / 2


def train(
    model,
    ids,
    steps,
    batch_size=16,
    T=64,
    lr=1e-3,
    min_lr=1e-4,
    warmup=20,
    decay=0.1,
    clip=1.0,
    accumulate=1,
):
    """The loop, for longer runs. Returns the loss of every step."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    losses = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps, lr, min_lr, warmup)
        optimizer.zero_grad()
        total = 0.0
        for _ in range(accumulate):
            inputs, targets = batch(ids, batch_size, T)
            logits = model(inputs)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            (loss / accumulate).backward()
            total += loss.item() / accumulate
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(total)
    return losses
'''


MISTAKES = (
    Mistake(
        "Your cosine is one step late and never reaches min_lr. The share that is done includes "
        "this step: `step + 1 - warmup`.",
        ("(step + 1 - warmup)", "(step - warmup)"),
    ),
    Mistake(
        "The parts' losses are added up, but the loss of the whole batch is their mean. Divide each "
        "by `accumulate`, both for `backward` and for what you return.",
        ("(loss / accumulate).backward()", "loss.backward()"),
        ("loss.item() / accumulate", "loss.item()"),
    ),
    Mistake(
        "The gradients of the parts add up to `accumulate` times that of the whole batch. AdamW "
        "hardly notices, but clipping does. Write `(loss / accumulate).backward()`.",
        ("(loss / accumulate).backward()", "loss.backward()"),
    ),
    Mistake(
        "The gradients are those of the whole batch, but the losses that you return are the "
        "sums over the parts. Divide each of these by `accumulate` too.",
        ("loss.item() / accumulate", "loss.item()"),
    ),
    Mistake(
        "`zero_grad` is inside the loop over the parts, so only the last part counts. It "
        "belongs before that loop.",
        ("        optimizer.zero_grad()\n", ""),
        ("            (loss", "            optimizer.zero_grad()\n            (loss"),
    ),
    Mistake(
        "The gradients are not clipped, or not to `clip`. Between `backward` and `step` comes "
        "`nn.utils.clip_grad_norm_(model.parameters(), clip)`.",
        ("        nn.utils.clip_grad_norm_(model.parameters(), clip)\n", ""),
    ),
    Mistake(
        "You clip inside the loop over the parts, so a later part counts more than those "
        "before it. Clip once, after the gradients of all parts have been added up.",
        ("        nn.utils.clip_grad_norm_(model.parameters(), clip)\n", ""),
        (
            ".backward()\n",
            ".backward()\n            nn.utils.clip_grad_norm_(model.parameters(), clip)\n",
        ),
    ),
    Mistake(
        "Everything decays. Only tensors with two axes or more should; biases and norms get "
        '`"weight_decay": 0.0`.',
        ('"weight_decay": 0.0', '"weight_decay": decay'),
    ),
    Mistake(
        "The learning rate is set once, before the loop, so it stays that of the first step. Set it in every step, for all groups.",
        ("= rate(step, steps", "= rate(0, steps"),
    ),
    Mistake(
        "You return the loss of the last part, divided by `accumulate`. Add the divided losses of all parts.",
        ("total += loss", "total = loss"),
    ),
    Mistake(
        "You return the loss of the last part alone. Add those of all parts, each divided by "
        "`accumulate`.",
        ("total += loss.item() / accumulate", "total = loss.item()"),
    ),
    Mistake(
        "The losses are tensors that still hold the graph of their step, so that memory fills up. "
        "Keep the number alone: `loss.item()`.",
        ("loss.item() / accumulate", "loss / accumulate"),
    ),
    Mistake(
        "Each part is a full batch of `batch_size` windows, so that all parts together are "
        "`accumulate` times as large. Write `batch(ids, batch_size, T)`.",
        ("batch(ids, batch_size, T)", "batch(ids, batch_size // accumulate, T)"),
    ),
    Mistake(
        "The loss is divided by `accumulate` already, and then once more where it is added to the "
        "total. Divide it once.",
        ("(loss / accumulate).backward()", "loss = loss / accumulate\n            loss.backward()"),
    ),
    Mistake(
        'The decay is a fixed number. Hand on the argument, `"weight_decay": decay`.',
        ('"weight_decay": decay', '"weight_decay": 0.1'),
    ),
    Mistake(
        'AdamW knows no `"decay"`, so its default of 0.01 applies to both groups. The key is '
        '`"weight_decay"`.',
        ('"weight_decay": decay', '"decay": decay'),
        ('"weight_decay": 0.0', '"decay": 0.0'),
    ),
    Mistake(
        "Tables and matrices have two axes, and `> 2` leaves them in no group, so they never learn. "
        "Write `p.ndim >= 2`.",
        ("p.ndim >= 2", "p.ndim > 2"),
    ),
    Mistake(
        "min_lr is not added, so your cosine falls from lr − min_lr to 0. Begin with `min_lr + …`.",
        ("min_lr + (lr - min_lr) *", "(lr - min_lr) *"),
    ),
    Mistake(
        "π is missing. The cosine falls from 1 to −1 while its angle goes from 0 to π, "
        "`math.cos(math.pi * done)`.",
        ("math.pi * done", "done"),
    ),
    Mistake(
        "The rate falls along a straight line. It should follow half a cosine, "
        "`(1 + math.cos(math.pi * done)) / 2`.",
        ("(1 + math.cos(math.pi * done)) / 2", "(1 - done)"),
    ),
    Mistake(
        "The sine rises and falls again. The cosine falls all the way from 1 to −1, so write "
        "`math.cos`.",
        ("math.cos", "math.sin"),
    ),
    Mistake(
        "The share that is done counts the warm-up as well. Count from its end, "
        "`(step + 1 - warmup) / (steps - warmup)`.",
        ("(step + 1 - warmup) / (steps - warmup)", "step / steps"),
    ),
    Mistake(
        "`optimizer.step()` is inside the loop over the parts, so each part makes a step of its own. Step once, after the gradients of all parts have been added up.",
        (
            "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n        optimizer.step()\n",
            "",
        ),
        (
            "            total +=",
            "            nn.utils.clip_grad_norm_(model.parameters(), clip)\n            optimizer.step()\n            total +=",
        ),
    ),
    Mistake(
        'The second group has no decay of its own, so AdamW\'s default of 0.01 applies. Give it `"weight_decay": 0.0`.',
        ('{"params": others, "weight_decay": 0.0}', '{"params": others}'),
    ),
    Mistake(
        "All parts of a step are the same batch. Call `batch` inside the loop over the parts.",
        (
            "        for _ in range(accumulate):\n            inputs, targets = batch(ids, batch_size, T)\n",
            "        inputs, targets = batch(ids, batch_size, T)\n        for _ in range(accumulate):\n",
        ),
    ),
    Mistake(
        'The learning rate is never set, so AdamW\'s default applies. In every step, set `group["lr"]` in all groups.',
        ('            group["lr"] = rate(step, steps, lr, min_lr, warmup)\n', "            pass\n"),
    ),
    Mistake(
        "The gradients of all steps add up. Call `optimizer.zero_grad()` at the beginning of each step.",
        ("        optimizer.zero_grad()\n", ""),
    ),
    Mistake(
        "The two groups are swapped. The matrices decay, and biases and norms do not.",
        ('"params": matrices', '"params": others'),
        ('{"params": others, "weight_decay": 0.0}', '{"params": matrices, "weight_decay": 0.0}'),
    ),
    Mistake(
        "`clip_grad_value_` cuts each entry, which changes the direction. `clip_grad_norm_` shortens the whole.",
        ("clip_grad_norm_", "clip_grad_value_"),
    ),
    Mistake(
        "The cosine is spread over all steps. Divide by the steps after the warm-up, `steps - warmup`.",
        ("/ (steps - warmup)", "/ steps"),
    ),
    Mistake(
        "`<=` makes the warm-up one step too long, and its last rate is above lr. Steps count from 0, so it is `step < warmup`.",
        ("step < warmup", "step <= warmup"),
    ),
    Mistake(
        "Your cosine ends above min_lr. It falls by lr − min_lr, from lr to min_lr.",
        ("(lr - min_lr)", "lr"),
    ),
    Mistake(
        "`optimizer.step()` is inside the loop over the parts, so each part makes a step of its own. Step once, after the gradients of all parts have been added up.",
        ("        optimizer.step()\n", ""),
        ("            total +=", "            optimizer.step()\n            total +="),
    ),
    Mistake(
        "The arguments of `rate` have another order: first the step, then the number of steps.",
        ("rate(step, steps, lr, min_lr, warmup):", "rate(steps, step, lr, min_lr, warmup):"),
        ("= rate(step, steps,", "= rate(steps, step,"),
    ),
    *fitting(rate_at.MISTAKES, SOLUTION),
)

TOLERANCE = 1e-3
OFF = {"warmup": 0, "decay": 0.01, "clip": math.inf}  # and min_lr = lr: the plain loop


class Tilted(nn.Module):
    """A table with a bias that begins far from 0: one tensor to decay, and one to spare."""

    def __init__(self, V: int) -> None:
        super().__init__()
        self.table = table(V)
        self.bias = nn.Parameter(torch.linspace(-4, 4, V))

    def forward(self, idx: Tensor) -> Tensor:
        logits: Tensor = self.table(idx) + self.bias
        return logits


class Quarrelling(nn.Module):
    """A table whose sign turns with every pass, so that two portions pull against each other."""

    def __init__(self, V: int) -> None:
        super().__init__()
        self.table = table(V)
        self.calls = 0

    def forward(self, idx: Tensor) -> Tensor:
        self.calls += 1
        logits: Tensor = self.table(idx) * (2 if self.calls % 2 else -1)
        return logits


MODELS = {"decay": Tilted, "clip": Tilted, "portions": Quarrelling}


def use(mine: Any, what: str, *given: Any) -> Any:
    if what == "rate":
        return [mine.rate(*case) for case in given]
    torch.default_generator.manual_seed(0)
    ids, steps, batch_size, T, lr, more = given
    model = MODELS.get(what, table)(11)
    read = reading(model)
    losses = mine.train(model, ids, steps, batch_size, T, lr, **more)
    batches = {tuple(each.flatten().tolist()) for each in read}
    return Labelled(
        {
            "shape of what the model reads": list(read[0].shape),
            **measured(losses),
            "all parts of a step are the same batch": "accumulate" in more
            and len(batches) <= steps,
        }
    )


def right(what: str, *given: Any) -> Any:
    if what == "rate":
        names = ("steps", "lr", "min_lr", "warmup_steps")
        return [learning_rate(step, **dict(zip(names, rest, strict=True))) for step, *rest in given]
    if what == "off":
        loop = SimpleNamespace(train=lambda *given, **_: plain.train(*given))
        return use(loop, what, *given)
    step = find_step("training_well")
    return execute(step, step.solution)(what, *given)


def cases() -> list[Case]:
    ring: Tensor = torch.arange(400) % 11
    return [
        Case(
            "rate: 6 steps, 2 of them warm-up",
            ("rate", *((step, 6, 8.0, 2.0, 2) for step in range(6))),
        ),
        Case(
            "rate: without warm-up",
            ("rate", (0, 10, 3.0, 0.5, 0), (9, 10, 3.0, 0.5, 0)),
        ),
        Case(
            "train: all switched off, as the plain loop",
            ("off", ring, 20, 4, 22, 0.1, OFF | {"min_lr": 0.1}),
        ),
        Case(
            "train: warm-up and cosine",
            ("on", ring, 40, 4, 22, 0.1, OFF | {"warmup": 5, "min_lr": 0.01}),
        ),
        Case(
            "train: clipped",
            ("clip", ring, 20, 4, 22, 0.1, OFF | {"min_lr": 0.1, "clip": 0.05}),
        ),
        Case(
            "train: the table decays, the bias does not",
            ("decay", ring, 20, 4, 22, 0.1, OFF | {"min_lr": 0.1, "decay": 2.0}),
        ),
        Case(
            "train: in two parts",
            ("portions", ring, 20, 4, 22, 0.1, OFF | {"min_lr": 0.1, "accumulate": 2, "clip": 0.2}),
        ),
        Case(
            # the limit lies between the mean of the portions' gradients and their sum
            "train: in two parts, clipped",
            ("clip", ring, 20, 4, 22, 0.1, OFF | {"min_lr": 0.1, "accumulate": 2, "clip": 0.5}),
        ),
    ]
