"""Attention that does not look ahead."""

from typing import Any

from torch import Tensor
from torch.nn import functional as F

from ...exercise import Case, Mistake
from ...step import random_tensor

PARTS = ("attention",)
IMPORTS = (
    "import math",
    "import torch",
    "from gpt2_edu import note",
)

START = '''
def attention(q, k, v):
    """Causal attention: each (..., T, D) → (..., T, D)."""
    ...  # scores, masked_scores and weights, "... T T"
'''

SOLUTION = '''
def attention(q, k, v):
    """Causal attention: each (..., T, D) → (..., T, D)."""
    T, D = q.shape[-2:]
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # row = query, column = key
    scores = note("scores", scores, "... T T")
    visible = torch.ones(T, T, dtype=torch.bool, device=q.device).tril()
    masked_scores = scores.masked_fill(~visible, -torch.inf)
    masked_scores = note("masked_scores", masked_scores, "... T T")
    weights = note("weights", masked_scores.softmax(dim=-1), "... T T")
    return weights @ v
'''


MISTAKES = (
    Mistake(
        "You set weights to 0 after the softmax, when the future has already been counted, so the "
        "rows no longer sum to 1. Mask the scores, before it.",
        (
            "scores.masked_fill(~visible, -torch.inf)",
            "scores.softmax(dim=-1).masked_fill(~visible, 0)",
        ),
        ("masked_scores.softmax(dim=-1)", "masked_scores"),
    ),
    Mistake(
        "Your triangle lacks its diagonal, so the first token sees nothing, and its row is nan. A "
        "token may see itself.",
        (".tril()", ".tril(-1)"),
    ),
    Mistake(
        "You hide the past and show the future. `masked_fill` writes where its mask is True: give it "
        "`~visible`.",
        ("~visible", "visible"),
    ),
    Mistake(
        "A large negative number is not low enough. Where all visible scores are lower still, the "
        "future gets all the weight. Write `-torch.inf`.",
        ("-torch.inf", "-10_000.0"),
    ),
    Mistake(
        "The mask is right, but the division by √D is gone.",
        (" / math.sqrt(D)", ""),
    ),
)


def use(mine: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return mine.attention(q, k, v)


def right(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def cases() -> list[Case]:
    def qkv(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
        return random_tensor(1, *shape), random_tensor(2, *shape), random_tensor(3, *shape)

    q, k, v = qkv(4, 3)
    return [
        Case("one text, T = 3, D = 2", qkv(3, 2)),
        Case("B = 2, T = 5, D = 12", qkv(2, 5, 12)),
        Case("with an axis for heads: B = 2, H = 3, T = 5, D = 4", qkv(2, 3, 5, 4)),
        Case("very low scores", (200 * q.abs(), -200 * k.abs(), v)),
        Case("a single token", qkv(1, 1, 4)),
    ]
