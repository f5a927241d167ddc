"""Compare what costs the same."""

import torch

from ...exercise import Case, Mistake

ORDER = 50
KIND = "repair"
LEVEL = 1
RANK = "good"
MINUTES = 8

TASK = r"""
Which size is best for a budget? The function below gets runs, each with its number of parameters, its FLOPs and its loss, and should return the size of the best run among those that cost the same as `budget`, up to a tenth more or less. It always answers with a large model. Find the bug and fix it.
"""

HINTS = (
    "A large model has the lowest loss if it may cost more. Which runs does the function compare?",
    "`affordable` is computed, but is it used?",
    "`losses.masked_fill(~affordable, torch.inf)` leaves out what is not to be compared.",
)

START = '''
def best_at_budget(sizes, flops, losses, budget):
    """Three tensors (n,) and a number. Returns one of the sizes, a scalar tensor."""
    raise NotImplementedError(
        "find the bug, fix it, delete this line"
    )
    affordable = (flops - budget).abs() <= 0.1 * budget
    best = losses.argmin()
    return sizes[best]
'''

SOLUTION = """
def best_at_budget(sizes, flops, losses, budget):
    affordable = (flops - budget).abs() <= 0.1 * budget
    best = losses.masked_fill(~affordable, torch.inf).argmin()
    return sizes[best]
"""

MISTAKES = (
    Mistake(
        "The bug is still there: all runs are compared, and the most expensive ones win.",
        (".masked_fill(~affordable, torch.inf)", ""),
    ),
    Mistake(
        "The runs that fit the budget are the ones left out.",
        ("~affordable", "affordable"),
    ),
    Mistake(
        "The worst run is taken. The best has the least loss.",
        ("torch.inf).argmin()", "-torch.inf).argmax()"),
    ),
    Mistake(
        "The losses were made shorter, so that `argmin` counts places among the runs that are left. Make `sizes` shorter in the same way.",
        ("losses.masked_fill(~affordable, torch.inf).argmin()", "losses[affordable].argmin()"),
    ),
    Mistake(
        "A run that is left out gets the loss 0, and 0 is the least. Give it an infinite loss.",
        ("torch.inf", "0"),
    ),
    Mistake(
        "Runs that are much cheaper count, too. A small loss for little money does not say what is best for the whole budget.",
        ("(flops - budget).abs()", "(flops - budget)"),
    ),
    Mistake(
        "The loss is returned. The size of that run is asked for.",
        ("sizes[best]", "losses[best]"),
    ),
)


def right(sizes, flops, losses, budget):
    fits = [i for i, cost in enumerate(flops.tolist()) if 0.9 * budget <= cost <= 1.1 * budget]
    return sizes[min(fits, key=lambda i: losses[i].item())]


def cases():
    sizes = torch.tensor([7e3, 2e3, 1e5, 1e4, 3e4, 1e5, 1e4, 3e4])
    flops = torch.tensor([0.3e12, 0.5e12, 3.9e12, 1e12, 1.02e12, 0.97e12, 4e12, 4.1e12])
    losses = torch.tensor([0.95, 0.78, 0.65, 0.9, 0.8, 1.1, 0.85, 0.7])
    return [
        Case("a budget of 1e12", (sizes, flops, losses, 1e12)),
        Case("a budget of 4e12", (sizes, flops, losses, 4e12)),
    ]
