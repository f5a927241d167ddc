"""The floor, if the exponents are known."""

import torch

from ...exercise import Case, Mistake

ORDER = 90
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
If α and β are known, $L = E + A\,N^{-\alpha} + B\,D^{-\beta}$ is *linear* in E, A and B, and the best three are found in one step. Write `floor_by_least_squares(n, d, losses, alpha, beta)`, which returns the E with the least sum of squared differences between L and the losses. (Try many α and β with it, and you need no L-BFGS.)
"""

HINTS = (
    "One row for each run: (1, N^−α, D^−β). The unknowns are (E, A, B).",
    "`torch.linalg.lstsq(table, losses.unsqueeze(1)).solution` solves it. In float64 it is safer.",
    "E is the first of the three.",
)

START = '''
def floor_by_least_squares(n, d, losses, alpha, beta):
    """Three tensors (R,) in float64, two numbers. Returns a scalar tensor."""
    ...
'''

SOLUTION = """
def floor_by_least_squares(n, d, losses, alpha, beta):
    table = torch.stack([torch.ones_like(n), n**-alpha, d**-beta], dim=1)
    return torch.linalg.lstsq(table, losses.unsqueeze(1)).solution[0, 0]
"""

MISTAKES = (
    Mistake(
        "There is no column for E. The floor is a constant, so its column is 1 in every run.",
        ("torch.ones_like(n), n**-alpha", "n**-alpha"),
    ),
    Mistake(
        "That is A, the second of the three unknowns.",
        ("solution[0, 0]", "solution[1, 0]"),
    ),
    Mistake(
        "That is B, the last of the three unknowns.",
        ("solution[0, 0]", "solution[2, 0]"),
    ),
    Mistake(
        "The powers are positive, as if more tokens made the loss larger.",
        ("n**-alpha, d**-beta", "n**alpha, d**beta"),
    ),
    Mistake(
        "The exponents have changed places: α belongs to the size.",
        ("n**-alpha, d**-beta", "n**-beta, d**-alpha"),
    ),
    Mistake(
        "Logarithms of the losses are fitted. A sum does not become a sum by taking logarithms.",
        ("losses.unsqueeze(1)", "losses.log().unsqueeze(1)"),
    ),
    Mistake(
        "The term of the tokens is left out, so that E has to make up for it.",
        (", d**-beta", ""),
    ),
    Mistake(
        "The term of the size is left out, so that E has to make up for it.",
        (", n**-alpha", ""),
    ),
)


def right(n, d, losses, alpha, beta):
    """By the normal equations, around the means."""
    x = torch.stack([n**-alpha, d**-beta], dim=1)
    around = x - x.mean(dim=0)
    slopes = torch.linalg.solve(around.T @ around, around.T @ (losses - losses.mean()))
    return losses.mean() - x.mean(dim=0) @ slopes


def runs(noise, seed):
    generator = torch.Generator().manual_seed(seed)
    n = torch.tensor([1e3, 1e4, 1e5]).double().repeat_interleave(3)
    d = torch.tensor([1e5, 1e6, 1e7]).double().repeat(3)
    losses = 0.44 + 8 / n**0.4 + 200 / d**0.5
    return n, d, losses + noise * torch.randn(9, generator=generator).double()


TOLERANCE = 1e-4


def cases():
    return [
        Case("nine runs without noise", (*runs(0.0, 0), 0.4, 0.5)),
        Case("nine runs with noise", (*runs(0.05, 1), 0.4, 0.5)),
        Case("the same, with other exponents", (*runs(0.05, 1), 0.3, 0.7)),
    ]
