"""One word looks around."""

from typing import Any

import torch
from torch import Tensor

from ...crane_run import CRANE, MARSH, TEXT, crane_run
from ...exercise import Case, Mistake
from ...step import random_tensor

PARTS = ("attention",)
IMPORTS = ("import torch",)

START = '''
def attention(q, k, v):
    """What one word gathers: q (C,), keys k (T, C), values v (T, C) → (C,)."""
    ...
'''

SOLUTION = '''
def attention(q, k, v):
    """What one word gathers: q (C,), keys k (T, C), values v (T, C) → (C,)."""
    scores = k @ q  # a number for each word, (T,)
    shares = torch.exp(scores)
    weights = shares / shares.sum()
    return weights @ v
'''


MISTAKES = (
    Mistake(
        "You mix with the scores themselves. Make shares of them first: positive, and 1 in total.",
        ("weights @ v", "scores @ v"),
    ),
    Mistake(
        "You took the powers of the scores, but did not divide by their sum. Shares are 1 in total.",
        ("weights @ v", "shares @ v"),
    ),
    Mistake(
        "You divided the scores by their sum. A negative score would become a negative share, so take "
        "torch.exp of each first.",
        ("torch.exp(scores)", "scores"),
    ),
    Mistake(
        "That is the plain average, in which every word gives the same share. Score the keys with the query.",
        ("weights @ v", "v.mean(dim=0)"),
    ),
    Mistake(
        "You mix the keys. They are only compared with the query. Words hand over their values.",
        ("weights @ v", "weights @ k"),
    ),
    Mistake(
        "The shapes do not fit. A score is a dot product, one number for each word: `k @ q`, (T, C) times (C,), is (T,).",
        ("k @ q", "q @ k"),
    ),
    Mistake(
        "The powers are divided by the sum of the scores. Shares are 1 in total: divide by the sum of the powers.",
        ("shares.sum()", "scores.sum()"),
    ),
    Mistake(
        "`*` multiplies, and nothing is added up. The mixture is `weights @ v`, (C,).",
        ("weights @ v", "weights.unsqueeze(1) * v"),
    ),
    Mistake(
        "You divided the scores by √C. That comes in the next chapter. Here they are used as they are.",
        ("k @ q", "k @ q / len(q) ** 0.5"),
    ),
    Mistake(
        "You swapped keys and values. Keys are for the scores, values for the mixture.",
        ("k @ q", "v @ q"),
        ("weights @ v", "weights @ k"),
    ),
    Mistake(
        "You divided by the number of words. Shares are 1 in total: divide by the sum of the powers.",
        ("shares.sum()", "len(shares)"),
    ),
)


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
        Case("T = 5, C = 3", (random_tensor(1, 3), random_tensor(2, 5, 3), random_tensor(3, 5, 3))),
        Case(
            "a single word", (random_tensor(4, 2), random_tensor(5, 1, 2), random_tensor(6, 1, 2))
        ),
    ]


def after(mine: Any) -> str:
    run = crane_run()
    q, k = (run.noted(1, f"attn.{name}")[0, 0] for name in "qk")  # of head 0, (T, D)
    query = q[CRANE] / q.size(-1) ** 0.5  # the next chapter's division
    weights = mine.attention(query, k, run.one_hot()[0, 0])
    return (
        f'Your attention in the trained model, reading "{TEXT}": "crane" takes '
        f'{weights[MARSH]:.2f} from "marsh" and {weights[CRANE]:.2f} from itself.'
    )
