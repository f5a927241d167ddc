"""A batch, and the loop."""

from typing import Any

import torch
from torch import Tensor, nn

from ....training import plain
from ...exercise import Case, Mistake

PARTS = ("batch", "train")
IMPORTS = (
    "import torch",
    "from torch.nn import functional as F",
)

START = '''
def batch(ids, batch_size, T):
    """Windows from anywhere in ids: inputs (B, T), and their targets."""
    ...


def train(model, ids, steps, batch_size=16, T=64, lr=1e-3):
    """Let the model learn to predict ids. Returns the loss of every step."""
    ...
'''

SOLUTION = '''
def batch(ids, batch_size, T):
    """Windows from anywhere in ids: inputs (B, T), and their targets."""
    starts = torch.randint(len(ids) - T, (batch_size,))
    windows = torch.stack([ids[start : start + T + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


def train(model, ids, steps, batch_size=16, T=64, lr=1e-3):
    """Let the model learn to predict ids. Returns the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        inputs, targets = batch(ids, batch_size, T)
        logits = model(inputs)  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
'''


MISTAKES = (
    Mistake(
        "The last window is never drawn, and a row of T + 1 ids has no window at all. "
        "`torch.randint(n, …)` never returns n, so n is `len(ids) - T`.",
        ("len(ids) - T,", "len(ids) - T - 1,"),
    ),
    Mistake(
        "Your windows have T tokens, so only T − 1 remain for the inputs. Cut T + 1.",
        ("start + T + 1", "start + T"),
    ),
    Mistake(
        "All windows of a batch are the same, because one start is drawn and used for all. Draw "
        "`batch_size` starts, `torch.randint(len(ids) - T, (batch_size,))`.",
        ("(batch_size,))", "(1,)).expand(batch_size)"),
    ),
    Mistake(
        "`backward` adds to the gradients that are there. Clear those of the previous step with "
        "`optimizer.zero_grad()`.",
        ("        optimizer.zero_grad()\n", ""),
    ),
    Mistake(
        "You clear the gradients before `step` has used them, so nothing is learned. `zero_grad` "
        "comes before `backward`.",
        (
            "        optimizer.zero_grad()\n        loss.backward()\n",
            "        loss.backward()\n        optimizer.zero_grad()\n",
        ),
    ),
    Mistake(
        "The optimiser uses its default learning rate. Pass it yours: `lr=lr`.",
        ("model.parameters(), lr=lr", "model.parameters()"),
    ),
    Mistake(
        "This is Adam, which by default has no weight decay. The loop uses `torch.optim.AdamW`.",
        ("AdamW", "Adam"),
    ),
    Mistake(
        "AdamW starts afresh in every step and forgets its means. Create the optimiser once, before "
        "the loop.",
        (
            "        optimizer.zero_grad()\n",
            "        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)\n"
            "        optimizer.zero_grad()\n",
        ),
    ),
)

TOLERANCE = 1e-4


def table(V: int) -> nn.Embedding:
    """The smallest model there is: a row of logits for each token."""
    model = nn.Embedding(V, V)
    nn.init.zeros_(model.weight)
    return model


def use(part: Any, what: str, ids: Tensor, *given: Any) -> Any:
    torch.manual_seed(0)
    if what == "batch":
        inputs, targets = part.batch(ids, *given)
        # Where a window begins is drawn, in whatever way; what belongs together is not.
        drawn = [part.batch(ids, *given)[0] for _ in range(30)]
        return {
            "shape of the inputs": list(inputs.shape),
            "targets are one token further on": torch.equal(targets, inputs + 1),
            "two batches begin elsewhere": len({int(each[0, 0]) for each in drawn}) > 1,
            "two windows of a batch begin elsewhere": any(
                len(each[:, 0].unique()) > 1 for each in drawn
            ),
        }
    losses = part.train(table(11), ids, *given)
    return [len(losses), *(round(float(loss), 3) for loss in (*losses[:2], losses[-1]))]


def right(what: str, ids: Tensor, *given: Any) -> Any:
    return use(plain, what, ids, *given)


def cases() -> list[Case]:
    # T = 22 = 2 · 11: every window has each token twice, wherever it begins.
    ring = torch.arange(400) % 11
    return [
        Case("batch: 3 windows of 5 tokens", ("batch", torch.arange(50), 3, 5)),
        Case("batch: one window, all there is", ("batch", torch.arange(9), 2, 8)),
        Case("train: 40 steps", ("train", ring, 40, 4, 22, 0.1)),
        Case("train: one step", ("train", ring, 1, 2, 22)),
    ]
