"""Attention by a fused kernel."""

from typing import Any

from torch import Tensor

from ....model import attention_explicit
from ...exercise import Case, Mistake
from ...step import random_tensor
from ..mask.causal_attention import properties as properties

PARTS = ("attention",)
IMPORTS = ("import torch", "from torch.nn import functional as F")

START = '''
def attention(q, k, v):
    """Causal attention in one call: q (..., T, D), k and v (..., S, D)."""
    ...  # with as many queries as keys
    ...  # with fewer, the last query is the newest token
'''

SOLUTION = '''
def attention(q, k, v):
    """Causal attention in one call: q (..., T, D), k and v (..., S, D)."""
    T, S = q.size(-2), k.size(-2)
    if T == S:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    visible = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
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
        Case("the two newest tokens, and the keys of five", (q[:, :, -2:], k, v)),
        Case("the same without an axis of heads", (q[:, 0, -2:], k[:, 0], v[:, 0])),
    ]


MISTAKES = (
    Mistake(
        "Each token sees those after it, because scaled_dot_product_attention hides nothing "
        "without is_causal=True.",
        (", is_causal=True", ""),
    ),
    Mistake(
        "A single new query sees only the first key, because the queries are counted from 0, as "
        "is_causal does. With fewer queries than keys, give the mask `tril(S - T)`.",
        ("if T == S", "if T <= S"),
    ),
    Mistake(
        "A single new query is right, but two see only the first keys, because is_causal counts "
        "queries from 0. Give them the mask `tril(S - T)`.",
        ("if T == S", "if T > 1"),
    ),
    Mistake(
        "With fewer queries than keys, nothing is hidden, so all but the last see keys that come "
        "after them. Give them the mask `tril(S - T)`.",
        (", attn_mask=visible", ""),
    ),
    Mistake(
        "The scores are divided by √D twice; the function does that itself.",
        ("    if T == S", "    q = q / q.size(-1) ** 0.5\n    if T == S"),
    ),
    Mistake(
        "A mask of ones and zeros as floats is added to the scores and hides nothing. Make it "
        "boolean, or use is_causal.",
        ("dtype=torch.bool, ", ""),
    ),
    Mistake(
        "True in the mask means visible, and yours says what is hidden. Leave the `~` out.",
        ("attn_mask=visible", "attn_mask=~visible"),
    ),
    Mistake(
        "T and S are taken from axis 1, which counts the heads. Count from the end, `q.size(-2)` and `k.size(-2)`.",
        ("q.size(-2), k.size(-2)", "q.size(1), k.size(1)"),
    ),
    Mistake(
        "For fewer queries than keys nothing is returned yet. Return a second call there, with the mask `tril(S - T)`.",
        ("    visible =", "    return None\n    visible ="),
    ),
    Mistake(
        "`triu` keeps what is above the diagonal, which is the future. Use `tril(S - T)`.",
        ("tril(S - T)", "triu(S - T)"),
    ),
    Mistake(
        "The shift has the wrong sign, so the new queries see no key at all. Shift to the right, by S − T.",
        ("tril(S - T)", "tril(T - S)"),
    ),
    Mistake(
        "The triangle is shifted by one too few, so that a query does not see its own key. Use `tril(S - T)`.",
        ("tril(S - T)", "tril(S - T - 1)"),
    ),
    Mistake(
        "The mask has a column for each query here. It has T rows, one for each query, and S columns.",
        ("torch.ones(T, S,", "torch.ones(T, T,"),
    ),
    Mistake(
        "Keys and values are swapped. The order is q, k, v.",
        ("(q, k, v, is_causal=True)", "(q, v, k, is_causal=True)"),
        ("(q, k, v, attn_mask", "(q, v, k, attn_mask"),
    ),
    Mistake(
        "`scale=1.0` switches the division by √D off. Leave it out.",
        ("is_causal=True)", "is_causal=True, scale=1.0)"),
        ("attn_mask=visible)", "attn_mask=visible, scale=1.0)"),
    ),
    Mistake(
        "`T, D = q.shape` needs exactly two axes, and here are four. Count from the end: `q.size(-2)`.",
        ("T, S = q.size(-2), k.size(-2)", "T, D = q.shape\n    S = k.size(-2)"),
    ),
)
