"""Cut into heads."""

from types import SimpleNamespace

import torch

from ....model import CausalSelfAttention
from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
Split `x` (B, T, C) into H = `n_head` heads, as (B, H, T, D) with D = C / H. Head 0 takes the first D columns of every token, head 1 the next D, and so on.

One text of two tokens, (0, 1, 2, 3) and (100, 101, 102, 103), with H = 2: head 0 becomes the matrix with the rows (0, 1) and (100, 101), head 1 the one with (2, 3) and (102, 103).
"""

HINTS = (
    "There are two steps. Split the last axis in place, then move the new axis.",
    "`view` splits C into (H, D), which gives the shape (B, T, H, D).",
    "`transpose(1, 2)` swaps T and H.",
)

START = '''
def split_heads(x, n_head):
    """x (B, T, C). Returns (B, H, T, D)."""
    ...
'''

SOLUTION = """
def split_heads(x, n_head):
    B, T, C = x.shape
    # view may only cut axes, transpose moves them: (B, T, H, D) first
    return x.view(B, T, n_head, C // n_head).transpose(1, 2)
"""

MISTAKES = (
    Mistake(
        "You ask `view` for the final shape at once. It cuts token 0 into pieces that pose as tokens, and raises an error where x is a slice of a wider tensor. View to (B, T, H, D), then transpose.",
        ("B, T, n_head, C // n_head).transpose(1, 2)", "B, n_head, T, C // n_head)"),
    ),
    Mistake(
        "`reshape` straight to the final shape makes pieces of one token pose as several tokens, without any error. Split C into (H, D) in place, then transpose.",
        ("view(B, T, n_head, C // n_head).transpose(1, 2)", "reshape(B, n_head, T, C // n_head)"),
    ),
    Mistake(
        "The axis is split but not moved, so this is (B, T, H, D). Swap T and H with `transpose(1, 2)`.",
        (".transpose(1, 2)", ""),
    ),
    Mistake(
        "C is split into (D, H) here, so head 0 takes every H-th column. Each head's columns are side by side, so split into (H, D).",
        ("n_head, C // n_head).transpose(1, 2)", "C // n_head, n_head).permute(0, 3, 1, 2)"),
    ),
    Mistake(
        "The number of heads and their size are swapped. Write `view(B, T, n_head, C // n_head)`.",
        ("n_head, C // n_head", "C // n_head, n_head"),
    ),
    Mistake(
        "`/` gives 4.0, and a size must be a whole number: `C // n_head`.",
        ("C // n_head", "C / n_head"),
    ),
    Mistake(
        "You swap H and D, so the tokens still come first. T and H are the axes 1 and 2: `transpose(1, 2)`.",
        ("transpose(1, 2)", "transpose(2, 3)"),
    ),
    Mistake(
        "You transpose too early: then `reshape` cuts the axis of the tokens. First split C into (H, D), then `transpose(1, 2)`.",
        (
            "view(B, T, n_head, C // n_head).transpose(1, 2)",
            "transpose(1, 2).reshape(B, n_head, T, C // n_head)",
        ),
    ),
    Mistake(
        "The heads are the first axis here, in front of the texts. They come after B, as axis 1.",
        (
            "return x.view(B, T, n_head, C // n_head).transpose(1, 2)",
            "return torch.stack(x.chunk(n_head, dim=-1))",
        ),
    ),
    Mistake(
        "These are the heads, but in a list. One tensor is asked for: stack them, with the heads as axis 1.",
        (
            "return x.view(B, T, n_head, C // n_head).transpose(1, 2)",
            "return list(x.chunk(n_head, dim=-1))",
        ),
    ),
)


def right(x, n_head):
    return CausalSelfAttention.split_heads(SimpleNamespace(n_head=n_head), x)


def cases():
    generator = torch.Generator().manual_seed(62)

    def case(label, B, T, C, n_head):
        return Case(label, (torch.randn(B, T, C, generator=generator), n_head))

    tiny = torch.tensor([[[0, 1, 2, 3], [100, 101, 102, 103]]])
    piece = torch.randn(2, 5, 36, generator=generator)[..., 12:24]
    return [
        Case("two tokens of four numbers, two heads", (tiny, 2)),
        case("B = 2, T = 5, C = 12, three heads", 2, 5, 12, 3),
        Case("a piece of c_attn(x), the keys", (piece, 3)),
        case("one head", 2, 5, 7, 1),
        case("one text of one token", 1, 1, 12, 4),
    ]
