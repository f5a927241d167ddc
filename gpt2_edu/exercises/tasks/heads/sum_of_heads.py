"""Heads that add up."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 50
KIND = "repair"
LEVEL = 2
RANK = "extra"
MINUTES = 10

TASK = r"""
This is the second way to see `c_proj`. There is no merge. Every head writes its result into all C entries through its own block $W_i$, and the layer adds up what they write, and the bias, once.

$$\sum_i h_i\, W_i^\top + b$$

The function below should do this, from `heads` (B, H, T, D), with the weight (C, C), stored as (out, in), and the bias (C,) of `c_proj`. It raises no error and the shape is right, but the numbers are not those of "merge, then `c_proj`". Find the bug and fix it.

In a tiny example, one token has two heads of one entry each, $h_0 = 1$ and $h_1 = 2$. With the weight $\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}$ and the bias (10, 20), the result is (15, 31).
"""

HINTS = (
    "Do the tiny example by hand. With which entries of the weight is head 0 multiplied, and which should they be?",
    "Stored as (out, in), a row of the weight belongs to one *output*. A head's result is an input.",
    "Head h owns the columns h·D to (h+1)·D of the weight, a block of shape (C, D), which must be transposed.",
)

START = '''
def sum_of_heads(heads, weight, bias):
    """heads (B, H, T, D); weight (C, C) and bias (C,) of c_proj.

    Returns (B, T, C).
    """
    raise NotImplementedError("find the bug, fix it, delete this line")
    B, H, T, D = heads.shape
    total = torch.zeros(B, T, H * D)
    for h in range(H):
        block = weight[h * D : (h + 1) * D]
        total = total + heads[:, h] @ block
    return total + bias
'''

SOLUTION = """
def sum_of_heads(heads, weight, bias):
    B, H, T, D = heads.shape
    total = torch.zeros(B, T, H * D)
    for h in range(H):
        block = weight[:, h * D : (h + 1) * D]  # (C, D): columns are inputs
        total = total + heads[:, h] @ block.T  # (B, T, D) @ (D, C)
    return total + bias
"""

MISTAKES = (
    Mistake(
        "The bug is still there. These are rows of the weight, which belong to outputs, but a head owns columns.",
        ("block.T", "weight[h * D : (h + 1) * D]"),
    ),
    Mistake(
        "The sizes do not fit. A block is D columns of the weight, (C, D), and must be transposed: `heads[:, h] @ block.T`.",
        ("block.T", "block"),
    ),
    Mistake(
        "The bias is added once for each head now. It is added once in all, at the end.",
        ("heads[:, h] @ block.T", "heads[:, h] @ block.T + bias"),
        ("return total + bias", "return total"),
    ),
    Mistake(
        "You give head h every H-th column. Its columns are side by side, from h·D to (h+1)·D.",
        ("h * D : (h + 1) * D", "h::H"),
    ),
    Mistake(
        "You take the mean of the heads. What they write is added up.",
        ("total + bias", "total / H + bias"),
    ),
    Mistake(
        "You transpose rows of the weight, but rows belong to outputs. A head owns columns: `weight[:, h * D : (h + 1) * D]`.",
        ("weight[:, h * D", "weight[h * D"),
    ),
    Mistake(
        "You give a head one column of the weight. It owns D of them, from h·D to (h+1)·D. In the tiny example D is 1.",
        ("heads[:, h] @ block.T", "heads[:, h] * weight[:, h]"),
    ),
    Mistake(
        "Only the last head is left. Add what each head writes to `total`.",
        ("total = total + heads", "total = heads"),
    ),
    Mistake(
        "The bias is lost. Add it at the end, once.",
        ("total + bias", "total"),
    ),
    Mistake(
        "The heads are merged without moving back, so a row has entries of several tokens. First `transpose(1, 2)`, then join H and D.",
        code="""def sum_of_heads(heads, weight, bias):
    B, H, T, D = heads.shape
    return heads.reshape(B, T, H * D) @ weight.T + bias
""",
    ),
    Mistake(
        "You return after the first head. `return` belongs after the loop.",
        ("    return total + bias", "        return total + bias"),
    ),
    Mistake(
        "The brackets are lost: `h + 1 * D` is h + D. The block ends at `(h + 1) * D`.",
        ("(h + 1) * D", "h + 1 * D"),
    ),
)


def right(heads, weight, bias):
    return F.linear(heads.transpose(1, 2).flatten(start_dim=2), weight, bias)


def cases():
    generator = torch.Generator().manual_seed(65)

    def case(label, B, H, T, D):
        C = H * D
        heads = torch.randn(B, H, T, D, generator=generator)
        weight, bias = torch.randn(C, C, generator=generator), torch.randn(C, generator=generator)
        return Case(label, (heads, weight, bias))

    heads = torch.tensor([[[[1.0]], [[2.0]]]])
    weight, bias = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([10.0, 20.0])
    return [
        Case("two heads of one number each", (heads, weight, bias)),
        case("B = 2, H = 3, T = 5, D = 4", 2, 3, 5, 4),
        case("one head", 2, 1, 5, 7),
    ]
