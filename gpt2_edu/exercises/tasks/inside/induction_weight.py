"""The test for induction."""

import torch

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
A text of T = 2n tokens has n random tokens, and then the same n again. In the second half, an induction head looks at what *followed* the present token the first time.

Write a function that measures how much each head does so. `weights` is (B, H, T, T); rows are queries, columns are keys. Take the queries n, n + 1, …, 2n − 2. For each, take the weight that it gives to the one key that followed its token in the first half. Return the mean over texts and queries, one number for each head: (H,).

With n = 3, for example, the tokens a b c a b c are at positions 0 to 5. The queries are 3 and 4. Query 3 is the second *a*. The first *a* is at 0 and was followed by position 1. Query 4 is the second *b*, and its key is 2.
"""

HINTS = (
    "Where in the first half is the token of query i? And where is the token that followed it?",
    "The same token is n positions back, and the one that followed it is n − 1 positions back.",
    "With `queries = torch.arange(n, 2 * n - 1)`, the index `weights[:, :, queries, queries - (n - 1)]` gives (B, H, n − 1).",
)

START = '''
def induction_weight(weights):
    """weights (B, H, T, T), T = 2n. Returns the mean weights, (H,)."""
    ...
'''

SOLUTION = """
def induction_weight(weights):
    n = weights.size(-1) // 2
    queries = torch.arange(n, 2 * n - 1)
    # n back is the token itself, one place further is what followed it
    found = weights[:, :, queries, queries - n + 1]  # (B, H, n - 1)
    return found.mean(dim=(0, 2))
"""

MISTAKES = (
    Mistake(
        "This looks at the same token in the first half. Induction looks one position further, at the token that followed it.",
        ("- n + 1", "- n"),
    ),
    Mistake(
        "This looks at what came *before* the same token. Induction looks at what came after it.",
        ("queries - n + 1", "queries - n - 1"),
    ),
    Mistake(
        "Rows and columns are swapped. The query is the row and comes first. Above the diagonal all weights are 0.",
        ("queries, queries - n + 1", "queries - n + 1, queries"),
    ),
    Mistake(
        "Two slices give a whole square of the table, every query with every key. Index with two vectors of the same length, whose entries are paired.",
        code="""
def induction_weight(weights):
    n = weights.size(-1) // 2
    return weights[:, :, n : 2 * n - 1, 1:n].mean(dim=(0, 2, 3))
""",
    ),
    Mistake(
        "This takes one row too many. The whole diagonal begins with query n − 1, which belongs to the first half. Begin with query n.",
        ("torch.arange(n,", "torch.arange(n - 1,"),
    ),
    Mistake(
        "The heads are averaged away. Take the mean over texts and queries, and keep one number for each head.",
        ("dim=(0, 2)", ""),
    ),
    Mistake(
        "This takes the last query as well. What followed its token in the first half is already the second half, so it does not count. End with query 2n − 2.",
        ("2 * n - 1", "2 * n"),
    ),
    Mistake(
        "Each text has its own mean here. Average over the texts as well, so that one number for each head is left, (H,).",
        ("dim=(0, 2)", "dim=-1"),
    ),
    Mistake(
        "This is the whole diagonal. Its first entry belongs to a query of the first half, its last one to a token that was not followed in the first half. Leave both out.",
        ("torch.arange(n, 2 * n - 1)", "torch.arange(n - 1, 2 * n)"),
    ),
    Mistake(
        "That is the sum over texts and queries. Take the mean.",
        (".mean(", ".sum("),
    ),
    Mistake(
        "You begin one query too late. The second half begins at n.",
        ("torch.arange(n,", "torch.arange(n + 1,"),
    ),
    Mistake(
        "You average over the heads and keep the texts. Keep the axis of the heads, `mean(dim=(0, 2))`.",
        ("dim=(0, 2)", "dim=(1, 2)"),
    ),
)


def right(weights):
    n = weights.size(-1) // 2
    diagonal = weights.diagonal(offset=1 - n, dim1=-2, dim2=-1)  # queries n - 1 … 2n - 1
    return diagonal[..., 1:-1].mean(dim=(0, 2))


def cases():
    generator = torch.Generator().manual_seed(16)

    def table(B, H, T):
        scores = torch.randn(B, H, T, T, generator=generator)
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
        return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)

    perfect = torch.zeros(1, 1, 6, 6)
    perfect[..., 0] = 1  # a rest at the first token, but for the two queries that count
    perfect[..., 3, :], perfect[..., 4, :] = torch.eye(6)[1], torch.eye(6)[2]
    even = torch.ones(8, 8).tril()
    return [
        Case("a perfect head on a b c a b c", (perfect,)),
        Case("random tables, two texts and three heads", (table(2, 3, 10),)),
        Case("heads that look at all tokens equally", ((even / even.sum(-1, True))[None, None],)),
        Case("n = 2: a single query", (table(1, 2, 4),)),
    ]
