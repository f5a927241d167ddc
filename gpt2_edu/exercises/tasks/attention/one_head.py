"""A head that passed too easy a test."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 50
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
This function is one head. From `x` (B, T, C), with the weight (3C, C) and the bias (3C,) of `c_attn`, it should return the result of attention, (B, T, C). Its author tested it on a text of four tokens with C = 4, where it agrees with `scaled_dot_product_attention` in every digit. With five tokens and C = 12 it runs, but its results are wrong.

Find the bug and fix it.
"""

HINTS = (
    "What is equal in the author's test and different in the other?",
    "With T = C, an expression that confuses the two still gives the right number.",
    "Look at the axis in the root: d is the length of the vectors that are multiplied.",
)

START = '''
def one_head(x, weight, bias):
    """x (B, T, C); weight (3C, C), bias (3C,). Returns (B, T, C)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    q, k, v = F.linear(x, weight, bias).split(x.size(-1), dim=-1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(1))
    weights = scores.softmax(dim=-1)
    return weights @ v
'''

SOLUTION = """
def one_head(x, weight, bias):
    q, k, v = F.linear(x, weight, bias).split(x.size(-1), dim=-1)
    # the last axis: q.size(1) is T, and T = C hid it
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ v
"""

MISTAKES = (
    Mistake(
        "The bug is still there: `q.size(1)` is T, the number of tokens. Divide the scores by the root of the vectors' length, `q.size(-1)`.",
        ("q.size(-1)", "q.size(1)"),
    ),
    Mistake(
        "Now nothing is divided. Keep the root, since only the number in it was wrong.",
        (" / math.sqrt(q.size(-1))", ""),
    ),
    Mistake(
        "Axis 0 is B, the number of texts. The length of the vectors is the last axis.",
        ("q.size(-1)", "q.size(0)"),
    ),
    Mistake(
        "The first axis of the weight is 3C, the width of q, k and v together. A query has C entries.",
        ("q.size(-1)", "weight.size(0)"),
    ),
    Mistake(
        "The number is right now, but the root is gone. Divide by √C.",
        ("math.sqrt(q.size(-1))", "q.size(-1)"),
    ),
    Mistake(
        "The transposition was right: `transpose(-2, -1)` transposes each text's keys and leaves the batch axis as it is. The bug is elsewhere.",
        ("q @ k.transpose(-2, -1)", "q.transpose(-2, -1) @ k"),
    ),
    Mistake(
        "The softmax was right: its rows are queries, and `dim=-1` is their axis. The bug is in the root.",
        ("q.size(-1)", "q.size(1)"),
        ("softmax(dim=-1)", "softmax(dim=1)"),
    ),
    Mistake(
        "The root is right now. But the softmax was right before: its axis is `dim=-1`.",
        ("softmax(dim=-1)", "softmax(dim=1)"),
    ),
    Mistake(
        "The cut was right: `split` takes the size of a piece, C. The bug is in the root.",
        ("split(x.size(-1), dim=-1)", "split(3, dim=-1)"),
    ),
    Mistake(
        "You divide by a fixed number. Divide by the root of the vectors' length, which differs from layer to layer: `q.size(-1)`.",
        ("math.sqrt(q.size(-1))", "2"),
    ),
)


def right(x, weight, bias):
    return F.scaled_dot_product_attention(*F.linear(x, weight, bias).chunk(3, dim=-1))


TOLERANCE = 1e-4


def cases():
    generator = torch.Generator().manual_seed(45)

    def case(label, B, T, C):
        x = torch.randn(B, T, C, generator=generator)
        weight = torch.randn(3 * C, C, generator=generator) / 2
        return Case(label, (x, weight, torch.randn(3 * C, generator=generator)))

    return [
        case("four tokens of four numbers, as its author tested", 1, 4, 4),
        case("five tokens of twelve numbers, two texts", 2, 5, 12),
        case("one token", 3, 1, 7),
        case("more tokens than numbers", 3, 11, 2),
    ]
