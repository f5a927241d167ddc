"""The MLP."""

from typing import Any

import torch
from torch import Tensor

from .... import model
from ....config import GPT2Config
from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("MLP",)
IMPORTS = (
    "from gpt2_edu import note",
    "from torch import nn",
    "from torch.nn import functional as F",
)

START = """
class MLP(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        ...  # c_fc and c_proj

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...  # note pre, act and out
"""

SOLUTION = """
class MLP(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd)
        self.c_proj = nn.Linear(4 * n_embd, n_embd)

    def forward(self, x):  # (B, T, C) → (B, T, C)
        pre = note("pre", self.c_fc(x), "B T F")
        act = note("act", F.gelu(pre, approximate="tanh"), "B T F")
        return note("out", self.c_proj(act), "B T C")
"""


MISTAKES = (
    Mistake(
        "This is the exact GELU. GPT-2 was trained with the other form: `F.gelu(…, "
        "approximate='tanh')`.",
        (', approximate="tanh"', ""),
    ),
    Mistake(
        "There is no nonlinearity between the two layers, so they do the work of one. Put GELU "
        "between them.",
        ('F.gelu(pre, approximate="tanh")', "pre"),
    ),
    Mistake(
        "You use ReLU. GPT-2 has GELU, in the tanh form.",
        ('F.gelu(pre, approximate="tanh")', "F.relu(pre)"),
    ),
    Mistake(
        "You apply GELU to the result as well. Nothing follows `c_proj`, because what the MLP adds "
        "may be negative.",
        ("self.c_proj(act)", 'F.gelu(self.c_proj(act), approximate="tanh")'),
    ),
)

TOLERANCE = 1e-6  # the exact GELU differs by more


def theirs(n_embd: int) -> model.MLP:
    layer = model.MLP(GPT2Config(n_embd=n_embd, n_head=1))
    numbered(layer, seed=n_embd)
    return layer


def use(mine: Any, x: Tensor) -> Tensor:
    return fill(mine.MLP(x.size(-1)), theirs(x.size(-1)))(x)


def right(x: Tensor) -> Tensor:
    return theirs(x.size(-1))(x)


def cases() -> list[Case]:
    return [
        Case("one token of two numbers", (torch.tensor([[[0.5, -0.5]]]),)),
        Case("B = 2, T = 5, C = 12", (random_tensor(1, 2, 5, 12),)),
        Case("large numbers", (20 * random_tensor(2, 1, 3, 4),)),
    ]
