"""Weights in fewer bits."""

from typing import Any

import torch
from torch import Tensor

from ....quantize import round_to
from ...exercise import Case, Mistake
from ...step import random_tensor

PARTS = ("round_to",)
IMPORTS = ("import torch",)

START = '''
def round_to(weight, bits, group=None):  # (out, in) → the same, rounded
    """One scale for each row, or for each `group` columns of a row."""
    ...  # the groups, as rows of a matrix
    ...  # the scale of each
    ...  # to the nearest whole number, and back
'''

SOLUTION = '''
def round_to(weight, bits, group=None):  # (out, in) → the same, rounded
    """One scale for each row, or for each `group` columns of a row."""
    rows = weight.reshape(-1, group or weight.size(-1))
    largest = rows.abs().amax(dim=-1, keepdim=True)
    scale = largest / (2 ** (bits - 1) - 1)
    scale = torch.where(scale == 0, 1, scale)  # a row of zeros stays
    return ((rows / scale).round() * scale).view_as(weight)
'''


def use(mine: Any, weight: Tensor, bits: int, group: int | None) -> Tensor:
    return mine.round_to(weight.clone(), bits, group)


def right(weight: Tensor, bits: int, group: int | None) -> Tensor:
    return round_to(weight, bits, group)


def cases() -> list[Case]:
    row = torch.tensor([[0.12, -0.5, 0.31, 0.07]])
    zeros = torch.cat([torch.zeros(1, 8), random_tensor(2, 1, 8)])
    return [
        Case("the chapter's row in 8 bits", (row, 8, None)),
        Case("the chapter's row in 4 bits", (row, 4, None)),
        Case("the same in groups of two", (row, 4, 2)),
        Case("(5, 12) in 3 bits, a scale for each row", (random_tensor(1, 5, 12), 3, None)),
        Case("(5, 12) in 4 bits, in groups of 3", (random_tensor(1, 5, 12), 4, 3)),
        Case("a row of zeros and another", (zeros, 4, None)),
    ]


MISTAKES = (
    Mistake(
        "There is one scale for the whole matrix. Each row, or each group, has its own: "
        "`amax(dim=-1, keepdim=True)`.",
        ("amax(dim=-1, keepdim=True)", "max()"),
    ),
    Mistake(
        "The scales are those of columns. A row of the weight belongs to one output, so take the "
        "largest along the last axis.",
        ("amax(dim=-1, keepdim=True)", "amax(dim=0, keepdim=True)"),
    ),
    Mistake(
        "The largest is taken with its sign, so a row whose largest entry is negative leaves the "
        "range. Use `abs()` first.",
        ("rows.abs().amax", "rows.amax"),
    ),
    Mistake(
        "The scale divides by 2 to the power of `bits`. One bit is the sign, so the largest whole "
        "number is 2^(bits − 1) − 1.",
        ("(2 ** (bits - 1) - 1)", "(2**bits - 1)"),
    ),
    Mistake(
        "The range is one too wide. It is symmetric, and its largest number is 2^(bits − 1) − 1, "
        "which is 127 for 8 bits.",
        ("(2 ** (bits - 1) - 1)", "2 ** (bits - 1)"),
    ),
    Mistake(
        "`group` is not used, so each row has one scale whatever is asked.",
        ("group or weight.size(-1)", "weight.size(-1)"),
    ),
    Mistake(
        "`floor` always rounds down, which makes the error twice as large. Round to the nearest.",
        ("(rows / scale).round()", "(rows / scale).floor()"),
    ),
    Mistake(
        "`trunc` rounds toward 0, which makes every weight smaller. Round to the nearest.",
        ("(rows / scale).round()", "(rows / scale).trunc()"),
    ),
    Mistake(
        "These are the whole numbers. Multiply them by their scale again.",
        ("(rows / scale).round() * scale", "(rows / scale).round()"),
    ),
    Mistake(
        "A row of zeros has the scale 0, and 0 / 0 is NaN. Give such a row any other scale.",
        ("    scale = torch.where(scale == 0, 1, scale)  # a row of zeros stays\n", ""),
    ),
    Mistake(
        "Nothing is rounded. Divide by the scale, round, and multiply by it again.",
        (".round()", ""),
    ),
    Mistake(
        "The weights are rounded without a scale. Divide by it first.",
        ("(rows / scale).round() * scale", "rows.round()"),
    ),
    Mistake(
        "The result has a row for each group. Bring it back to the weight's shape.",
        (".view_as(weight)", ""),
    ),
    Mistake(
        "The scale comes from the mean of a row. Its largest entry must become the largest whole number.",
        ("amax(dim=-1, keepdim=True)", "mean(dim=-1, keepdim=True)"),
    ),
    Mistake(
        "The range is that of 8 bits whatever is asked. Use `bits`.",
        ("(2 ** (bits - 1) - 1)", "127"),
    ),
    Mistake(
        "The largest whole number is 2^(bits − 1) − 1, not half of a range.",
        ("(2 ** (bits - 1) - 1)", "((2**bits - 1) / 2)"),
    ),
    Mistake(
        "Multiplication and division are swapped. Divide by the scale, round, multiply.",
        ("(rows / scale).round() * scale", "(rows * scale).round() / scale"),
    ),
    Mistake(
        "A row has as many groups as a group should have columns.",
        ("group or weight.size(-1)", "weight.size(-1) // (group or 1)"),
    ),
    Mistake(
        "Without `group` one row of weights shares a scale, not the whole matrix.",
        ("group or weight.size(-1)", "group or weight.numel()"),
    ),
    Mistake(
        "A constant in the scale changes all weights. Only a scale of 0 is replaced.",
        ("torch.where(scale == 0, 1, scale)", "scale + 1e-3"),
    ),
    Mistake(
        "The number of bits is not the largest whole number. That is 2^(bits − 1) − 1.",
        ("(2 ** (bits - 1) - 1)", "bits"),
    ),
    Mistake(
        "The weight itself is divided by the scales of groups. Divide `rows`, the groups.",
        ("((rows / scale).round() * scale).view_as(weight)", "(weight / scale).round() * scale"),
    ),
    Mistake(
        "The scale comes from the distance of the largest and the smallest entry. Here the range is symmetric: the largest absolute value, divided by 2^(bits − 1) − 1.",
        (
            "rows.abs().amax(dim=-1, keepdim=True)",
            "rows.amax(dim=-1, keepdim=True) - rows.amin(dim=-1, keepdim=True)",
        ),
        ("(2 ** (bits - 1) - 1)", "(2**bits - 1)"),
    ),
    Mistake(
        "Without `group`, each entry has a scale of its own here. A row has one.",
        ("group or weight.size(-1)", "group or 1"),
    ),
)
