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
        "The loss is spread evenly over the others, whatever they read. How much each can make up for depends on the inputs.",
        (
            "torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)",
            "(w[0] - rounded) / (len(w) - 1)",
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
        "The weights that were given are changed. Return new ones.",
        (
            "return torch.cat([torch.tensor([rounded]), w[1:] + delta])",
            "w.copy_(torch.cat([torch.tensor([rounded]), w[1:] + delta]))\n    return w",
        ),
    ),
    Mistake(
        "`solution` is a matrix with one column, and `cat` needs vectors: `.squeeze(1)`.",
        (".squeeze(1)", ""),
    ),
    Mistake(
        "The first input is cut off along the wrong axis. The inputs are columns: `x[:, 1:]`, `x[:, :1]`.",
        ("x[:, :1]", "x[:1].T"),
        ("x[:, 1:]", "x[1:].T"),
    ),
    Mistake(
        "The outputs are added up before they are compared. Each row of x is an equation: `lstsq`.",
        (
            "torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)",
            "lost.sum() / x[:, 1:].sum(dim=0)",
        ),
    ),
    Mistake(
        "Each of the others takes over all that was lost, so together they make up for it several times.",
        (
            "torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)",
            "w[0] - rounded",
        ),
    ),
    Mistake(
        "The first input is left out of what the outputs lack. It is (w₀ − rounded) · x₀.",
        (" * x[:, :1]", " * torch.ones_like(x[:, :1])"),
    ),
    Mistake(
        "The others make up for the rounded weight. They make up for what rounding took: `w[0] - rounded`.",
        ("(w[0] - rounded)", "rounded"),
    ),
    Mistake(
        "The others are to reproduce the first input with the weight 1. It lacks the weight `w[0] - rounded`.",
        ("(w[0] - rounded) * ", ""),
    ),
    Mistake(
        "The arguments of `lstsq` have changed places: the inputs of the others come first.",
        (
            "torch.linalg.lstsq(x[:, 1:], lost).solution.squeeze(1)",
            "torch.linalg.lstsq(lost, x[:, 1:]).solution.squeeze(0)",
        ),
    ),
    Mistake(
        "The rounded weight is the last. It is the first.",
        ("[torch.tensor([rounded]), w[1:] + delta]", "[w[1:] + delta, torch.tensor([rounded])]"),
    ),
    Mistake(
        "`cat` joins tensors, and `rounded` is a number: `torch.tensor([rounded])`.",
        ("torch.tensor([rounded])", "rounded"),
    ),
    Mistake(
        "The weights are multiplied by 1 + δ. Add δ.",
        ("w[1:] + delta", "w[1:] * (1 + delta)"),
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
