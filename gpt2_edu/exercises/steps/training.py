"""A batch, and the loop."""

from typing import Any

import torch
from torch import Tensor, nn

from ...training import plain
from ..exercise import Case

DEFINES = ("batch", "train")
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
        # Where a window begins is the reader's choice; what belongs together is not.
        return [list(inputs.shape), torch.equal(targets, inputs + 1), bool(inputs.min() >= 0)]
    losses = part.train(table(11), ids, *given)
    return [len(losses), *(round(losses[i], 3) for i in (0, 1, -1))]


def right(what: str, ids: Tensor, *given: Any) -> Any:
    return use(plain, what, ids, *given)


def cases() -> list[Case]:
    ring = torch.arange(400) % 11
    return [
        Case("batch: 3 windows of 5 tokens", ("batch", torch.arange(50), 3, 5)),
        Case("batch: one window, all there is", ("batch", torch.arange(9), 2, 8)),
        Case("train: 40 steps", ("train", ring, 40, 4, 16, 0.1)),
        Case("train: one step", ("train", ring, 1, 2, 8)),
    ]
