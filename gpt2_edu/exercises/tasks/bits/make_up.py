"""Let the other weights make up for it."""

import torch

from ...exercise import Case, Mistake

ORDER = 80
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 20

TASK = r"""
One output of a layer has the weights `w` (C,). Its first weight is rounded to `rounded`, a float, and the others are not rounded yet. Change the others so that, for the inputs `x` (n, C), the outputs `x @ w` stay as near as possible to those before, in the sum of squares. Return all C weights, the first of them `rounded`.

This is a step of the chapter's `gptq`, written as what it is: a problem of least squares. What the outputs lack is (w₀ − rounded) · x₀, where x₀ is the first column of `x`. The changes δ of the other weights are to give just that: find the δ for which `x[:, 1:] @ δ` is nearest to it.

For example, if the second column of `x` equals the first, the second weight takes over all that the first one lost: w = (0.4, 0.4) and `rounded` = 0 give (0, 0.8).
"""

HINTS = (
    "`torch.linalg.lstsq(a, b).solution` is the x for which `a @ x` is nearest to `b`. Both are matrices.",
    "`b` is (w[0] − rounded) · x[:, :1], of shape (n, 1).",
    "The new weights are `rounded`, followed by `w[1:] + delta.squeeze(1)`.",
)

START = '''
def make_up(w, rounded, x):
    """w (C,), rounded a float, x (n, C). Returns new weights (C,)."""
    ...
'''

SOLUTION = """
def make_up(w, rounded, x):
    lost = (w[0] - rounded) * x[:, :1]  # what the outputs lack: (n, 1)
    delta = torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)
    return torch.cat([torch.tensor([rounded]), w[1:] + delta])
"""

MISTAKES = (
    Mistake(
        "The others are moved the wrong way, so the error is doubled. They have to add what the first one lost, `w[0] - rounded`.",
        ("(w[0] - rounded)", "(rounded - w[0])"),
    ),
    Mistake(
        "The others are left as they were, so nothing makes up for the rounding.",
        ("w[1:] + delta", "w[1:]"),
    ),
    Mistake(
        "These are the changes of the others. Add them to the weights.",
        ("w[1:] + delta", "delta"),
    ),
    Mistake(
        "The first weight is not rounded in what you return.",
        ("torch.tensor([rounded])", "w[:1]"),
    ),
    Mistake(
        "The first weight takes part in making up for itself, so that nothing changes. Leave its column out: `x[:, 1:]`.",
        (
            "torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)",
            "torch.linalg.lstsq(x, lost).solution.squeeze(1)[1:]",
        ),
    ),
    Mistake(
        "The next weight takes over all that was lost. That is right only if its input always equals that of the first.",
        ("w[1:] + delta", "w[1:2] + w[0] - rounded, w[2:]"),
    ),
    Mistake(
        "The others are to reproduce the whole of the first weight. They only make up for what rounding took: `w[0] - rounded`.",
        ("(w[0] - rounded)", "w[0]"),
    ),
    Mistake(
        "The first weight is missing in the result.",
        ("torch.cat([torch.tensor([rounded]), w[1:] + delta])", "w[1:] + delta"),
    ),
    Mistake(
        "The whole problem is solved with all columns, so the first weight changes, too. Only the others may: `x[:, 1:]`.",
        code="""
def make_up(w, rounded, x):
    lost = (w[0] - rounded) * x[:, :1]
    return w + torch.linalg.lstsq(x, lost).solution.squeeze(1)
""",
    ),
    Mistake(
        "The outputs lack (w₀ − rounded) times the first column. Here that factor is missing.",
        ("(w[0] - rounded) * x[:, :1]", "x[:, :1]"),
    ),
    Mistake(
        "Only the rounded weight's share of the outputs is meant. The outputs lack (w₀ − rounded) · x₀.",
        ("(w[0] - rounded) * x[:, :1]", "rounded * x[:, :1]"),
    ),
    Mistake(
        "`rounded` is a weight. The outputs without it are `x @ w - rounded * x[:, 0]`.",
        code="""
def make_up(w, rounded, x):
    target = (x @ w - rounded).unsqueeze(1)
    others = torch.linalg.lstsq(x[:, 1:], target).solution.squeeze(1)
    return torch.cat([torch.tensor([rounded]), others])
""",
    ),
    Mistake(
        "Every other weight takes an equal part of what is lost. How much each can make up depends on the inputs: solve the least squares.",
        (
            "torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)",
            "(w[0] - rounded) / (len(w) - 1)",
        ),
    ),
    Mistake(
        "Every other weight takes an equal part of what is lost. How much each can make up depends on the inputs: solve the least squares.",
        ("torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)", "(w[0] - rounded) / len(w)"),
    ),
    Mistake(
        "The rounded weight comes last here. It is the first of all.",
        ("[torch.tensor([rounded]), w[1:] + delta]", "[w[1:] + delta, torch.tensor([rounded])]"),
    ),
    Mistake(
        "What the outputs lack is all of them here. Only the first weight changes, so they lack (w₀ − rounded) · x₀.",
        ("(w[0] - rounded) * x[:, :1]", "(x @ w).unsqueeze(1)"),
    ),
    Mistake(
        "The first weight is set to 0. It becomes `rounded`.",
        ("torch.tensor([rounded])", "torch.zeros(1)"),
    ),
    Mistake(
        "A correlation is not a solution: the inputs are related, so solve the least squares for all others at once.",
        (
            "torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)",
            "(x[:, 1:].T @ lost).squeeze(1)",
        ),
    ),
    Mistake(
        "The last column is made up for, not the first.",
        ("x[:, :1]", "x[:, -1:]"),
        ("lstsq(x[:, 1:]", "lstsq(x[:, :-1]"),
    ),
    Mistake(
        "The first weight is what rounding took, `w[0] - rounded`. It becomes `rounded`.",
        ("torch.tensor([rounded])", "w[:1] - rounded"),
    ),
)


def right(w, rounded, x):
    """By the normal equations in double precision."""
    x, w = x.double(), w.double()
    others, first = x[:, 1:], x[:, 0]
    delta = torch.linalg.solve(others.T @ others, others.T @ first) * (w[0] - rounded)
    return torch.cat([torch.tensor([rounded]).double(), w[1:] + delta]).float()


TOLERANCE = 1e-3


def cases():
    generator = torch.Generator().manual_seed(76)
    same = torch.tensor([[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]])
    x = torch.randn(40, 5, generator=generator) @ torch.randn(5, 5, generator=generator)
    w = torch.randn(5, generator=generator)
    return [
        Case("two inputs that are always equal", (torch.tensor([0.4, 0.4]), 0.0, same)),
        Case("five inputs, related", (w, round(w[0].item()) + 0.25, x)),
        Case(
            "three inputs, unrelated",
            (torch.tensor([0.7, -0.2, 0.5]), 0.5, torch.eye(3).repeat(2, 1) * 2),
        ),
    ]
