"""One word looks around."""

from typing import Any

import torch
from torch import Tensor

from ..exercise import Case
from ..step import random_tensor

DEFINES = ("attention",)
IMPORTS = ("import torch",)

START = '''
def attention(q, k, v):
    """What one word gathers: q (D,), keys k (T, D), values v (T, D) → (D,)."""
    ...
'''

SOLUTION = '''
def attention(q, k, v):
    """What one word gathers: q (D,), keys k (T, D), values v (T, D) → (D,)."""
    scores = k @ q  # a number for each word, (T,)
    shares = torch.exp(scores)
    weights = shares / shares.sum()
    return weights @ v
'''


def use(mine: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return mine.attention(q, k, v)


def right(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (k @ q).softmax(dim=0) @ v


def cases() -> list[Case]:
    q = torch.tensor([0.7, 0.7])
    k = torch.tensor([[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]])
    v = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.8, 0.2]])
    return [
        Case("crane, ate, fish", (q, k, v)),
        Case("T = 5, D = 3", (random_tensor(1, 3), random_tensor(2, 5, 3), random_tensor(3, 5, 3))),
        Case("a word alone", (random_tensor(4, 2), random_tensor(5, 1, 2), random_tensor(6, 1, 2))),
    ]
