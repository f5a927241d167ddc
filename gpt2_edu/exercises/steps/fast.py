"""Attention by a fused kernel."""

from typing import Any

from torch import Tensor

from ...model import attention_explicit
from ..exercise import Case
from ..step import random_tensor

DEFINES = ("attention",)
IMPORTS = ("from torch.nn import functional as F",)

START = '''
def attention(q, k, v):
    """Causal attention in one call: each (..., T, D) → (..., T, D)."""
    ...
'''

SOLUTION = '''
def attention(q, k, v):
    """Causal attention in one call: each (..., T, D) → (..., T, D)."""
    alone = q.size(-2) == 1  # one new token, the last of its text, sees all keys
    return F.scaled_dot_product_attention(q, k, v, is_causal=not alone)
'''


def use(mine: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return mine.attention(q, k, v)


def right(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return attention_explicit(q, k, v)


def cases() -> list[Case]:
    def qkv(*shape: int) -> tuple[Tensor, Tensor, Tensor]:
        return random_tensor(1, *shape), random_tensor(2, *shape), random_tensor(3, *shape)

    q, k, v = qkv(1, 3, 5, 4)
    return [
        Case("B = 2, H = 3, T = 5, D = 4", qkv(2, 3, 5, 4)),
        Case("a single token", qkv(1, 1, 1, 4)),
        Case("the newest token, and the keys of five", (q[:, :, -1:], k, v)),
    ]
