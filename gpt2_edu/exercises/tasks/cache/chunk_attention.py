"""Attention with kept keys."""

import torch
from torch.nn import functional as F

from gpt2_edu.model import visible_keys

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
Write causal attention for the last T of S tokens. `q`, (B, H, T, D), belongs to the new tokens only. `k` and `v`, (B, H, S, D), belong to all tokens, the kept ones and the new ones, and the last query has the same position as the last key. T may be anything from 1 to S. Return (B, H, T, D), with the scores divided by √D.

If all queries are 0, every key that may be seen gets the same weight. With the values 3, 6, 9 and T = 2 the two results are then 4.5, the mean of the first two, and 6, the mean of all.
"""

HINTS = (
    "At which position is query 0? S − T tokens came before it.",
    "Put the corner of the triangle at the bottom right. `tril` takes a number that shifts it.",
    "`torch.ones(T, S, dtype=torch.bool).tril(S - T)` is True where a query may look.",
)

START = '''
def chunk_attention(q, k, v):
    """q (B, H, T, D); k, v (B, H, S, D), T <= S. Returns (B, H, T, D)."""
    ...
'''

SOLUTION = """
def chunk_attention(q, k, v):
    T, S, D = q.size(-2), k.size(-2), q.size(-1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # (B, H, T, S)
    # Query i stands at position S - T + i and sees the keys up to there.
    visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    scores = scores.masked_fill(~visible, -torch.inf)
    return scores.softmax(dim=-1) @ v
"""

MISTAKES = (
    Mistake(
        "The triangle is at the top left, as with `is_causal=True`, so the queries are treated as if they were at 0, 1, … Shift it by S − T.",
        ("tril(S - T)", "tril()"),
    ),
    Mistake(
        "There is no mask. That is right for one query only. Of two, the first must not see the second one's key.",
        ("    scores = scores.masked_fill(~visible, -torch.inf)\n", ""),
    ),
    Mistake(
        "Your triangle is one too far to the left, so a token does not see itself. Shift by S − T, not by S − T − 1.",
        ("tril(S - T)", "tril(S - T - 1)"),
    ),
    Mistake(
        "Your triangle is one too far to the right, so a query sees the key after its own. Shift by S − T, not by S − T + 1.",
        ("tril(S - T)", "tril(S - T + 1)"),
    ),
    Mistake(
        "The mask is right, but the scores are not divided by √D.",
        (" / math.sqrt(D)", ""),
    ),
    Mistake(
        "The weights are cut after the softmax, so the rows no longer sum to 1. Put −∞ into the scores before it.",
        ("    scores = scores.masked_fill(~visible, -torch.inf)\n", ""),
        ("softmax(dim=-1)", "softmax(dim=-1).masked_fill(~visible, 0)"),
    ),
    Mistake(
        "The mask is a square of T × T here, which fits the scores only if no keys were kept, or with one query. It has T rows and S columns.",
        (
            "torch.ones(T, S, dtype=torch.bool).tril(S - T)",
            "torch.ones(T, T, dtype=torch.bool).tril()",
        ),
    ),
    Mistake(
        "A finite fill such as −10,000 fails where all visible scores are lower still. Write −∞.",
        ("-torch.inf", "-1e4"),
    ),
    Mistake(
        "The scores are divided by D. Divide them by its root, √D.",
        ("math.sqrt(D)", "D"),
    ),
    Mistake(
        "The shift has the wrong sign, so the first queries see no key at all. Shift to the right, by S − T.",
        ("tril(S - T)", "tril(T - S)"),
    ),
    Mistake(
        "The hidden scores are set to 0. Before a softmax that hides nothing, because a score of 0 gets weight. Write −∞.",
        ("-torch.inf", "0.0"),
    ),
    Mistake(
        "The softmax runs over the queries. A row is a query, and its weights must sum to 1, `softmax(dim=-1)`.",
        ("softmax(dim=-1)", "softmax(dim=-2)"),
    ),
    Mistake(
        "What may be seen is hidden, and the rest is seen. `masked_fill` fills where the mask is True, so it needs `~visible`.",
        ("~visible", "visible"),
    ),
    Mistake(
        "`triu` keeps what is above the diagonal, which is the future. Use `tril(S - T)`.",
        ("tril(S - T)", "triu(S - T)"),
    ),
    Mistake(
        "The heads and the tokens of k are swapped. Swap the last two axes, `transpose(-2, -1)`.",
        ("transpose(-2, -1)", "transpose(1, 2)"),
    ),
    Mistake(
        "You divide by the root of the number of keys. D is the length of the vectors, `q.size(-1)`.",
        ("math.sqrt(D)", "math.sqrt(S)"),
    ),
)


def right(q, k, v):
    T, S = q.size(-2), k.size(-2)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=visible_keys(torch.arange(S - T, S), S)
    )


def cases():
    generator = torch.Generator().manual_seed(15)
    q, k, v = torch.randn(3, 2, 3, 7, 5, generator=generator)
    wide = torch.randn(3, 1, 2, 6, 8, generator=generator)
    low = torch.full((1, 1, 3, 5), 200.0)  # all scores are −200,000 / √5
    zero, values = torch.zeros(1, 1, 3, 1), torch.tensor([3.0, 6.0, 9.0]).view(1, 1, 3, 1)
    return [
        Case("two queries of 0, three keys", (zero[:, :, 1:], zero, values)),
        Case("one query, five keys", (q[:, :, 4:5], k[:, :, :5], v[:, :, :5])),
        Case("a chunk of four, seven keys", (q[:, :, 3:], k, v)),
        Case("as many queries as keys", (q, k, v)),
        Case("three queries, six keys, D = 8", (wide[0][:, :, 3:], wide[1], wide[2])),
        Case("all scores far below −10,000", (low[:, :, 1:], -low, v[:1, :1, :3])),
        Case("a single token", (q[:1, :, :1], k[:1, :, :1], v[:1, :, :1])),
    ]
