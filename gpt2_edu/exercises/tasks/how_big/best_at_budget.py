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
        "The bug is still there: runs that cost more are compared as well, and the most expensive ones win.",
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
        "A run that is left out gets the least loss of all, such as 0 or −∞, and wins. Give it the loss +∞.",
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
    Mistake(
        "A run that is left out gets the loss 1, which is sometimes the least. Give it the loss +∞.",
        ("torch.inf", "1.0"),
    ),
    Mistake(
        "That is the place of the run. Its size is asked for: `sizes[best]`.",
        ("sizes[best]", "best"),
    ),
    Mistake(
        "That is a place among the runs that are left. The size of the run is asked for, from `sizes` made shorter in the same way.",
        ("losses.masked_fill(~affordable, torch.inf).argmin()", "losses[affordable].argmin()"),
        ("sizes[best]", "best"),
    ),
    Mistake(
        "The sizes were made shorter, and `argmin` counts among all runs. Make `losses` shorter in the same way.",
        (".masked_fill(~affordable, torch.inf)", ""),
        ("sizes[best]", "sizes[affordable][best]"),
    ),
    Mistake(
        "All runs are compared, and only then are the sizes of others set to 0. Leave their losses out of the comparison.",
        (".masked_fill(~affordable, torch.inf)", ""),
        ("sizes[best]", "sizes.masked_fill(~affordable, 0)[best]"),
    ),
    Mistake(
        "Runs that cost more than the budget are left out. Up to a tenth more is allowed, as before.",
        (
            "(flops - budget).abs() <= 0.1 * budget",
            "(flops <= budget) & (flops >= 0.9 * budget)",
        ),
    ),
    Mistake(
        "All runs that cost no more than the budget are compared. A cheaper one does not say what is best for the whole budget: keep the line with `affordable`.",
        ("(flops - budget).abs() <= 0.1 * budget", "flops <= budget"),
    ),
    Mistake(
        "Only runs that cost exactly the budget are compared. A tenth of it is allowed, `0.1 * budget`.",
        ("(flops - budget).abs() <= 0.1 * budget", "flops == budget"),
    ),
    Mistake(
        "Only a hundredth more or less is allowed. A tenth is 0.1.",
        ("0.1 * budget", "0.01 * budget"),
    ),
    Mistake(
        "That is the run whose cost is nearest to the budget. Compare the losses of all that are near enough.",
        ("losses.masked_fill(~affordable, torch.inf).argmin()", "(flops - budget).abs().argmin()"),
    ),
    Mistake(
        "That is the largest model among those that cost the same. Take the one with the least loss.",
        (
            "losses.masked_fill(~affordable, torch.inf).argmin()",
            "sizes.masked_fill(~affordable, 0).argmax()",
        ),
    ),
    Mistake(
        "That is the smallest model among those that cost the same. Take the one with the least loss.",
        ("losses.masked_fill", "sizes.masked_fill"),
    ),
    Mistake(
        "That is the cheapest of these runs. Take the one with the least loss.",
        ("losses.masked_fill", "flops.masked_fill"),
    ),
    Mistake(
        "The losses are multiplied by the cost. These runs count as equally expensive, so compare the losses only.",
        ("losses.masked_fill", "(losses * flops).masked_fill"),
    ),
    Mistake(
        "That is what the run cost. Its size is asked for.",
        ("sizes[best]", "flops[best]"),
    ),
    Mistake(
        "Those are the sizes of all runs that cost the same. Take the one with the least loss.",
        ("sizes[best]", "sizes[affordable]"),
    ),
    Mistake(
        "That is the mean size of these runs. Take the one with the least loss.",
        ("sizes[best]", "sizes[affordable].mean()"),
    ),
    Mistake(
        "The losses that were given are changed. `masked_fill` returns new ones.",
        ("masked_fill", "masked_fill_"),
    ),
    Mistake(
        "More than a tenth is allowed here. Keep `0.1 * budget`.",
        ("0.1 * budget", "0.5 * budget"),
    ),
    Mistake(
        "More than a tenth is allowed here. Keep `0.1 * budget`.",
        ("0.1 * budget", "budget"),
    ),
    Mistake(
        "That is the first of these runs. Take the one with the least loss.",
        ("sizes[best]", "sizes[affordable][0]"),
    ),
    Mistake(
        "That is the last of these runs. Take the one with the least loss.",
        ("sizes[best]", "sizes[affordable][-1]"),
    ),
    Mistake(
        "The size is right, but in a tensor (1,). A scalar tensor is asked for.",
        ("sizes[best]", "sizes[best : best + 1]"),
    ),
    Mistake(
        "The loss is returned as well. Only the size is asked for.",
        ("sizes[best]", "sizes[best], losses[best]"),
    ),
)


def right(sizes, flops, losses, budget):
    fits = [i for i, cost in enumerate(flops.tolist()) if 0.9 * budget <= cost <= 1.1 * budget]
    return sizes[min(fits, key=lambda i: losses[i].item())]


def properties(result, sizes, flops, losses, budget):
    wanted, size = right(sizes, flops, losses, budget), float(result)
    loss = losses[(sizes == wanted) & ((flops - budget).abs() <= 0.1 * budget)].min()
    costs = flops[sizes == size] / budget
    if not len(costs):
        return f"No run has the size {size:g}."
    if not ((costs - 1).abs() <= 0.1).any():
        times = " or ".join(f"{cost:.2g}" for cost in costs)
        return f"A run of this size costs {times} times the budget."
    mine = losses[(sizes == size) & ((flops - budget).abs() <= 0.1 * budget)].min()
    return f"This run has the loss {mine:.2f}, and another that costs the same has {loss:.2f}."


def cases():
    runs = [  # size, FLOPs in units of 1e12, loss
        (2e3, 0.30, 1.02),
        (9e3, 0.60, 1.05),
        (6e4, 1.40, 0.98),
        (1e5, 0.96, 1.34),
        (5e3, 0.93, 1.12),
        (5e4, 4.00, 0.79),
        (2e4, 3.70, 0.86),
        (1e4, 1.00, 1.16),
        (4e3, 1.05, 1.29),
        (4e5, 9.00, 0.60),
        (8e3, 4.20, 0.90),
        (3e4, 1.07, 1.08),
        (6e3, 1.008, 1.15),
        (1e5, 4.30, 0.71),
        (3e5, 3.90, 0.785),
        (7e3, 0.32, 1.10),
        (9e5, 9.50, 0.66),
    ]
    return [
        Case(f"a budget of {budget}", (size, flops * 1e12, loss, float(budget)))
        for budget in ("1e12", "4e12", "3e11", "9.2e12")
        for size, flops, loss in [torch.tensor(runs).T]
    ]
