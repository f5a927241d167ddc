"""The last row alone."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 6

TASK = r"""
To continue a text you need only the scores at its last position. Write the head for that case. It takes the output of `ln_f`, `x` (B, T, C), and the table `wte` (V, C), and returns the logits of the last position of every text, (B, 1, V). The axis T stays, with length 1.

On the plane of the chapter: with `x = [[[0.2, 0.2], [0.9, 0.1]]]` and a table with the rows (0.8, 0.2) for fish and (0.2, 0.8) for steel, the result is `[[[0.74, 0.26]]]`.

Take the last position out *before* the product, so that T − 1 rows of V scores are never computed.
"""

HINTS = (
    "The axis in the middle of `x` is T. `x[:, …]` leaves the batch alone.",
    "`x[:, -1]` loses the axis, `x[:, [-1]]` keeps it.",
    "The table has one row for each token, (V, C), so the product needs it transposed: (B, 1, C) @ (C, V).",
)

START = '''
def last_logits(x, wte):
    """x (B, T, C); wte (V, C). Returns (B, 1, V)."""
    ...
'''

SOLUTION = """
def last_logits(x, wte):
    # [-1] in brackets keeps the axis T: (B, T, C) → (B, 1, C) → (B, 1, V)
    return x[:, [-1]] @ wte.T
"""

MISTAKES = (
    Mistake(
        "The axis T is lost, because `x[:, -1]` is (B, C). With `x[:, [-1]]` it stays, with length 1.",
        ("x[:, [-1]]", "x[:, -1]"),
    ),
    Mistake(
        "That is the last text, not the last position, because the first axis is B. Write `x[:, [-1]]`.",
        ("x[:, [-1]]", "x[[-1]]"),
    ),
    Mistake(
        "That is the first position. The last one has read the whole text.",
        ("x[:, [-1]]", "x[:, [0]]"),
    ),
    Mistake(
        "These are the logits of all T positions. Take the last one out before the product.",
        ("x[:, [-1]]", "x"),
    ),
    Mistake(
        "These are probabilities. The head returns logits and leaves the softmax to its user.",
        ("x[:, [-1]] @ wte.T", "(x[:, [-1]] @ wte.T).softmax(dim=-1)"),
    ),
    Mistake(
        "The table is (V, C), one row for each token. For the product it must be transposed, `wte.T`.",
        ("wte.T", "wte"),
    ),
    Mistake(
        "`reshape` does not transpose; it only reads the numbers in rows of another length. Use `wte.T`.",
        ("wte.T", "wte.reshape(wte.size(1), wte.size(0))"),
    ),
    Mistake(
        "The numbers are right, but all T rows of scores are computed, and T − 1 of them thrown away. Take the last position out of x, then multiply.",
        ("x[:, [-1]] @ wte.T", "(x @ wte.T)[:, [-1]]"),
    ),
    Mistake(
        "The axis T is back, but at the front, which is the place of B. Keep it in the middle: `x[:, [-1]]`, or `unsqueeze(1)`.",
        ("x[:, [-1]] @ wte.T", "(x[:, -1] @ wte.T).unsqueeze(0)"),
    ),
    Mistake(
        "The axis T is back, but at the end. Keep it in the middle: `x[:, [-1]]`, or `unsqueeze(1)`.",
        ("x[:, [-1]] @ wte.T", "(x[:, -1] @ wte.T).unsqueeze(-1)"),
    ),
    Mistake(
        "`x[:, :-1]` is everything except the last position. The last one with its axis is `x[:, -1:]` or `x[:, [-1]]`.",
        ("x[:, [-1]]", "x[:, :-1]"),
    ),
)


def right(x, wte):
    return F.linear(x[:, x.size(1) - 1 :], wte)


class Watched(torch.Tensor):
    """A table that refuses to score more than one position of a text."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs)
        if isinstance(result, torch.Tensor) and result.shape[-2:] == (5, 7):
            raise ValueError("here are scores for all 5 positions")
        return result


def cases():
    generator = torch.Generator().manual_seed(11)
    plane = torch.tensor([[[0.2, 0.2], [0.9, 0.1]]])
    x = torch.randn(2, 5, 3, generator=generator)
    wte = torch.randn(7, 3, generator=generator)
    return [
        Case("fish and steel", (plane, torch.tensor([[0.8, 0.2], [0.2, 0.8]]))),
        Case("two texts of five tokens, seven scores", (x, wte)),
        Case("one token", (x[:, :1], wte)),
        Case("one text", (x[:1], wte)),
        Case("as many tokens in the vocabulary as numbers in a vector", (x, wte[:3])),
        Case("no scores for the other positions", (x, wte.as_subclass(Watched))),
    ]
