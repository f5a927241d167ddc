"""Scaled dot-product attention."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake
from ...refusing import refusing

ORDER = 20
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
Write attention for all queries at once, without a mask and without a loop:

$$\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt d}\right)V$$

`q` and `k` are (…, T, d) and `v` is (…, T, m), where … means any axes in front: none, a batch, or more. Usually m = d. The result is (…, T, m). You are building `scaled_dot_product_attention`, so do without it.

For the three words of the chapter, with `q`, `k` and `v` of shape (3, 2), row 0 of the result, the crane's, is (0.7175, 0.2825).
"""

HINTS = (
    "Three lines: the scores, the weights, the mixture.",
    "The scores are `q @ k.transpose(-2, -1)`. Counting axes from the end works with any axes in front.",
    "d is `q.size(-1)`. Divide by its root, then `softmax(dim=-1)`, then `@ v`.",
)

START = '''
def attention(q, k, v):
    """q, k (..., T, d); v (..., T, m). Returns (..., T, m)."""
    ...
'''

SOLUTION = """
def attention(q, k, v):
    # only the last two axes are swapped: those in front mean "for each"
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    weights = scores.softmax(dim=-1)  # row = query: its shares sum to 1
    return weights @ v
"""

MISTAKES = (
    Mistake(
        "The division by √d is missing. Without it, scores grow with the width of the vectors.",
        (" / math.sqrt(q.size(-1))", ""),
    ),
    Mistake(
        "You divide by d. Divide by its root, `math.sqrt(q.size(-1))`.",
        ("math.sqrt(q.size(-1))", "q.size(-1)"),
    ),
    Mistake(
        "You divide by √T, the root of the number of tokens. d is the length of the vectors, the last axis of q.",
        ("q.size(-1)", "q.size(-2)"),
    ),
    Mistake(
        "The division comes after the softmax, so the shares no longer sum to 1. Divide the scores.",
        (" / math.sqrt(q.size(-1))", ""),
        ("scores.softmax(dim=-1)", "scores.softmax(dim=-1) / math.sqrt(q.size(-1))"),
    ),
    Mistake(
        "The softmax runs down the columns here. A row is a query, and its shares must sum to 1: `dim=-1`.",
        ("dim=-1", "dim=-2"),
    ),
    Mistake(
        "Query and key are swapped: `k @ q.transpose(-2, -1)` has a row for each key. Row = query, so q comes first.",
        ("q @ k.transpose", "k @ q.transpose"),
    ),
    Mistake(
        "`.T` and `transpose(0, 1)` swap the right axes only if there is no batch. Count from the end: `transpose(-2, -1)`.",
        ("transpose(-2, -1)", "transpose(0, 1)"),
    ),
    Mistake(
        "`.T` and `transpose(0, 1)` swap the right axes only if there is no batch. Count from the end: `transpose(-2, -1)`.",
        (".transpose(-2, -1)", ".T"),
    ),
    Mistake(
        "You take d from `v`, whose vectors may have another width, m. Divide by the root of the width of `q` and `k`.",
        ("math.sqrt(q.size(-1))", "math.sqrt(v.size(-1))"),
    ),
    Mistake(
        "Each row must be divided by its own sum, as a column of sums: `sum(dim=-1, keepdim=True)`. Without `keepdim` the columns are divided.",
        ("scores.softmax(dim=-1)", "scores.exp() / scores.exp().sum(dim=-1)"),
    ),
    Mistake(
        "`dim=0` is the rows of a table, or the texts of a batch. The shares of one query are along the last axis: `dim=-1`.",
        ("dim=-1", "dim=0"),
    ),
    Mistake(
        "`dim=1` is the last axis only if there is no batch. Count from the end: `softmax(dim=-1)`.",
        ("dim=-1", "dim=1"),
    ),
    Mistake(
        "`transpose(1, 2)` swaps the last two axes only if there is exactly one in front, and `torch.bmm` takes no other. `@` and `transpose(-2, -1)` take any number of axes.",
        ("transpose(-2, -1)", "transpose(1, 2)"),
    ),
    Mistake(
        "You multiply by √d, which makes the scores larger still. Divide by it.",
        (" / math.sqrt", " * math.sqrt"),
    ),
    Mistake(
        "You transpose the weights before they mix. A row of them belongs to a query, so the result is `weights @ v`.",
        ("return weights", "return weights.transpose(-2, -1)"),
    ),
    Mistake(
        "You call the function that you are to build. Write its steps: scores, weights, mixture.",
        code="""def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)
""",
    ),
    Mistake(
        "The softmax is missing: you mix with the scores themselves. Shares are positive, and 1 in total.",
        ("scores.softmax(dim=-1)", "scores"),
    ),
    Mistake(
        "You mix the keys. They are only compared with the queries. Words hand over their values, `weights @ v`.",
        ("weights @ v", "weights @ k"),
    ),
    Mistake(
        "You compare the queries with the values. Scores come from the keys: `q @ k.transpose(-2, -1)`.",
        ("q @ k.", "q @ v."),
    ),
    Mistake(
        "You divide by the sum of the whole table. Each row must sum to 1: `sum(dim=-1, keepdim=True)`, or `softmax(dim=-1)`.",
        ("scores.softmax(dim=-1)", "scores.exp() / scores.exp().sum()"),
    ),
    Mistake(
        "You take d from the first axis. It is the last one, `q.size(-1)`.",
        ("q.size(-1)", "q.size(0)"),
    ),
    Mistake(
        "`q.size(1)` is d only if there is no batch. Count from the end: `q.size(-1)`.",
        ("q.size(-1)", "q.size(1)"),
    ),
    Mistake(
        "`torch.sqrt` takes a tensor, and d is a plain number. Write `math.sqrt(q.size(-1))`.",
        ("math.sqrt", "torch.sqrt"),
    ),
    Mistake(
        "k must be transposed, so that each query meets each key: `q @ k.transpose(-2, -1)`.",
        ("k.transpose(-2, -1)", "k"),
    ),
    Mistake(
        "The future is masked here. That is right in the next chapter. In this one every token sees every other.",
        (
            "scores.softmax(dim=-1)",
            "scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf).softmax(dim=-1)",
        ),
    ),
    Mistake(
        "These are the weights. The result is their mixture of the values: `weights @ v`.",
        ("return weights @ v", "return weights"),
    ),
    Mistake(
        "The powers are not divided by their sum. The shares of a row must sum to 1: `softmax(dim=-1)`.",
        ("scores.softmax(dim=-1)", "scores.exp()"),
    ),
    Mistake(
        "`transpose(1, 2)` swaps the last two axes only if there is exactly one in front, and `torch.bmm` takes no other. `@` and `transpose(-2, -1)` take any number of axes.",
        ("q @ k.transpose(-2, -1)", "torch.bmm(q, k.transpose(1, 2))"),
    ),
)


def right(*qkv):
    q, k, v = (part.as_subclass(torch.Tensor) for part in qkv)
    return F.scaled_dot_product_attention(q, k, v)


TOLERANCE = 1e-4


def cases():
    generator = torch.Generator().manual_seed(4)

    def three(*shape):
        return tuple(torch.randn(3, *shape, generator=generator))

    q = torch.tensor([[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]])
    k = torch.tensor([[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]])
    v = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.8, 0.2]])
    q5, k5, _ = three(2, 5, 12)
    large = tuple(5 * part for part in three(3, 7))
    return [
        Case("the crane, ate, fish: no batch", (q, k, v)),
        Case("a batch: B = 2, T = 5, d = 12", (q5, k5, torch.randn(2, 5, 12, generator=generator))),
        Case("two axes in front: (2, 3, 5, 4)", three(2, 3, 5, 4)),
        Case("values wider than the keys", (q5, k5, torch.randn(2, 5, 13, generator=generator))),
        Case("a single token", three(1, 1, 4)),
        Case("large scores", large),
        Case(
            "without `scaled_dot_product_attention`",
            refusing("scaled_dot_product_attention", *three(5, 4)),
        ),
    ]
