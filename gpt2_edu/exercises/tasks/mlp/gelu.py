"""GELU, as GPT-2 computes it."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake
from ...refusing import refusing

ORDER = 20
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
Write the form of GELU that GPT-2 was trained with:

$$\mathrm{GELU}_{\tanh}(x) = 0.5\,x\left(1 + \tanh\!\left(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\right)\right)$$

`x` is a tensor of any shape. The function works on each entry by itself and returns a tensor of the same shape. It turns 2.4 into 2.3807, 0 into 0, and −2 into −0.0454. Write the formula out, without calling `F.gelu`.
"""

HINTS = (
    "One or two lines are enough, because `torch.tanh` and `**` work on each entry of a tensor.",
    "`math.sqrt(2 / math.pi)` is the factor in front of the bracket.",
    "`inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)`, then half of x, times 1 plus the tanh of `inner`.",
)

START = '''
def gelu(x):
    """x: any shape. Returns the same shape: the tanh form of GELU."""
    ...
'''

SOLUTION = """
def gelu(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(inner))
"""

MISTAKES = (
    Mistake(
        "This is the exact form, with `erf`. It differs from the fourth decimal on, and GPT-2 was "
        "trained with the tanh form.",
        ("0.5 * x * (1 + torch.tanh(inner))", "x * 0.5 * (1 + torch.erf(x / 2 ** 0.5))"),
    ),
    Mistake(
        "This is x · σ(1.702 x), a coarser approximation. Write the form with tanh.",
        ("0.5 * x * (1 + torch.tanh(inner))", "x * torch.sigmoid(1.702 * x)"),
    ),
    Mistake(
        "The factor 0.5 is missing. The share must be between 0 and 1, and 1 + tanh is between "
        "0 and 2.",
        ("0.5 * x", "x"),
    ),
    Mistake(
        "The root is of 2/π, not of π or 2π: `math.sqrt(2 / math.pi)`.",
        ("2 / math", "2 * math"),
    ),
    Mistake(
        "Here 0.044715 is cubed as well. Only x is: `0.044715 * x**3`.",
        ("0.044715 * x**3", "(0.044715 * x) ** 3"),
    ),
    Mistake(
        "This is only the share. GELU multiplies x by it.",
        ("0.5 * x * (1 +", "0.5 * (1 +"),
    ),
    Mistake(
        "This is ReLU, which has a corner at 0. GELU is smooth.",
        ("0.5 * x * (1 + torch.tanh(inner))", "x.clamp(min=0)"),
    ),
    Mistake(
        "Here x is squared. In the formula it is cubed: `0.044715 * x**3`.",
        ("x**3", "x**2"),
    ),
    Mistake(
        "The root multiplies the whole bracket, both x and the cube: `math.sqrt(2 / math.pi) * (x + …)`.",
        ("(x + 0.044715 * x**3)", "x + 0.044715 * x**3"),
    ),
    Mistake(
        "`math.tanh` takes a single number. `torch.tanh` takes each entry of a tensor.",
        ("torch.tanh", "math.tanh"),
    ),
    Mistake(
        "0.5 · x multiplies both the 1 and the tanh, so they need brackets: `0.5 * x * (1 + torch.tanh(…))`.",
        ("(1 + torch.tanh(inner))", "1 + torch.tanh(inner)"),
    ),
    Mistake(
        "This divides the root of 2 by π. The root is of the quotient: `math.sqrt(2 / math.pi)`.",
        ("math.sqrt(2 / math.pi)", "math.sqrt(2) / math.pi"),
    ),
    Mistake(
        "The root in front of the bracket is missing: `math.sqrt(2 / math.pi)`.",
        ("math.sqrt(2 / math.pi) * ", ""),
    ),
    Mistake(
        "The root of the quotient is missing: `math.sqrt(2 / math.pi)`.",
        ("math.sqrt(2 / math.pi)", "2 / math.pi"),
    ),
    Mistake(
        "The quotient is upside down: it is 2/π.",
        ("2 / math.pi", "math.pi / 2"),
    ),
    Mistake(
        "Look at the factor of the cube again. It is 0.044715, not a tenth of it.",
        ("0.044715", "0.0044715"),
    ),
    Mistake(
        "Look at the factor of the cube again. It is 0.044715, not ten times as much.",
        ("0.044715", "0.44715"),
    ),
    Mistake(
        "The cube is missing: tanh is taken of the root times (x + 0.044715 x³).",
        (" + 0.044715 * x**3", ""),
    ),
    Mistake(
        "You write into the caller's tensor, as `x *= 0.5` does. `0.5 * x` makes a new one.",
        (
            "return 0.5 * x * (1 + torch.tanh(inner))",
            """\
x *= 0.5
    return x * (1 + torch.tanh(inner))
""",
        ),
    ),
    Mistake(
        "You call the function that you are to build. Write the formula out, with `torch.tanh`.",
        code="""def gelu(x):
    return F.gelu(x, approximate="tanh")
""",
    ),
    Mistake(
        "The 1 is missing: the share is 0.5 · (1 + tanh), between 0 and 1.",
        ("(1 + torch.tanh(inner))", "torch.tanh(inner)"),
    ),
    Mistake(
        "The sign before tanh is wrong: 1 + tanh.",
        ("1 + torch", "1 - torch"),
    ),
    Mistake(
        "Here x is multiplied by 3. In the formula it is cubed: `0.044715 * x**3`.",
        ("x**3", "x * 3"),
    ),
    Mistake(
        "In Python `^` is no power. Write `x**3`.",
        ("x**3", "x^3"),
    ),
    Mistake(
        "This is SiLU, x · σ(x). Write the form with tanh.",
        ("0.5 * x * (1 + torch.tanh(inner))", "x * torch.sigmoid(x)"),
    ),
    Mistake(
        "π is missing: the root is of 2/π.",
        ("2 / math.pi", "2"),
    ),
)


def right(x):
    return F.gelu(x.as_subclass(torch.Tensor), approximate="tanh")


def cases():
    generator = torch.Generator().manual_seed(7)
    return [
        Case("the five numbers of the chapter", (torch.tensor([2.4, 1.0, 0.0, -0.5, -2.0]),)),
        Case("random numbers, (B, T, F)", (2 * torch.randn(2, 3, 5, generator=generator),)),
        Case("very large and very small numbers", (torch.tensor([[-30.0, -1e-4, 1e-4, 30.0]]),)),
        Case("without `F.gelu`", refusing("gelu", torch.tensor([1.0, -1.0]))),
    ]
