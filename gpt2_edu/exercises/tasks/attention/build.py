"""Attention of all words at once, and a head."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from ...exercise import Case, Mistake
from ...step import fill, numbered, random_tensor

PARTS = ("attention", "Head")
IMPORTS = (
    "import math",
    "import torch",
    "from gpt2_edu import note",
    "from torch import nn",
)

START = '''
def attention(q, k, v):
    """What every word gathers: each (..., T, D) → (..., T, D)."""
    ...  # its tables, if you note them: scores and weights, "... T T"


class Head(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        ...  # c_attn makes q, k and v, side by side

    def forward(self, x):  # (B, T, C) → (B, T, C)
        ...
'''

SOLUTION = '''
def attention(q, k, v):
    """What every word gathers: each (..., T, D) → (..., T, D)."""
    D = q.size(-1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # row = query, column = key
    scores = note("scores", scores, "... T T")
    weights = scores.softmax(dim=-1)  # each row sums to 1
    weights = note("weights", weights, "... T T")
    return weights @ v


class Head(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)  # q, k and v, side by side

    def forward(self, x):  # (B, T, C) → (B, T, C)
        q, k, v = self.c_attn(x).split(x.size(-1), dim=-1)
        return attention(q, k, v)
'''


MISTAKES = (
    Mistake(
        "The division is missing: the scores are q · k / √D.",
        (" / math.sqrt(D)", ""),
    ),
    Mistake(
        "You divide by D. The typical size of a score grows like the root of D: use `math.sqrt`.",
        ("math.sqrt(D)", "D"),
    ),
    Mistake(
        "Your columns sum to 1. The shares of one query are a row, so take the softmax with `dim=-1`.",
        ("softmax(dim=-1)", "softmax(dim=-2)"),
    ),
    Mistake(
        "Your table is turned: its rows are keys. Row = query, so q is on the left, and k is "
        "transposed.",
        ("q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"),
    ),
    Mistake(
        "`attention` is right, but `Head` cuts its parts in another order. The first C entries of "
        "`c_attn` are q, the next are k, the last are v.",
        ("q, k, v = self.c_attn", "k, q, v = self.c_attn"),
    ),
)


def use(mine: Any, what: str, *given: Tensor) -> Tensor:
    if what == "attention":
        return mine.attention(*given)
    (x,) = given
    return fill(mine.Head(x.size(-1)), layer(x.size(-1)))(x)


def right(what: str, *given: Tensor) -> Tensor:
    if what == "attention":
        q, k, v = given
        return F.scaled_dot_product_attention(q, k, v)
    (x,) = given
    q, k, v = layer(x.size(-1))["c_attn"](x).chunk(3, dim=-1)
    return F.scaled_dot_product_attention(q, k, v)


def layer(n_embd: int) -> nn.ModuleDict:
    found = nn.ModuleDict({"c_attn": nn.Linear(n_embd, 3 * n_embd)})
    numbered(found, seed=n_embd)
    return found


def cases() -> list[Case]:
    def qkv(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
        return random_tensor(1, *shape), random_tensor(2, *shape), random_tensor(3, *shape)

    return [
        Case("attention: one text, T = 3, D = 2", ("attention", *qkv(3, 2))),
        Case("attention: B = 2, T = 5, D = 12", ("attention", *qkv(2, 5, 12))),
        Case("attention: large scores, T = 3, D = 64", ("attention", *(8 * x for x in qkv(3, 64)))),
        Case("Head: B = 2, T = 5, C = 12", ("Head", random_tensor(4, 2, 5, 12))),
        Case("Head: a single token", ("Head", random_tensor(5, 1, 1, 7))),
    ]
