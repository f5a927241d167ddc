"""Three bugs in six lines."""

import torch

from gpt2_edu.model import attention_explicit

from ...exercise import Case, Mistake

ORDER = 20
KIND = "repair"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
This causal attention has **three** bugs, each from a room of the museum. All shapes fit. Find them and fix them.

`q` is (B, H, T, D), `k` and `v` are (B, H, S, D) with S ≥ T. The queries are those of the *last* T of S tokens; with a cache, S is larger than T. A query sees its own key and those before it. The result is (B, H, T, D).

For example, with T = 1 and S = 3 the one query is that of the third token, and sees all three keys.
"""

HINTS = (
    "Go through the lines in order: the divisor, the mask, the softmax. For each one, ask which room of the museum shows it.",
    "The divisor is √D, the width of one head. The last query is at the last key, so the triangle moves: `tril(S - T)`.",
    "A hidden score must be −∞ *before* the softmax: `scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)`.",
)

START = '''
def sick_attention(q, k, v):
    """q (B, H, T, D); k, v (B, H, S, D). Returns (B, H, T, D)."""
    raise NotImplementedError(
        "find the bugs, fix them, delete this line"
    )
    H, T, D = q.shape[1:]
    S = k.size(-2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(H * D)
    visible = torch.ones(T, S, dtype=torch.bool).tril()
    weights = scores.softmax(dim=-1).masked_fill(~visible, 0)
    return weights @ v
'''

SOLUTION = """
def sick_attention(q, k, v):
    T, D = q.shape[2:]
    S = k.size(-2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # not C = H · D
    # the last query is at the last key
    visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    # before the softmax, so that the rest of a row still sums to 1
    scores = scores.masked_fill(~visible, -torch.inf)
    return scores.softmax(dim=-1) @ v
"""

MISTAKES = (
    Mistake(
        "All three bugs are still there. Begin with the divisor. How wide are q and k in one head?",
        ("T, D = q.shape[2:]", "H, T, D = q.shape[1:]"),
        ("math.sqrt(D)", "math.sqrt(H * D)"),
        ("tril(S - T)", "tril()"),
        ("    scores = scores.masked_fill(~visible, -torch.inf)\n", ""),
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-1).masked_fill(~visible, 0)"),
    ),
    Mistake(
        "Two are fixed, *scale by C* is not. Divide by √D, the root of the head's width.",
        ("T, D = q.shape[2:]", "H, T, D = q.shape[1:]"),
        ("math.sqrt(D)", "math.sqrt(H * D)"),
    ),
    Mistake(
        "Two are fixed, *the cache with the wrong mask* is not. With more keys than queries the triangle must end at the bottom right.",
        ("tril(S - T)", "tril()"),
    ),
    Mistake(
        "Two are fixed, *mask after softmax* is not. The rows do not sum to 1, and the missing part reveals the future.",
        ("    scores = scores.masked_fill(~visible, -torch.inf)\n", ""),
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-1).masked_fill(~visible, 0)"),
    ),
    Mistake(
        "The three are fixed, but a fourth one came in, a finite mask. Scores can be below it, so write `-torch.inf`.",
        ("-torch.inf", "-10_000"),
    ),
    Mistake(
        "The three are fixed, but a fourth one came in. Before a softmax, 0 does not mask anything, since a score of 0 gets weight. Write `-torch.inf`.",
        ("-torch.inf", "0"),
    ),
    Mistake(
        "The three are fixed, but a fourth one came in. The softmax runs over the queries. Each row belongs to a query, and its weights must sum to 1, `softmax(dim=-1)`.",
        ("softmax(dim=-1)", "softmax(dim=-2)"),
    ),
)


def right(q, k, v):
    return attention_explicit(q, k, v)


def cases():
    generator = torch.Generator().manual_seed(18)

    def draw(B, H, T, S, D):
        q = 2 * torch.randn(B, H, T, D, generator=generator)
        k, v = 2 * torch.randn(2, B, H, S, D, generator=generator)
        return q, k, v

    nothing = torch.zeros(1, 1, 2, 1)  # equal scores: half each, where both are seen
    # Whole numbers, so that scores near -20,000 are exact: -40,000 and 0, 4, 8 … over 2.
    low_q, low_k = torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 4, 4)
    low_q[..., 0], low_k[..., 0] = -200, 200
    low_q[..., 1], low_k[..., 1] = 1, torch.tensor([0.0, 4, 2, 6])
    return [
        Case("two tokens, equal scores", (nothing, nothing, torch.tensor([[[[2.0], [4.0]]]]))),
        Case("one head: as many queries as keys", draw(2, 1, 5, 5, 4)),
        Case("three heads", draw(2, 3, 5, 5, 4)),
        Case("one new query and six keys, as with a cache", draw(1, 1, 1, 6, 4)),
        Case("three new queries and seven keys", draw(2, 5, 3, 7, 2)),
        Case("scores near -20,000", (low_q, low_k, draw(1, 1, 4, 4, 4)[2])),
    ]
