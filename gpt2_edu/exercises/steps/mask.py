"""Attention that does not look ahead."""

from typing import Any

from torch import Tensor
from torch.nn import functional as F

from ..exercise import Case
from ..step import random_tensor

DEFINES = ("attention",)
IMPORTS = (
    "import math",
    "import torch",
)

START = '''
def attention(q, k, v):
    """Causal attention: each (..., T, D) → (..., T, D)."""
    ...
'''

SOLUTION = '''
def attention(q, k, v):
    """Causal attention: each (..., T, D) → (..., T, D)."""
    T, D = q.shape[-2:]
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # row = query, column = key
    visible = torch.ones(T, T, dtype=torch.bool, device=q.device).tril()
    weights = scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)
    return weights @ v
'''


def use(mine: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return mine.attention(q, k, v)


def right(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def cases() -> list[Case]:
    def qkv(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
        return random_tensor(1, *shape), random_tensor(2, *shape), random_tensor(3, *shape)

    return [
        Case("one text, T = 3, D = 2", qkv(3, 2)),
        Case("B = 2, T = 5, D = 12", qkv(2, 5, 12)),
        Case("with an axis for heads: B = 2, H = 3, T = 5, D = 4", qkv(2, 3, 5, 4)),
        Case("very low scores", tuple(x * 200 for x in qkv(4, 3))),
        Case("a single token", qkv(1, 1, 4)),
    ]
