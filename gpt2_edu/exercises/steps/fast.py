"""Attention by a fused kernel."""

from typing import Any

from torch import Tensor

from ...model import attention_explicit
from ..exercise import Case, Mistake, changed
from ..step import random_tensor

DEFINES = ("attention",)
IMPORTS = ("from torch.nn import functional as F",)

START = '''
def attention(q, k, v):
    """Causal attention in one call: each (..., T, D) → (..., T, D)."""
    ...  # a single query is the newest token, and sees every key
'''

SOLUTION = '''
def attention(q, k, v):
    """Causal attention in one call: each (..., T, D) → (..., T, D)."""
    alone = q.size(-2) == 1  # the newest token sees all keys
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


MISTAKES = (
    Mistake(
        "Each token sees those after it, because scaled_dot_product_attention hides nothing "
        "without is_causal=True.",
        changed(SOLUTION, (", is_causal=not alone", "")),
    ),
    Mistake(
        "A single new query sees only the first key, because is_causal counts queries from 0. "
        "When there is one query, pass is_causal=False.",
        changed(SOLUTION, ("not alone", "True")),
    ),
    Mistake(
        "The scores are divided by √D twice; the function does that itself.",
        changed(SOLUTION, ("(q, k, v, is_causal", "(q / q.size(-1) ** 0.5, k, v, is_causal")),
    ),
    Mistake(
        "A mask of ones and zeros as floats is added to the scores and hides nothing. Make it "
        "boolean, or use is_causal.",
        changed(
            SOLUTION,
            (
                "    alone = q.size(-2) == 1  # the newest token sees all keys\n",
                "    T, S = q.size(-2), k.size(-2)\n",
            ),
            ("is_causal=not alone", "attn_mask=torch.ones(T, S).tril(S - T)"),
        ),
    ),
)
