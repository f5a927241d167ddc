"""Attention for one word."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 8

TASK = """
Your `attention` of the chapter returns the new vector. This function returns the weights as well. `q` is the query of one word, (C,). `keys` and `values` are those of all T words, (T, C). Score, normalise, aggregate, and return two things: the new vector, (C,), and the weights, (T,).

For the crane beside "ate fish", with `q = (0.7, 0.7)`, keys `[(0.7, 0.7), (0.9, 0.1), (0.9, 0.1)]` and values `[(0.5, 0.5), (0.9, 0.1), (0.8, 0.2)]`, the result is (0.7106, 0.2894) and (0.3982, 0.3009, 0.3009).

You may use `torch.softmax`.
"""

HINTS = (
    "One matrix product gives all scores, since (T, C) times (C,) is (T,).",
    "The weights times the values are the mixture, since (T,) times (T, C) is (C,).",
)

START = '''
def attend(q, keys, values):
    """q (C,); keys, values (T, C). Returns new vector (C,), weights (T,)."""
    ...
'''

SOLUTION = """
def attend(q, keys, values):
    scores = keys @ q  # (T, C) @ (C,) → (T,)
    weights = torch.softmax(scores, dim=0)
    return weights @ values, weights  # (T,) @ (T, C) → (C,)
"""

MISTAKES = (
    Mistake(
        "You mixed the keys. A key is only compared with the query. A word hands over its value.",
        ("weights @ values", "weights @ keys"),
    ),
    Mistake(
        "You compared the query with the values. Scores come from the keys.",
        ("keys @ q", "values @ q"),
    ),
    Mistake(
        "You swapped keys and values. Keys are for the scores, values for the mixture.",
        ("keys @ q", "values @ q"),
        ("weights @ values", "weights @ keys"),
    ),
    Mistake(
        "You mixed with the raw scores. Turn them into shares with the softmax first.",
        ("torch.softmax(scores, dim=0)", "scores"),
    ),
    Mistake(
        "You divided the scores by their sum. Negative scores need the softmax, which divides e to the power of each score by the sum of these powers.",
        ("torch.softmax(scores, dim=0)", "scores / scores.sum()"),
    ),
    Mistake(
        "You divided the scores by √C. That comes in the next chapter. Here the scores are used as they are.",
        ("keys @ q", "keys @ q / math.sqrt(len(q))"),
    ),
    Mistake(
        "Both results are there, but in the wrong order. The new vector comes first, then the weights.",
        ("weights @ values, weights", "weights, weights @ values"),
    ),
    Mistake(
        "You returned only the new vector. Return the weights too: `return new, weights`.",
        ("values, weights", "values"),
    ),
    Mistake(
        "The shapes do not fit. A score is a dot product, one number for each word: `keys @ q`, (T, C) times (C,), is (T,).",
        ("keys @ q", "q @ keys"),
    ),
    Mistake(
        "You mixed with the raw scores, and made the shares only for the second result. Mix with the shares.",
        ("weights @ values, weights", "scores @ values, weights"),
    ),
    Mistake(
        "The vector is right, but the second result is the scores. Return the weights.",
        ("values, weights", "values, scores"),
    ),
    Mistake(
        "`*` multiplies, and nothing is added up. The mixture is `weights @ values`, (C,).",
        ("weights @ values", "weights.unsqueeze(1) * values"),
    ),
    Mistake(
        "The powers are not divided by their sum. Shares are 1 in total: `torch.softmax`.",
        ("torch.softmax(scores, dim=0)", "torch.exp(scores)"),
    ),
    Mistake(
        "The weights are on the wrong side: (T,) times (T, C), `weights @ values`, is (C,).",
        ("weights @ values", "values @ weights"),
    ),
)


def right(q, keys, values):
    # What is mixed from the rows of a unit matrix is the weights themselves.
    def mix(v):
        return F.scaled_dot_product_attention(q.unsqueeze(0), keys, v, scale=1.0).squeeze(0)

    return mix(values), mix(torch.eye(len(keys)))


def cases():
    generator = torch.Generator().manual_seed(33)
    q, keys = torch.tensor([0.7, 0.7]), [[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]]
    crane = (q, torch.tensor(keys), torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.8, 0.2]]))
    many = torch.randn(7, 4, generator=generator), torch.randn(7, 4, generator=generator)
    alone = torch.randn(1, 3, generator=generator), torch.randn(1, 3, generator=generator)
    query = torch.randn(4, generator=generator)
    return [
        Case("the crane beside ate fish", crane),
        Case("seven words, four numbers each", (query, *many)),
        Case("a single word keeps all the weight", (torch.tensor([1.0, -2.0, 0.5]), *alone)),
        Case("a query of zeros takes a plain mean", (torch.zeros(4), *many)),
        Case("a long query", (30 * query, *many)),
    ]
