"""Scores when heads share keys."""

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
There are H query heads, but only K heads of keys, and K divides H. The first H / K query heads read key head 0, the next H / K read key head 1, and so on.

`q` is (B, H, T, D), and `k` is (B, K, S, D). Return the scores (B, H, T, S), each divided by √D. Nothing is masked.
"""

HINTS = (
    "Make k as large as q first: (B, H, S, D), in which each key head occurs H / K times.",
    "`k.repeat_interleave(n, dim=1)` repeats each head n times, side by side: 0, 0, 1, 1.",
    "Then the scores are those of chapter 6: `q @ k.transpose(-2, -1) / math.sqrt(D)`.",
)

START = '''
def grouped_scores(q, k):
    """q (B, H, T, D); k (B, K, S, D). Returns (B, H, T, S)."""
    ...
'''

SOLUTION = """
def grouped_scores(q, k):
    readers = q.size(1) // k.size(1)  # query heads that share a key head
    k = k.repeat_interleave(readers, dim=1)  # (B, H, S, D)
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
"""

MISTAKES = (
    Mistake(
        "`repeat` puts the key heads in the order 0, 1, 0, 1. Query heads that share one are side by side, 0, 0, 1, 1, so use `repeat_interleave`.",
        ("k.repeat_interleave(readers, dim=1)", "k.repeat(1, readers, 1, 1)"),
    ),
    Mistake(
        "You repeat each head K times. Each is needed H / K times.",
        ("q.size(1) // k.size(1)", "k.size(1)"),
    ),
    Mistake(
        "The scores are not divided by √D.",
        (" / math.sqrt(q.size(-1))", ""),
    ),
    Mistake(
        "You divide by D. It must be its root.",
        ("math.sqrt(q.size(-1))", "q.size(-1)"),
    ),
    Mistake(
        "All query heads read key head 0 here. Each group has a key head of its own.",
        ("k.repeat_interleave(readers, dim=1)", "k[:, :1]"),
    ),
    Mistake(
        "Only the first K query heads are used. All H heads ask, and each key head answers H / K of them.",
        ("q @ k", "q[:, : k.size(1)] @ k"),
        ("    k = k.repeat_interleave(readers, dim=1)  # (B, H, S, D)\n", ""),
    ),
    Mistake(
        "You repeat along the axis of the tokens, so there are more keys and not more heads. Heads are axis 1.",
        ("readers, dim=1", "readers, dim=2"),
    ),
    Mistake(
        "`/` gives a float, and a head cannot be repeated 2.0 times: `q.size(1) // k.size(1)`.",
        ("q.size(1) // k.size(1)", "q.size(1) / k.size(1)"),
    ),
    Mistake(
        "These are weights. The scores are asked for, before the softmax.",
        ("math.sqrt(q.size(-1))", "math.sqrt(q.size(-1))).softmax(dim=-1)"),
        ("return q", "return (q"),
    ),
    Mistake(
        "The keys are the rows here and the queries the columns. Transpose k, and put q first.",
        ("q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"),
    ),
    Mistake(
        "You multiply by √D. Divide by it.",
        ("/ math.sqrt", "* math.sqrt"),
    ),
    Mistake(
        "The root is that of another number. D is the last axis of q, the length of a query: `q.size(-1)`.",
        ("math.sqrt(q.size(-1))", "math.sqrt(q.size(1))"),
    ),
    Mistake(
        "The root is that of another number. D is the last axis of q, the length of a query: `q.size(-1)`.",
        ("math.sqrt(q.size(-1))", "math.sqrt(q.size(2))"),
    ),
    Mistake(
        "The root is that of another number. D is the last axis of q, the length of a query: `q.size(-1)`.",
        ("math.sqrt(q.size(-1))", "math.sqrt(k.size(-2))"),
    ),
    Mistake(
        "The root is that of another number. D is the last axis of q, the length of a query: `q.size(-1)`.",
        ("math.sqrt(q.size(-1))", "math.sqrt(readers)"),
    ),
    Mistake(
        "The root is that of another number. D is the last axis of q, the length of a query: `q.size(-1)`.",
        ("math.sqrt(q.size(-1))", "math.sqrt(q.size(1) * q.size(-1))"),
    ),
    Mistake(
        "The root is that of another number. D is the last axis of q, the length of a query: `q.size(-1)`.",
        ("math.sqrt(q.size(-1))", "math.sqrt(q.size(-1) // readers)"),
    ),
    Mistake(
        "The key heads are not repeated, so K heads meet H. Give each group of H / K query heads its key head.",
        ("    k = k.repeat_interleave(readers, dim=1)  # (B, H, S, D)\n", ""),
    ),
    Mistake(
        "The keys must be transposed for the product: `k.transpose(-2, -1)`.",
        ("k.transpose(-2, -1)", "k"),
    ),
    Mistake(
        "Without `dim` all entries of k are repeated in one long row. Heads are `dim=1`.",
        ("readers, dim=1", "readers"),
    ),
    Mistake(
        "You repeat along the batch. Heads are axis 1.",
        ("readers, dim=1", "readers, dim=0"),
    ),
    Mistake(
        "You repeat the columns of a key. Heads are axis 1.",
        ("readers, dim=1", "readers, dim=-1"),
    ),
    Mistake(
        "The future is masked. Nothing is masked here.",
        (
            "return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))",
            "scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))\n    return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -torch.inf)",
        ),
    ),
    Mistake(
        "Each key head is repeated twice, whatever the sizes. It is needed H / K times.",
        ("q.size(1) // k.size(1)", "2"),
    ),
    Mistake(
        "One query head of each group asks. All H heads do.",
        (
            "    k = k.repeat_interleave(readers, dim=1)  # (B, H, S, D)\n",
            "    q = q[:, ::readers]\n",
        ),
    ),
    Mistake(
        "`expand` repeats an axis of size 1 only. Use `repeat_interleave`.",
        ("k.repeat_interleave(readers, dim=1)", "k.expand(-1, q.size(1), -1, -1)"),
    ),
    Mistake(
        "Each key head is repeated H times. It is needed H / K times.",
        ("q.size(1) // k.size(1)", "q.size(1)"),
    ),
)


def right(q, k):
    B, H, T, D = q.shape
    groups = q.reshape(B, k.size(1), -1, T, D)
    return torch.einsum("bgrtd,bgsd->bgrts", groups, k).reshape(B, H, T, -1) / D**0.5


def cases():
    generator = torch.Generator().manual_seed(2023)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    return [
        Case("four query heads, two key heads", (draw(1, 4, 3, 4), draw(1, 2, 3, 4))),
        Case("six query heads, two key heads, S = 7", (draw(2, 6, 3, 10), draw(2, 2, 7, 10))),
        Case("six query heads, three key heads", (draw(2, 6, 5, 4), draw(2, 3, 5, 4))),
        Case("one key head for all", (draw(1, 4, 2, 6), draw(1, 1, 5, 6))),
        Case("as many key heads as query heads", (draw(1, 3, 5, 2), draw(1, 3, 5, 2))),
    ]
