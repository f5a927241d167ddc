"""Two weights in one byte."""

import torch

from ...exercise import Case, Mistake

ORDER = 50
KIND = "repair"
LEVEL = 2
RANK = "extra"
MINUTES = 10

TASK = r"""
No computer addresses less than a byte, so two 4-bit numbers share one. `two_in_a_byte(q)` takes whole numbers from −7 to 7, int8 of shape (out, in) with an even number of columns, and returns a tensor `torch.uint8` of shape (out, in / 2).

Each number has 8 added, so that it lies between 1 and 15. Of the columns 0, 1, 2, 3 … each even one becomes the *lower* four bits of a byte, and the odd one after it the *upper* four, which means that it is multiplied by 16. For example, (2, −7, 4, 1) becomes 10 + 16 · 1 = 26 and 12 + 16 · 9 = 156.

The function below was written for unsigned numbers, from 0 to 15. Find the bug and fix it.
"""

HINTS = (
    "Which bits does −7 have in int8? Try `torch.tensor(-7, dtype=torch.int8) & 0xFF`.",
    "Add 8 before you put two together.",
    "In int8, 16 times 9 does not fit. Change the type to `torch.uint8` before you multiply.",
)

START = '''
def two_in_a_byte(q):
    """q int8 (out, in), -7 to 7. Returns uint8 (out, in / 2)."""
    raise NotImplementedError(
        "find the bug, fix it, delete this line"
    )
    lower, upper = q[:, 0::2], q[:, 1::2]
    return (lower + 16 * upper).to(torch.uint8)
'''

SOLUTION = """
def two_in_a_byte(q):
    positive = (q + 8).to(torch.uint8)  # 1 to 15: no sign, and room for * 16
    lower, upper = positive[:, 0::2], positive[:, 1::2]
    return lower + 16 * upper
"""

MISTAKES = (
    Mistake(
        "The bug is still there. A negative number borrows from its neighbour, because nothing was added to make it positive. Add 8 to each first.",
        ("q + 8", "q"),
    ),
    Mistake(
        "The two have changed places. The even column is the lower half of the byte.",
        ("positive[:, 0::2], positive[:, 1::2]", "positive[:, 1::2], positive[:, 0::2]"),
    ),
    Mistake(
        "The first half of the columns is paired with the second half. A byte holds two neighbours.",
        ("positive[:, 0::2], positive[:, 1::2]", "positive.chunk(2, dim=1)"),
    ),
    Mistake(
        "Two rows share a byte here. A byte holds two neighbouring columns.",
        ("positive[:, 0::2], positive[:, 1::2]", "positive[0::2], positive[1::2]"),
    ),
    Mistake(
        "7 is added instead of 8. It is possible, but then the example would become 9 and 0; the task says 8.",
        ("q + 8", "q + 7"),
    ),
    Mistake(
        "The upper number is multiplied by 8. Four bits have 16 values, so the next four begin at 16.",
        ("16 * upper", "8 * upper"),
    ),
    Mistake(
        "The upper number is multiplied by 15. Four bits have 16 values, from 0 to 15, so the next four begin at 16.",
        ("16 * upper", "15 * upper"),
    ),
    Mistake(
        "The type is int8, in which 16 · 9 is −112. Change it to `torch.uint8`.",
        ("(q + 8).to(torch.uint8)", "q + 8"),
    ),
    Mistake(
        "The types are those of larger numbers, which saves nothing. Return `torch.uint8`.",
        ("(q + 8).to(torch.uint8)", "(q + 8).int()"),
    ),
    Mistake(
        "The upper number is not moved up, so the two are added and cannot be told apart.",
        ("16 * upper", "upper"),
    ),
    Mistake(
        "128 is added, as for 8 bits, and only the last four bits of it survive. Add 8.",
        ("q + 8", "q + 128"),
    ),
    Mistake(
        "8 is added to one of the two numbers only. Add it to both.",
        ("(q + 8).to(torch.uint8)", "q.to(torch.uint8)"),
        ("return lower +", "return lower + 8 +"),
    ),
    Mistake(
        "The signs are lost. Add 8 to each, so that none is negative.",
        ("(q + 8)", "q.abs()"),
    ),
    Mistake(
        "16 is added. Add 8, so that −7 becomes 1 and 7 becomes 15.",
        ("q + 8", "q + 16"),
    ),
    Mistake(
        "The upper number is multiplied by 4. Four bits have 16 values, so move it up by 2⁴.",
        ("16 * upper", "4 * upper"),
    ),
    Mistake(
        "Only the lower number is left, because the upper one was moved out of the byte. It moves up by four bits: `16 * upper`.",
        ("16 * upper", "2**8 * upper"),
    ),
    Mistake(
        "The two are multiplied with each other. Only the upper is multiplied, by 16, and then they are added.",
        ("lower + 16 * upper", "lower * upper"),
    ),
    Mistake(
        "`+` comes before `<<`, so both are moved up. Put `upper << 4` into parentheses.",
        ("lower + 16 * upper", "lower + upper << 4"),
    ),
    Mistake(
        "The numbers are below each other, not in one byte.",
        ("lower + 16 * upper", "torch.cat([lower, upper], dim=1)"),
    ),
    Mistake(
        "8 is subtracted. Add it.",
        ("q + 8", "q - 8"),
    ),
    Mistake(
        "This keeps the lower four bits of each number. Add 8 instead, as the task says.",
        ("(q + 8)", "(q & 15)"),
    ),
    Mistake(
        "The two halves overlap: the upper four bits need a factor of 16.",
        ("lower + 16 * upper", "lower | upper"),
    ),
    Mistake(
        "`&` keeps only bits that both have. Add them, or use `|`.",
        ("lower + 16 * upper", "lower & 16 * upper"),
    ),
    Mistake(
        "Negative numbers become 0. Add 8 to each first, so that none is negative.",
        ("(q + 8).to(torch.uint8)", "q.clamp(min=0).to(torch.uint8)"),
    ),
    Mistake(
        "The upper number is multiplied by 2, which moves it by one bit. Four bits are a factor of 16.",
        ("16 * upper", "2 * upper"),
    ),
)


def right(q):
    pairs = q.int().unflatten(1, (-1, 2)) + 8
    return (pairs * torch.tensor([1, 16])).sum(dim=-1).to(torch.uint8)


def cases():
    generator = torch.Generator().manual_seed(73)
    row = torch.tensor([[2, -7, 4, 1]], dtype=torch.int8)
    many = torch.randint(-7, 8, (4, 6), generator=generator).to(torch.int8)
    return [
        Case("the row (2, -7, 4, 1)", (row,)),
        Case("one pair of the largest", (torch.tensor([[7, 7]], dtype=torch.int8),)),
        Case("(4, 6)", (many,)),
    ]
