"""Move an outlier into the weights."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 70
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
A LayerNorm with γ and β, both (C,), is followed by a linear layer with `weight` (out, C). Column `column` of what the layer reads is far larger than the others. Divide it by `factor`, and change the weight so that the layer's output stays the same.

Return the three new tensors γ, β, weight in this order, and leave the given ones unchanged. (The bias of the layer is not concerned.)
"""

HINTS = (
    "What the layer reads is γ · x̂ + β. To divide one entry of it, which two numbers must be divided?",
    "Output o is the sum of weight[o, c] · read[c] over c. If read[column] is divided by `factor`, what makes up for it?",
    "Clone the three tensors first, then change one entry of γ, one of β, and one column of the weight.",
)

START = '''
def move_outlier(gamma, beta, weight, column, factor):
    """gamma, beta (C,), weight (out, C). Returns the three, changed."""
    ...
'''

SOLUTION = """
def move_outlier(gamma, beta, weight, column, factor):
    gamma, beta, weight = gamma.clone(), beta.clone(), weight.clone()
    gamma[column] /= factor
    beta[column] /= factor
    weight[:, column] *= factor  # all outputs read this column
    return gamma, beta, weight
"""

MISTAKES = (
    Mistake(
        "β is left as it was, so the shift of this column is now `factor` times too large for the output. Divide it as well.",
        ("    beta[column] /= factor\n", ""),
    ),
    Mistake(
        "γ is left as it was. Divide it as well as β.",
        ("    gamma[column] /= factor\n", ""),
    ),
    Mistake(
        "A row of the weight is one output. What reads the column of the norm is the *column* of the weight.",
        ("weight[:, column]", "weight[column]"),
    ),
    Mistake(
        "The weight is divided, too, so the column counts less than before by the square of `factor`. Multiply it.",
        ("weight[:, column] *= factor", "weight[:, column] /= factor"),
    ),
    Mistake(
        "The outlier has become larger still: γ and β are multiplied, and the weight is divided. It is the other way round.",
        ("gamma[column] /= factor", "gamma[column] *= factor"),
        ("beta[column] /= factor", "beta[column] *= factor"),
        ("weight[:, column] *= factor", "weight[:, column] /= factor"),
    ),
    Mistake(
        "All columns are changed. That keeps the output, but then the outlier is as much larger than the others as before.",
        ("gamma[column] /= factor", "gamma /= factor"),
        ("beta[column] /= factor", "beta /= factor"),
        ("weight[:, column] *= factor", "weight *= factor"),
    ),
    Mistake(
        "The given tensors are changed. Clone them first.",
        ("gamma, beta, weight = gamma.clone(), beta.clone(), weight.clone()", "pass"),
    ),
    Mistake(
        "The weight does not make up for it. Multiply its column by `factor`.",
        ("    weight[:, column] *= factor  # all outputs read this column\n", ""),
    ),
    Mistake(
        "Nothing has been moved: these are copies of what was given.",
        ("    gamma[column] /= factor\n", ""),
        ("    beta[column] /= factor\n", ""),
        ("    weight[:, column] *= factor  # all outputs read this column\n", ""),
    ),
    Mistake(
        "Another column is meant: they are counted from 0.",
        ("    gamma[column]", "    column = column - 1\n    gamma[column]"),
    ),
    Mistake(
        "The order of the three is γ, β, weight.",
        ("return gamma, beta, weight", "return weight, gamma, beta"),
    ),
    Mistake(
        "γ is multiplied. Divide it, as β.",
        ("gamma[column] /=", "gamma[column] *="),
    ),
    Mistake(
        "β is multiplied. Divide it, as γ.",
        ("beta[column] /=", "beta[column] *="),
    ),
    Mistake(
        "All of γ is divided. Only one column is too large.",
        ("gamma[column] /= factor", "gamma /= factor"),
    ),
    Mistake(
        "All of β is divided. Only one column is too large.",
        ("beta[column] /= factor", "beta /= factor"),
    ),
    Mistake(
        "The whole weight is multiplied. Only one column makes up for what was divided.",
        ("weight[:, column] *= factor", "weight *= factor"),
    ),
    Mistake(
        "γ and β have changed places.",
        ("return gamma, beta", "return beta, gamma"),
    ),
    Mistake(
        "The weight's column is multiplied by the square of the factor.",
        ("*= factor", "*= factor**2"),
    ),
    Mistake(
        "The entry of γ is replaced by the factor. Divide it.",
        ("gamma[column] /= factor", "gamma[column] = factor"),
    ),
    Mistake(
        "The column of the weight is replaced by the factor. Multiply it.",
        ("*= factor", "= factor"),
    ),
    Mistake(
        "Only the first output is changed. All rows of the weight read this column.",
        ("weight[:, column]", "weight[0, column]"),
    ),
    Mistake(
        "The factor is added and subtracted. Multiply and divide.",
        ("gamma[column] /=", "gamma[column] -="),
        ("beta[column] /=", "beta[column] -="),
        ("*= factor", "+= factor"),
    ),
    Mistake(
        "γ and β are set to the factor. Divide them by it: `gamma[column] /= factor`.",
        ("gamma[column] /= factor", "gamma[column] = factor"),
        ("beta[column] /= factor", "beta[column] = factor"),
    ),
    Mistake(
        "`[:column]` is all columns *before* this one. The one is `[column]`.",
        ("gamma[column] /=", "gamma[:column] /="),
        ("beta[column] /=", "beta[:column] /="),
        ("weight[:, column]", "weight[:, :column]"),
    ),
    Mistake(
        "β is not divided but reduced. What the layer reads is γ · x + β, so both are divided.",
        ("beta[column] /= factor", "beta[column] -= factor"),
    ),
    Mistake(
        "γ is replaced, so the column loses its own scale. Divide it: `gamma[column] /= factor`.",
        ("gamma[column] /= factor", "gamma[column] = 1 / factor"),
    ),
    Mistake(
        "The neighbouring column of the weight is changed. Use the same `column` in all three.",
        ("weight[:, column]", "weight[:, column - 1]"),
    ),
    Mistake(
        "Only the last output reads the column again as before. All outputs do: `weight[:, column]`.",
        ("weight[:, column]", "weight[-1, column]"),
    ),
    Mistake(
        "Whole numbers only are left: `//` rounds down. Divide with `/`.",
        ("gamma[column] /= factor", "gamma[column] //= factor"),
    ),
    Mistake(
        "β is set to 0, so the column loses a constant. It is divided, like γ.",
        ("beta[column] /= factor", "beta[column] = 0"),
    ),
    Mistake(
        "`[:, column:]` is this column and all after it. The one is `[:, column]`.",
        ("weight[:, column]", "weight[:, column:]"),
    ),
)


def right(gamma, beta, weight, column, factor):
    divisors = F.one_hot(torch.tensor(column), len(gamma)) * (factor - 1.0) + 1
    return gamma / divisors, beta / divisors, weight * divisors


def cases():
    generator = torch.Generator().manual_seed(75)

    def case(label, C, outputs, column, factor):
        gamma, beta = torch.randn(2, C, generator=generator)
        weight = torch.randn(outputs, C, generator=generator)
        return Case(label, (gamma, beta, weight, column, factor))

    return [
        case("C = 2, one output", 2, 1, 0, 10.0),
        case("C = 7, five outputs", 7, 5, 3, 100.0),
        case("as many outputs as columns", 4, 4, 2, 8.0),
    ]
