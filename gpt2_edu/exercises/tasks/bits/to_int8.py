"""Whole numbers and their scales."""

import torch

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
`round_to` gives rounded floats, which take as much memory as before. To save memory, the whole numbers themselves must be stored.

Write `to_int8(weight)`, which returns a pair: the whole numbers, a tensor of type `torch.int8` with the shape of `weight` (out, in), and the scales, a float tensor (out, 1), one for each row. Their product is the rounded weight. No row is all zeros.
"""

HINTS = (
    "The scale of a row is its largest size divided by 127.",
    "`amax(dim=1, keepdim=True)` keeps the axis, so that each row is divided by its own scale.",
    "Round before you change the type: `.to(torch.int8)` cuts fractions off.",
)

START = '''
def to_int8(weight):
    """weight (out, in). Returns int8 (out, in) and scales (out, 1)."""
    ...
'''

SOLUTION = """
def to_int8(weight):
    scale = weight.abs().amax(dim=1, keepdim=True) / 127
    return (weight / scale).round().to(torch.int8), scale
"""

MISTAKES = (
    Mistake(
        "`.to(torch.int8)` cuts fractions off, so every weight moves toward 0. Round first.",
        (".round()", ""),
    ),
    Mistake(
        "The whole numbers are still floats, of 4 bytes each. Change the type to `torch.int8`.",
        (".to(torch.int8)", ""),
    ),
    Mistake(
        "With 128 the largest weight becomes 128, which int8 does not have: it ends at 127 and begins again at −128, so the sign turns around.",
        ("/ 127", "/ 128"),
    ),
    Mistake(
        "With 255 only half of the range of int8 would be needed if it had no sign. With one, the largest whole number is 127.",
        ("/ 127", "/ 255"),
    ),
    Mistake(
        "There is one scale for the whole matrix. Each row has its own.",
        ("amax(dim=1, keepdim=True)", "max()"),
    ),
    Mistake(
        "The scales are those of columns. A row belongs to one output: take the largest along axis 1.",
        ("dim=1, keepdim=True", "dim=0, keepdim=True"),
    ),
    Mistake(
        "The scales lack their second axis, so they do not fit the rows. Use `keepdim=True`.",
        (
            "(weight / scale).round().to(torch.int8), scale",
            "(weight / scale).round().to(torch.int8), scale.squeeze(1)",
        ),
    ),
    Mistake(
        "The largest is taken with its sign. A row whose largest entry is negative then leaves the range of int8. Use `abs()` first.",
        ("weight.abs().amax", "weight.amax"),
    ),
    Mistake(
        "The order of the pair is wrong: first the whole numbers, then the scales.",
        (
            "return (weight / scale).round().to(torch.int8), scale",
            "return scale, (weight / scale).round().to(torch.int8)",
        ),
    ),
    Mistake(
        "You multiply by the scale. Divide by it, so that the largest entry becomes 127.",
        ("weight / scale", "weight * scale"),
    ),
    Mistake(
        "These are 127 divided by the largest, the reciprocals of the scales. Whole number times scale must give the weight.",
        ("to(torch.int8), scale", "to(torch.int8), 1 / scale"),
    ),
    Mistake(
        "`floor` rounds down. Round to the nearest.",
        (".round()", ".floor()"),
    ),
    Mistake(
        "`ceil` rounds up. Round to the nearest.",
        (".round()", ".ceil()"),
    ),
    Mistake(
        "The largest whole number of int8 is 127, not 256.",
        ("/ 127", "/ 256"),
    ),
    Mistake(
        "That is the range of 4 bits. With 8 the largest whole number is 127.",
        ("/ 127", "/ 7"),
    ),
    Mistake(
        "The scale is not divided by 127, so that only −1, 0 and 1 are left.",
        (" / 127", ""),
    ),
    Mistake(
        "The scale comes from the mean of a row. Its largest entry must become 127.",
        (".abs().amax(dim=1", ".abs().mean(dim=1"),
    ),
    Mistake(
        "The scale comes from the distance of the largest and the least. A symmetric range needs the largest size.",
        (
            "weight.abs().amax(dim=1, keepdim=True) / 127",
            "(weight.amax(dim=1, keepdim=True) - weight.amin(dim=1, keepdim=True)) / 255",
        ),
    ),
    Mistake(
        "Negative weights are lost. int8 goes from −127 to 127.",
        (".round()", ".round().clamp(0, 127)"),
    ),
    Mistake(
        "The signs are lost.",
        (".round()", ".round().abs()"),
    ),
    Mistake(
        "The product of whole numbers and scales is the rounded weight. It is asked for as its two factors: return the pair.",
        (
            "return (weight / scale).round().to(torch.int8), scale",
            "return (weight / scale).round().to(torch.int8) * scale",
        ),
    ),
    Mistake(
        "The scale comes from the spread of a row. Its largest entry must become 127.",
        ("weight.abs().amax(dim=1, keepdim=True)", "weight.std(dim=1, keepdim=True)"),
    ),
    Mistake(
        "Only the whole numbers are returned. Their scales are asked for, too.",
        ("torch.int8), scale", "torch.int8)"),
    ),
    Mistake(
        "The scale is 127 times too large: it belongs between two neighbouring whole numbers, so it is the largest entry divided by 127.",
        ("keepdim=True) / 127", "keepdim=True)"),
        ("(weight / scale)", "(weight / scale * 127)"),
    ),
    Mistake(
        "`//` rounds down. Round to the nearest: `(weight / scale).round()`.",
        ("(weight / scale).round()", "(weight // scale)"),
    ),
)


def right(weight):
    largest = weight.abs().max(dim=-1).values.unsqueeze(-1)
    return torch.round(127 * weight / largest).to(torch.int8), largest / 127


def cases():
    generator = torch.Generator().manual_seed(71)
    row = torch.tensor([[0.12, -0.5, 0.31, 0.07], [0.021, 0.01, -0.03, 0.04]])
    return [
        Case("two rows, the chapter's and a small one", (row,)),
        Case("(5, 7)", (torch.randn(5, 7, generator=generator),)),
        Case("one row of one entry", (torch.tensor([[-0.3]]),)),
    ]
