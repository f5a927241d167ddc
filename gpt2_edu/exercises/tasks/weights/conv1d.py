"""A layer as the file keeps it."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 1
RANK = "good"
MINUTES = 5

TASK = r"""
Write the layer that matches the file, a linear map of every token whose weight is stored as (in, out).

`x` is (B, T, C), `weight` is (C, F), `bias` is (F,), and the result is (B, T, F). F may be any width here, even C itself.

For example, with `x = [[[1, 2]]]`, `weight = [[0, 1, 0], [0, 0, 1]]` and `bias = [5, 0, 0]` the result is `[[[5, 1, 2]]]`.
"""

HINTS = (
    "Write the shapes of a product side by side. The inner two must agree. (B, T, C) @ (C, F) → (B, T, F).",
    "`nn.Linear` and `F.linear` compute $xW^\\top + b$. Here it is $xW + b$.",
)

START = '''
def conv1d(x, weight, bias):
    """x (B, T, C); weight (C, F), (in, out); bias (F,). Returns (B, T, F)."""
    ...
'''

SOLUTION = """
def conv1d(x, weight, bias):
    return x @ weight + bias
"""

MISTAKES = (
    Mistake(
        "This treats the weight as (out, in), as `nn.Linear` stores it. With a square weight you get no error, only wrong numbers.",
        ("x @ weight", "x @ weight.T"),
    ),
    Mistake(
        "`reshape` does not transpose; it cuts the same row of numbers into other pieces. Multiply by the weight as it is.",
        ("x @ weight + bias", "F.linear(x, weight.reshape(weight.size(1), weight.size(0)), bias)"),
    ),
    Mistake(
        "The bias is missing. It is added to every token.",
        (" + bias", ""),
    ),
    Mistake(
        "The weight is transposed only where the shapes do not fit, and a square one fits either way. The layout goes by the layer, not by the shape.",
        code="""
def conv1d(x, weight, bias):
    if weight.size(1) != x.size(-1):
        weight = weight.T
    return F.linear(x, weight, bias)
""",
    ),
    Mistake(
        "`F.linear` expects the weight as (out, in) and transposes it. Here it is (in, out), so multiply by it as it is: `x @ weight`.",
        ("x @ weight + bias", "F.linear(x, weight, bias)"),
    ),
    Mistake(
        "`*` multiplies entry by entry. A layer is a product of matrices, `@`.",
        ("x @ weight", "x * weight"),
    ),
    Mistake(
        "The weight is on the left. Each token is a row of x, so x comes first: (B, T, C) @ (C, F).",
        ("x @ weight", "weight @ x"),
    ),
    Mistake(
        "The bias is added to the input. It has F numbers, one for each output, so it is added after the product.",
        ("x @ weight + bias", "(x + bias) @ weight"),
    ),
    Mistake(
        "`F.conv1d` is a real convolution, over neighbouring tokens. The file's `Conv1D` is a plain product, `x @ weight`.",
        ("x @ weight + bias", "F.conv1d(x, weight, bias)"),
    ),
    Mistake(
        "In spite of its name it is a matrix product: `x @ weight + bias`.",
        ("x @ weight + bias", "F.conv1d(x.mT, weight.unsqueeze(-1), bias).mT"),
    ),
)


def right(x, weight, bias):
    return F.linear(x, weight.T, bias)


def cases():
    generator = torch.Generator().manual_seed(12)
    x = torch.randn(2, 5, 3, generator=generator)
    wide = torch.randn(3, 7, generator=generator)
    square = torch.randn(3, 3, generator=generator)
    bias = torch.randn(7, generator=generator)
    by_hand = (
        torch.tensor([[[1.0, 2.0]]]),
        torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        torch.tensor([5.0, 0.0, 0.0]),
    )
    return [
        Case("one token, from two numbers to three", by_hand),
        Case("from three numbers to seven", (x, wide, bias)),
        Case("a square weight", (x, square, bias[:3])),
        Case("one text of one token", (x[:1, :1], wide, bias)),
    ]
