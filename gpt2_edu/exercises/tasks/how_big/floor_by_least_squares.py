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
        "Both powers are in one column, as if A and B were equal. Each unknown has a column.",
        ("n**-alpha, d**-beta", "n**-alpha + d**-beta"),
    ),
    Mistake(
        "The term of the size is left out, so that E has to make up for it.",
        (", n**-alpha", ""),
    ),
    Mistake(
        "Those are all three unknowns. E is the first: `solution[0, 0]`.",
        ("solution[0, 0]", "solution"),
    ),
    Mistake(
        "Those are all three unknowns. E is the first.",
        ("solution[0, 0]", "solution[:, 0]"),
    ),
    Mistake(
        "The solution is (3, 1), so `[0]` leaves (1,). Take `solution[0, 0]`.",
        ("solution[0, 0]", "solution[0]"),
    ),
    Mistake(
        "Logarithms of the losses are fitted, and the result is raised again. A sum does not become a sum by taking logarithms.",
        ("losses.unsqueeze(1)", "losses.log().unsqueeze(1)"),
        ("solution[0, 0]", "solution[0, 0].exp()"),
    ),
    Mistake(
        "The columns are logarithms. The law is linear in the powers N^−α and D^−β.",
        ("n**-alpha, d**-beta", "n.log(), d.log()"),
    ),
    Mistake(
        "Everything is a logarithm here. The logarithm of a sum is not the sum of logarithms: use the powers, and the losses as they are.",
        ("n**-alpha, d**-beta", "-alpha * n.log(), -beta * d.log()"),
        ("losses.unsqueeze(1)", "losses.log().unsqueeze(1)"),
    ),
    Mistake(
        "The table has a row for each unknown. It needs a row for each run: `dim=1`.",
        (", dim=1)", ")"),
    ),
    Mistake(
        "float32 has seven digits, too few where columns are nearly alike. Stay in float64.",
        ("lstsq(table, losses", "lstsq(table.float(), losses.float()"),
    ),
    Mistake(
        "That is the least loss of all runs. The floor is below it.",
        ("torch.linalg.lstsq(table, losses.unsqueeze(1)).solution[0, 0]", "losses.min()"),
    ),
    Mistake(
        "That is the mean of the losses. The floor is below all of them.",
        ("torch.linalg.lstsq(table, losses.unsqueeze(1)).solution[0, 0]", "losses.mean()"),
    ),
    Mistake(
        "The column of E is 0, so it has no effect. It is 1 in every run.",
        ("torch.ones_like(n)", "torch.zeros_like(n)"),
    ),
    Mistake(
        "The arguments of `lstsq` have changed places. The table comes first.",
        ("lstsq(table, losses.unsqueeze(1))", "lstsq(losses.unsqueeze(1), table)"),
    ),
    Mistake(
        "The two powers are multiplied in one column. Each has its own.",
        ("n**-alpha, d**-beta", "n**-alpha * d**-beta"),
    ),
    Mistake(
        "The exponents are −1/α and −1/β here. They are −α and −β.",
        ("n**-alpha, d**-beta", "n ** (-1 / alpha), d ** (-1 / beta)"),
    ),
    Mistake(
        "n and d are multiplied by the exponents. `**` is the power.",
        ("n**-alpha, d**-beta", "n * -alpha, d * -beta"),
    ),
    Mistake(
        "A and B are taken for 1, and E for the mean of what is left. All three are unknown.",
        (
            "torch.linalg.lstsq(table, losses.unsqueeze(1)).solution[0, 0]",
            "(losses - n**-alpha - d**-beta).mean()",
        ),
    ),
    Mistake(
        "Only three runs are used. Least squares takes all of them.",
        (
            "torch.linalg.lstsq(table, losses.unsqueeze(1)).solution[0, 0]",
            "torch.linalg.solve(table[:3], losses[:3])[0]",
        ),
    ),
    Mistake(
        "Every row is divided by its loss, so relative differences are squared. The differences themselves are asked for.",
        (
            "lstsq(table, losses.unsqueeze(1))",
            "lstsq(table / losses.unsqueeze(1), torch.ones_like(table[:, :1]))",
        ),
    ),
    Mistake(
        "Those are residuals. E is the first entry of `solution`.",
        ("solution[0, 0]", "residuals"),
    ),
    Mistake(
        "The power of n is positive, as if larger models had a larger loss.",
        ("n**-alpha", "n**alpha"),
    ),
    Mistake(
        "The power of d is positive, as if more tokens made the loss larger.",
        ("d**-beta", "d**beta"),
    ),
    Mistake(
        "Both powers have the exponent α. β belongs to the tokens.",
        ("d**-beta", "d**-alpha"),
    ),
    Mistake(
        "Both powers have the exponent β. α belongs to the size.",
        ("n**-alpha", "n**-beta"),
    ),
    Mistake(
        "The sign is turned.",
        ("return torch", "return -torch"),
    ),
    Mistake(
        "`view` and `reshape` mix the columns. Stack them along axis 1.",
        (", dim=1)", ").view(-1, 3)"),
    ),
    Mistake(
        "E is taken from one run, which has its own noise. It is the first entry of `solution`.",
        (
            "return torch.linalg.lstsq(table, losses.unsqueeze(1)).solution[0, 0]",
            "found = torch.linalg.lstsq(table, losses.unsqueeze(1)).solution[:, 0]\n"
            "    return losses[-1] - table[-1, 1:] @ found[1:]",
        ),
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


def properties(result, n, d, losses, alpha, beta):
    if float(result) >= losses.min():
        return "The floor is below all losses. Yours is not."
    table = torch.stack([n**-alpha, d**-beta], dim=1)

    def squares(E):  # with the best A and B
        left = (losses - E).unsqueeze(1)
        return (table @ torch.linalg.lstsq(table, left).solution - left).square().sum().item()

    best = squares(right(n, d, losses, alpha, beta))
    return f"With this E the least sum of squares is {squares(float(result)):.3g}, with the best {best:.3g}."


TOLERANCE = 1e-4


def cases():
    return [
        Case("nine runs without noise", (*runs(0.0, 0), 0.4, 0.5)),
        Case("nine runs with noise", (*runs(0.05, 1), 0.4, 0.5)),
        Case("the same, with other exponents", (*runs(0.05, 1), 0.3, 0.7)),
    ]
