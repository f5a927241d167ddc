"""Queries, keys and values from one matrix."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
GPT-2 computes q, k and v with one matrix, `c_attn`. Write that step. Given `x` (B, T, C), the stored weight (3C, C) and the bias (3C,), return the three tensors `q`, `k` and `v`, each (B, T, C).

The weight is stored as in `nn.Linear`, (out, in). For example, with C = 2, the weight

$$\begin{pmatrix} 1 & 0 \\ 0 & 1 \\ 10 & 0 \\ 0 & 10 \\ 1 & 1 \\ 1 & -1 \end{pmatrix}$$

and the bias (0, 0, 0, 0, 0, 5) turn the token (1, 2) into the query (1, 2), the key (10, 20) and the value (3, 4).
"""

HINTS = (
    "First one product for all 3C outputs, then cut the last axis in three.",
    "A weight stored as (out, in) must be transposed: `x @ weight.T + bias`.",
    "`split` takes the size of a piece, which is C: `.split(x.size(-1), dim=-1)`.",
)

START = '''
def project(x, weight, bias):
    """x (B, T, C); weight (3C, C), bias (3C,).

    Returns q, k, v, each (B, T, C).
    """
    ...
'''

SOLUTION = """
def project(x, weight, bias):
    qkv = x @ weight.T + bias  # (B, T, 3C): stored as (out, in), so turned
    q, k, v = qkv.split(x.size(-1), dim=-1)  # pieces of C, in this order
    return q, k, v
"""

MISTAKES = (
    Mistake(
        "The bias is missing. GPT-2's `c_attn` has one, so add it to all 3C outputs before you cut them.",
        (" + bias", ""),
    ),
    Mistake(
        "The pieces are right, but in another order. The first C outputs are the query, the next C the key, the last C the value.",
        ("    q, k, v = ", "    k, q, v = "),
    ),
    Mistake(
        "`split` takes the size of a piece, C, and not the number of pieces, 3. (`chunk(3, dim=-1)` takes the number.)",
        (
            "q, k, v = qkv.split(x.size(-1), dim=-1)  # pieces of C, in this order\n    return q, k, v",
            "return qkv.split(3, dim=-1)",
        ),
    ),
    Mistake(
        "You take every third output for each of the three. But they are side by side: the first C outputs are the query, the next C the key.",
        ("qkv.split(x.size(-1), dim=-1)", "(qkv[..., i::3] for i in range(3))"),
    ),
    Mistake(
        "The weight is stored as (out, in) = (3C, C), and x ends in C. Transpose it: `x @ weight.T`.",
        ("weight.T", "weight"),
    ),
    Mistake(
        "These are not three pieces, since another axis is cut than that of the 3C outputs. It is the last of the product (`dim=-1`) and the first of the weight.",
        ("q, k, v = qkv.split(x.size(-1), dim=-1)", "q, k, v = qkv.chunk(3)"),
    ),
    Mistake(
        "You add the query's part of the bias to all three. The key has the next C entries of it, the value the last C.",
        (" + bias", " + bias[: x.size(-1)].repeat(3)"),
    ),
    Mistake(
        "`reshape` to (C, 3C) puts other numbers into the columns. Transpose the weight: `x @ weight.T`.",
        ("weight.T", "weight.reshape(x.size(-1), -1)"),
    ),
    Mistake(
        "This is the product for all three, side by side. Cut its last axis into q, k and v.",
        ("return q, k, v", "return qkv"),
    ),
    Mistake(
        "`view` to (3, B, T, C) cuts the tokens into pieces that pose as others. Cut the last axis: `chunk(3, dim=-1)`.",
        ("q, k, v = qkv.split(x.size(-1), dim=-1)", "q, k, v = qkv.view(3, *x.shape)"),
    ),
    Mistake(
        "Each third of the weight is (out, in) as well, so it must be transposed: `x @ weight[:C].T`.",
        ("x @ weight.T", "torch.cat([x @ part for part in weight.split(x.size(-1))], dim=-1)"),
    ),
    Mistake(
        "The pieces are right, but in another order. The first C outputs are the query, the next C the key, the last C the value.",
        ("    q, k, v = ", "    q, v, k = "),
    ),
    Mistake(
        "The pieces are right, but in another order. The first C outputs are the query, the next C the key, the last C the value.",
        ("    q, k, v = ", "    v, k, q = "),
    ),
    Mistake(
        "`split` takes the length of a piece, not the number of pieces. The length is C, `x.size(-1)`.",
        ("x.size(-1), dim=-1", "3, dim=-1"),
    ),
    Mistake(
        "Your pieces are groups of tokens, since axis 1 counts the tokens. q, k and v stand beside each other on the last axis: `dim=-1`.",
        (
            "    q, k, v = qkv.split(x.size(-1), dim=-1)  # pieces of C, in this order\n    return q, k, v",
            "    return qkv.chunk(3, dim=1)",
        ),
    ),
)


def right(x, weight, bias):
    return F.linear(x, weight, bias).chunk(3, dim=-1)


def cases():
    generator = torch.Generator().manual_seed(43)

    def layer(C):
        weight = torch.randn(3 * C, C, generator=generator)
        return weight, torch.randn(3 * C, generator=generator)

    x = torch.tensor([[[1.0, 2.0]]])
    rows = [[1, 0], [0, 1], [10, 0], [0, 10], [1, 1], [1, -1]]
    weight, bias = torch.tensor(rows).float(), torch.tensor([0, 0, 0, 0, 0, 5.0])
    return [
        Case("the token (1, 2)", (x, weight, bias)),
        Case("B = 2, T = 5, C = 12", (torch.randn(2, 5, 12, generator=generator), *layer(12))),
        Case("one text of one token", (torch.randn(1, 1, 7, generator=generator), *layer(7))),
    ]
