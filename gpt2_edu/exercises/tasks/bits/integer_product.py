"""A product without the floats."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
A layer stores its weight as whole numbers `q`, int8 of shape (out, in), and one scale for each row, `scale` (out, 1). Compute its output for `x` (T, in) and `bias` (out,) **without** making the rounded weight `q * scale` first.

All entries of a row share one scale, so it can be taken out of the sum and applied to the output:

$$
y_{to} = s_o \sum_i x_{ti}\, q_{oi} + b_o
$$
"""

HINTS = (
    "int8 and float32 cannot be multiplied as matrices: `q.to(x.dtype)` first.",
    "The product `x @ q.T` has shape (T, out). Which shape must the scales have to multiply its columns?",
    "The bias is added last, and is not scaled.",
)

START = '''
def integer_product(x, q, scale, bias):
    """x (T, in), q (out, in) int8, scale (out, 1), bias (out,). Returns (T, out)."""
    ...
'''

SOLUTION = """
def integer_product(x, q, scale, bias):
    sums = x @ q.to(x.dtype).T  # (T, out)
    return sums * scale.T + bias  # scale (1, out): one for each column
"""

MISTAKES = (
    Mistake(
        "The scales are applied to the rows of the result, which are tokens. They belong to the outputs, its columns: transpose them.",
        ("scale.T", "scale"),
    ),
    Mistake(
        "The bias is multiplied by the scale as well. Only the sum of products is scaled.",
        ("sums * scale.T + bias", "(sums + bias) * scale.T"),
    ),
    Mistake(
        "The scale is missing, so the result is that of the whole numbers.",
        ("sums * scale.T", "sums"),
    ),
    Mistake(
        "The bias is missing.",
        (" + bias", ""),
    ),
    Mistake(
        "You divide by the scale. The whole number times the scale is the weight.",
        ("sums * scale.T", "sums / scale.T"),
    ),
    Mistake(
        "x is converted to whole numbers, which cuts its fractions off. Convert `q` instead.",
        ("x @ q.to(x.dtype).T", "(x.to(torch.int8).float() @ q.float().T)"),
    ),
    Mistake(
        "`q` has a row for each output, so it must be transposed.",
        ("q.to(x.dtype).T", "q.to(x.dtype)"),
    ),
    Mistake(
        "int8 and float32 cannot be multiplied as matrices. Convert first: `q.to(x.dtype)`.",
        ("q.to(x.dtype).T", "q.T"),
    ),
    Mistake(
        "The mean of the scales is used for all outputs. Each output has its own.",
        ("scale.T", "scale.mean()"),
    ),
    Mistake(
        "One scale, the largest, is used for all outputs. Each output has its own.",
        ("scale.T", "scale.max()"),
    ),
    Mistake(
        "The bias is subtracted.",
        ("+ bias", "- bias"),
    ),
    Mistake(
        "The sums are multiplied by the bias. Add it.",
        ("+ bias", "* bias"),
    ),
    Mistake(
        "One scale, the first, is used for all outputs. Each output has its own.",
        ("scale.T", "scale[0]"),
    ),
    Mistake(
        "The scale is applied twice.",
        ("sums * scale.T", "sums * scale.T**2"),
    ),
    Mistake(
        "The result is rounded. Only the weights are whole numbers.",
        ("return sums * scale.T + bias", "return (sums * scale.T + bias).round()"),
    ),
    Mistake(
        "x is rounded. Only the weights are whole numbers.",
        ("x @ q", "x.round() @ q"),
    ),
    Mistake(
        "The scale is added. Multiply by it.",
        ("sums * scale.T", "sums + scale.T"),
    ),
    Mistake(
        "The scales are added up. Each output has its own.",
        ("scale.T", "scale.sum()"),
    ),
    Mistake(
        "`sums @ scale` adds the outputs up. Multiply entry by entry: `sums * scale.T`.",
        ("sums * scale.T", "sums @ scale"),
    ),
    Mistake(
        "The scale is divided by 127 once more. It is the distance of two neighbouring whole numbers already.",
        ("sums * scale.T", "sums * scale.T / 127"),
    ),
    Mistake(
        "x is multiplied with q entry by entry. The output is a matrix product: `x @ q.T`.",
        ("x @ q.to(x.dtype).T", "x * q.to(x.dtype)"),
    ),
    Mistake(
        "Only the bias is changed by the scale, and the sums are not. The sums are multiplied by it.",
        ("sums * scale.T + bias", "sums + bias / scale.T"),
    ),
)


def right(x, q, scale, bias):
    return torch.nn.functional.linear(x, q.to(x.dtype) * scale, bias)


TOLERANCE = 1e-4


def cases():
    generator = torch.Generator().manual_seed(72)

    def case(label, T, inputs, outputs):
        q = torch.randint(-127, 128, (outputs, inputs), generator=generator).to(torch.int8)
        scale = 0.01 + 0.05 * torch.rand(outputs, 1, generator=generator)
        x, bias = (torch.randn(*shape, generator=generator) for shape in ((T, inputs), (outputs,)))
        return Case(label, (x, q, scale, bias))

    tiny = (torch.tensor([[1.5, 2.0]]), torch.tensor([[3, -1]], dtype=torch.int8))
    return [
        Case("one token, one output", (*tiny, torch.tensor([[0.5]]), torch.tensor([10.0]))),
        case("T = 2, three inputs, five outputs", 2, 3, 5),
        case("as many tokens as outputs", 4, 3, 4),
        case("as many inputs as outputs", 2, 3, 3),
    ]
