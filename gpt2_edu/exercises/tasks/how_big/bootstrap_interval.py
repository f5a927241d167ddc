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
    Mistake(
        "That is an interval of 50 %: 25 % are left out at each end. Leave out 2.5 %.",
        ("[0.025, 0.975]", "[0.25, 0.75]"),
    ),
    Mistake(
        "5 % are left out at one end. Leave out 2.5 % at each.",
        ("[0.025, 0.975]", "[0.0, 0.95]"),
    ),
    Mistake(
        "5 % are left out at one end. Leave out 2.5 % at each.",
        ("[0.025, 0.975]", "[0.05, 1.0]"),
    ),
    Mistake(
        "`torch.quantile` takes shares, not per cent: 2.5 % is 0.025.",
        ("[0.025, 0.975]", "[2.5, 97.5]"),
    ),
    Mistake(
        "The mean and the standard deviation describe a normal distribution. Quantiles suppose none: use `torch.quantile`.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "results.mean() + torch.tensor([-1.96, 1.96]) * results.std()",
        ),
    ),
    Mistake(
        "The mean and the standard deviation describe a normal distribution. Quantiles suppose none: use `torch.quantile`.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "results.mean() + torch.tensor([-2, 2]) * results.std()",
        ),
    ),
    Mistake(
        "One standard deviation to each side holds about two thirds of the results. Take the quantiles for 95 %.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "results.mean() + torch.tensor([-1, 1]) * results.std()",
        ),
    ),
    Mistake(
        "These are two separate values. Return a tensor (2,), as `torch.quantile` gives for a tensor of two shares.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "tuple(torch.quantile(results, torch.tensor([0.025, 0.975])))",
        ),
    ),
    Mistake(
        "The mean is computed in every case. Call `statistic`.",
        ("statistic(losses[row])", "losses[row].mean()"),
    ),
    Mistake(
        "`statistic` gets all drawings at once, and gives one number for them. Call it for each row.",
        (
            "torch.stack([torch.as_tensor(statistic(losses[row])) for row in drawn])",
            "torch.as_tensor(statistic(losses[drawn]))",
        ),
    ),
    Mistake(
        "The columns of `drawn` are used. Each row is one drawing.",
        ("in drawn]", "in drawn.T]"),
    ),
    Mistake(
        "`statistic` gets indices here. `losses[row]` are the losses of that drawing.",
        ("losses[row]", "row.float()"),
    ),
    Mistake(
        "The quantile lies between two of the sorted results. `torch.quantile` interpolates.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "results.sort().values[(torch.tensor([0.025, 0.975]) * len(results)).long()]",
        ),
    ),
    Mistake(
        "The quantile lies between two of the sorted results. `torch.quantile` interpolates.",
        ("0.975]))", '0.975]), interpolation="nearest")'),
    ),
    Mistake(
        "The results are not sorted, so these are just two of them. Use `torch.quantile`.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "results[(torch.tensor([0.025, 0.975]) * len(results)).long()]",
        ),
    ),
    Mistake(
        "That is the width of the interval. Return its two ends.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "torch.quantile(results, torch.tensor([0.025, 0.975])).diff()[0]",
        ),
    ),
    Mistake(
        "`torch.quantile` takes tensors. Stack the results, and write the two shares as `torch.tensor([0.025, 0.975])`.",
        ("torch.tensor([0.025, 0.975])", "[0.025, 0.975]"),
    ),
    Mistake(
        "These are quantiles of losses, averaged over the drawings. Take the quantiles of the results of `statistic`.",
        (
            "[torch.as_tensor(statistic(losses[row])) for row in drawn]",
            "[torch.quantile(losses[row], torch.tensor([0.025, 0.975])) for row in drawn]",
        ),
        ("torch.quantile(results, torch.tensor([0.025, 0.975]))", "results.mean(dim=0)"),
    ),
    Mistake(
        "Only the last drawing is left. Collect the results of all of them.",
        ("in drawn]", "in drawn[-1:]]"),
    ),
    Mistake(
        "Only the first drawing is used. Collect the results of all of them.",
        ("in drawn]", "in drawn[:1]]"),
    ),
    Mistake(
        "That is an interval of 99 %. Leave out 2.5 % at each end.",
        ("[0.025, 0.975]", "[0.005, 0.995]"),
    ),
    Mistake(
        "The upper end leaves out 5 %. Leave out 2.5 % at each end.",
        ("[0.025, 0.975]", "[0.025, 0.95]"),
    ),
    Mistake(
        "The deviation is divided by the root of the number of drawings, so that more drawings make the interval small. The results themselves are spread: take their quantiles.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "results.mean() + torch.tensor([-1.96, 1.96]) * results.std() / len(results) ** 0.5",
        ),
    ),
    Mistake(
        "That is the mean of the results. Take the two quantiles.",
        ("torch.quantile(results, torch.tensor([0.025, 0.975]))", "results.mean()"),
    ),
    Mistake(
        "Those are all results. Take the two quantiles.",
        ("torch.quantile(results, torch.tensor([0.025, 0.975]))", "results"),
    ),
    Mistake(
        "That is the upper end only. Return both.",
        ("torch.tensor([0.025, 0.975])", "0.975"),
    ),
    Mistake(
        "The interval is laid symmetrically around the result. Its ends are the quantiles themselves.",
        (
            "torch.quantile(results, torch.tensor([0.025, 0.975]))",
            "statistic(losses) + torch.quantile(results, torch.tensor([0.025, 0.975])).diff() * torch.tensor([-0.5, 0.5])",
        ),
    ),
    Mistake(
        "The losses are sorted first, so that the indices mean other runs.",
        ("losses[row]", "losses.sort().values[row]"),
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


def properties(result, losses, statistic, drawn):
    results = torch.stack([torch.as_tensor(statistic(losses[row])) for row in drawn])
    if result.shape != (2,):
        return "Return the two ends of the interval, as a tensor (2,)."
    below, above = (results < result[0]).float().mean(), (results > result[1]).float().mean()
    return (
        f"{below:.1%} of the results are below the first of your numbers, and {above:.1%} above the "
        "second. It should be 2.5 % each, as nearly as possible."
    )


def cases():
    generator = torch.Generator().manual_seed(241)

    def case(label, n, draws, statistic):
        losses = 0.44 + torch.rand(n, generator=generator)
        drawn = torch.randint(n, (draws, n), generator=generator)
        return Case(label, (losses, statistic, drawn))

    return [
        case("the mean of nine losses, 60 drawings", 9, 60, torch.mean),
        case("another statistic", 9, 60, spread),
        case("seven losses, 30 drawings", 7, 30, spread),
    ]
