"""SwiGLU, the MLP of later models."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake
from ...refusing import refusing

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 10

TASK = r"""
(The chapter's fold *what came later* is about this.) LLaMA and many other models compute two vectors from a token, apply SiLU to one of them, the gate, multiply the two entry by entry, and bring the product back to C:

$$\mathrm{out} = \big(\mathrm{SiLU}(x\,W_{\mathrm{gate}}^{\top}) \odot (x\,W_{\mathrm{up}}^{\top})\big)\,W_{\mathrm{down}}^{\top}
\qquad \mathrm{SiLU}(z) = z \cdot \sigma(z)$$

`x` is (B, T, C). `gate` and `up` are matrices (F, C), `down` is (C, F), stored as (out, in); there are no biases. The result is (B, T, C). Write SiLU out with `torch.sigmoid`.

By hand, with C = F = 1: x = 2, gate = 0.5, up = 3, down = 1. The gate is 1 before SiLU and $1 \cdot \sigma(1) = 0.7311$ after it, `up` gives 6, and the result is 0.7311 · 6 = 4.3864 (from the unrounded gate).
"""

HINTS = (
    "Compute the two vectors first, each (B, T, F): `x @ gate.T` and `x @ up.T`.",
    "SiLU is applied only to the gate, as z times `torch.sigmoid(z)`. The other vector stays as it is.",
    "Multiply the two with `*`, entry by entry, then `@ down.T`.",
)

START = '''
def swiglu(x, gate, up, down):
    """x (B, T, C); gate, up (F, C); down (C, F). Returns (B, T, C)."""
    ...
'''

SOLUTION = """
def swiglu(x, gate, up, down):
    z = x @ gate.T  # (B, T, F)
    silu = z * torch.sigmoid(z)
    return (silu * (x @ up.T)) @ down.T
"""

MISTAKES = (
    Mistake(
        "SiLU is on the wrong vector. It belongs on the gate, and `up` stays as it is.",
        ("silu * (x @ up.T)", "z * (x @ up.T) * torch.sigmoid(x @ up.T)"),
    ),
    Mistake(
        "This gate is only σ(z), which is between 0 and 1. SiLU is z · σ(z).",
        ("z * torch", "torch"),
    ),
    Mistake(
        "The two vectors are added here, but they must be multiplied, entry by entry.",
        ("silu * (x @ up.T)", "silu + x @ up.T"),
    ),
    Mistake(
        "This uses GELU. SwiGLU has SiLU, z · σ(z).",
        ("z * torch.sigmoid", "F.gelu"),
    ),
    Mistake(
        "SiLU is applied to the product here. Apply it to the gate first, then multiply.",
        ("z = x @ gate.T", "z = (x @ gate.T) * (x @ up.T)"),
        ("(silu * (x @ up.T))", "silu"),
    ),
    Mistake(
        "The matrices are stored as (out, in), so each must be transposed: `x @ gate.T`.",
        ("gate.T", "gate"),
        ("up.T", "up"),
        ("down.T", "down"),
    ),
    Mistake(
        "`@` is a product of matrices. The two vectors are multiplied entry by entry, with `*`.",
        ("silu * (x @ up.T)", "silu @ (x @ up.T)"),
    ),
    Mistake(
        "SiLU is applied to both vectors. It belongs on the gate alone, and `up` stays as it is.",
        ("(x @ up.T)", "(x @ up.T) * torch.sigmoid(x @ up.T)"),
    ),
    Mistake(
        "You multiply x by σ(z). SiLU multiplies z, the gate itself, by σ(z).",
        ("z * torch", "x * torch"),
    ),
    Mistake(
        "The product is still F wide. Bring it back to C with `@ down.T`.",
        ("return (silu * (x @ up.T)) @ down.T", "return silu * (x @ up.T)"),
    ),
    Mistake(
        "The gate goes through no SiLU here. Multiply z by σ(z) first.",
        ("z * torch.sigmoid(z)", "z"),
    ),
    Mistake(
        "This uses ReLU. SwiGLU has SiLU, z · σ(z).",
        ("z * torch.sigmoid", "F.relu"),
    ),
    Mistake(
        "You call the function that you are to write out: z times `torch.sigmoid(z)`.",
        ("z * torch.sigmoid(z)", "F.silu(z)"),
    ),
    Mistake(
        "`up` is missing. The gate is multiplied by `x @ up.T`, entry by entry.",
        ("silu * (x @ up.T)", "silu"),
    ),
    Mistake(
        "This gate is z · tanh(z). SiLU is z · σ(z).",
        ("torch.sigmoid", "torch.tanh"),
    ),
    Mistake(
        "`@` is a product of matrices. The two vectors are multiplied entry by entry, with `*`.",
        ("silu * (x @ up.T)", "silu @ (x @ up.T).transpose(-2, -1)"),
    ),
)


def right(*given):
    x, gate, up, down = (tensor.as_subclass(torch.Tensor) for tensor in given)
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def cases():
    generator = torch.Generator().manual_seed(7)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    one = torch.ones(1, 1)
    return [
        Case("the example by hand", (torch.tensor([[[2.0]]]), 0.5 * one, 3 * one, one)),
        Case("B = 2, T = 5, C = 3, F = 8", (draw(2, 5, 3), draw(8, 3), draw(8, 3), draw(3, 8))),
        Case("one token", (draw(1, 1, 6), draw(16, 6), draw(16, 6), draw(6, 16))),
        Case("large numbers", (50 * draw(1, 2, 3), draw(8, 3), draw(8, 3), draw(3, 8))),
        Case(
            "without `F.silu`",
            refusing("silu", draw(1, 2, 3), draw(8, 3), draw(8, 3), draw(3, 8)),
        ),
    ]
