"""Fold γ and β away."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
A LayerNorm comes before `c_fc`. Its γ and β and the linear layer after it can be merged into one linear layer, as some tools do before they look into a model. The norm then has no parameters left, and the output stays the same.

With the normalised vector $\hat x$, the two steps are

$$W\,(\gamma \odot \hat x + \beta) + b$$

Find the matrix $W'$ and the bias $b'$ for which this is $W' \hat x + b'$, whatever $\hat x$ is. `gamma` and `beta` are (C,), `weight` is (F, C), stored as (out, in), and `bias` is (F,). Return the pair $W'$ (F, C), $b'$ (F,).

By hand, with C = 2, F = 1: γ = (2, 3), β = (1, 0), W = (10, 20), b = 5. A vector (1, 0) becomes (2, 0), then (3, 0), then 30 + 5 = 35. The folded layer has W' = (20, 60) and b' = 15, and gives 20 + 15 = 35 as well.
"""

HINTS = (
    "Multiply out: one part has $\\hat x$ in it, the rest does not.",
    "γ scales each *input* of the linear layer. The inputs are the columns of the stored matrix.",
    "$W' = W$ with column c times $\\gamma_c$; $b' = W\\beta + b$.",
)

START = '''
def fold_norm(gamma, beta, weight, bias):
    """gamma, beta (C,); weight (F, C); bias (F,). Returns (F, C) and (F,)."""
    ...
'''

SOLUTION = """
def fold_norm(gamma, beta, weight, bias):
    folded = weight * gamma  # broadcasts over the rows: column c times γ_c
    return folded, weight @ beta + bias  # β meets the old matrix, not γ
"""

MISTAKES = (
    Mistake(
        "γ multiplies the rows here, which are the outputs. It belongs to the inputs, the columns.",
        ("weight * gamma", "weight * gamma[:, None]"),
    ),
    Mistake(
        "β is lost. It goes through the matrix, so the new bias is W β + b.",
        ("weight @ beta + bias", "bias"),
    ),
    Mistake(
        "β has to go through the matrix before it is added to the bias.",
        ("weight @ beta + bias", "bias + beta"),
    ),
    Mistake(
        "Here β is multiplied by γ on its way. In LayerNorm β is added after γ, so it is multiplied "
        "by the old matrix only.",
        ("weight @ beta", "folded @ beta"),
    ),
    Mistake(
        "The old bias is gone; b must still be added.",
        (" + bias", ""),
    ),
    Mistake(
        "Both are right but in the wrong order: first the matrix, then the bias.",
        ("folded, weight @ beta + bias", "weight @ beta + bias, folded"),
    ),
    Mistake(
        "The matrix is transposed, (C, F). Leave it as it is stored, (F, C), that is, (out, in).",
        ("folded, weight", "folded.T, weight"),
    ),
    Mistake(
        "`weight @ gamma` adds up each row, and the matrix is gone. Multiply γ into the columns entry by entry, with `*`.",
        ("weight * gamma", "weight @ gamma"),
    ),
    Mistake(
        "You scale the rows. γ acts on the inputs, and their axis is that of the columns: `weight * gamma`.",
        ("weight * gamma", "torch.diag(gamma) @ weight"),
    ),
    Mistake(
        "You divide by γ. The norm multiplies by it, so the matrix does too: `weight * gamma`.",
        ("weight * gamma", "weight / gamma"),
    ),
)


def right(gamma, beta, weight, bias):
    # By what norm and layer do with a vector of zeros, and with each axis.
    def both(normalised):
        return F.linear(gamma * normalised + beta, weight, bias)

    C = gamma.numel()
    start = both(torch.zeros(C))
    return (both(torch.eye(C)) - start).T, start


def cases():
    generator = torch.Generator().manual_seed(9)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    hand = (
        torch.tensor([2.0, 3.0]),
        torch.tensor([1.0, 0.0]),
        torch.tensor([[10.0, 20.0]]),
        torch.tensor([5.0]),
    )
    start = (torch.ones(5), torch.zeros(5), draw(8, 5), draw(8))
    return [
        Case("the pencil case", hand),
        Case("C = F = 3", (draw(3), draw(3), draw(3, 3), draw(3))),
        Case("C = 3, F = 12", (draw(3), draw(3), draw(12, 3), draw(12))),
        Case("γ = 1 and β = 0, as at the start", start),
    ]
