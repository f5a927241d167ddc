"""How sure a fit is."""

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
A *bootstrap* asks how much a result depends on which runs one happens to have. It draws as many runs as there are, with replacement, computes the result of these, and does so many times.

Write `bootstrap_interval(losses, statistic, drawn)`. `losses` (n,) belong to n runs, each row of `drawn` (draws, n) has the indices of one drawing, and `statistic` is a function from losses (n,) to a number. Return the 2.5 % and the 97.5 % quantile of the results, as a tensor (2,).
"""

HINTS = (
    "`losses[row]` are the losses of one drawing.",
    "Collect `statistic(losses[row])` over the rows, in a tensor.",
    "`torch.quantile(results, torch.tensor([0.025, 0.975]))` interpolates between the sorted results.",
)

START = '''
def bootstrap_interval(losses, statistic, drawn):
    """losses (n,), drawn (draws, n) of indices. Returns (2,)."""
    ...
'''

SOLUTION = """
def bootstrap_interval(losses, statistic, drawn):
    results = torch.stack([torch.as_tensor(statistic(losses[row])) for row in drawn])
    return torch.quantile(results, torch.tensor([0.025, 0.975]))
"""

MISTAKES = (
    Mistake(
        "The same losses are used every time, so that all results are equal. Take those of the row.",
        ("statistic(losses[row])", "statistic(losses)"),
    ),
    Mistake(
        "That is an interval of 90 %. To leave out 5 % in all, leave out 2.5 % at each end.",
        ("[0.025, 0.975]", "[0.05, 0.95]"),
    ),
    Mistake(
        "These are the least and the largest result. They grow apart the more often you draw.",
        ("[0.025, 0.975]", "[0.0, 1.0]"),
    ),
    Mistake(
        "The ends have changed places.",
        ("[0.025, 0.975]", "[0.975, 0.025]"),
    ),
    Mistake(
        "These are quantiles of the losses. The uncertainty of the *result* is asked for.",
        ("torch.quantile(results, ", "torch.quantile(losses, "),
    ),
    Mistake(
        "Each run counts once, however often it was drawn. A run that is drawn twice counts twice.",
        ("losses[row]", "losses[row.unique()]"),
    ),
    Mistake(
        "The result of all runs is subtracted. The interval is to be around the result, not around 0.",
        (
            "return torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "return torch.quantile(results, torch.tensor([0.025, 0.975])) - statistic(losses)",
        ),
    ),
)


def right(losses, statistic, drawn):
    results = sorted(float(statistic(losses[row])) for row in drawn)
    found = []
    for share in (0.025, 0.975):
        at = share * (len(results) - 1)
        low = min(int(at), len(results) - 2)
        found.append(results[low] + (at - low) * (results[low + 1] - results[low]))
    return torch.tensor(found)


def spread(losses):
    return losses.max() - losses.mean()


def cases():
    generator = torch.Generator().manual_seed(241)
    losses = 0.44 + torch.rand(9, generator=generator)
    drawn = torch.randint(9, (60, 9), generator=generator)
    return [
        Case("the mean of nine losses, 60 drawings", (losses, torch.mean, drawn)),
        Case("another statistic", (losses, spread, drawn)),
    ]
