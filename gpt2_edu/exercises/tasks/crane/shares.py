"""Scores become shares."""

import torch

from ...exercise import Case, Mistake
from ...refusing import refusing

ORDER = 20
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
Write the softmax for the scores of one query. `scores` is (T,), and so is the result, which is all positive and 1 in total.

$$
w_j = \frac{e^{s_j}}{\sum_k e^{s_k}}
$$

For the scores (0.98, 0.70, 0.70) it gives (0.3982, 0.3009, 0.3009).

Do it with `torch.exp`, without `softmax`. It must also work for a score of 1000, though $e^{1000}$ is too large for a computer and becomes infinite.
"""

HINTS = (
    "First write the formula as it is. Then try a score of 1000. Infinity divided by infinity is `nan`, not a number.",
    "Only differences of scores count, so you may subtract the same number from all of them, and no weight changes.",
    "Subtract the largest score, `scores.max()`. Then no power is above 1.",
)

START = '''
def shares(scores):
    """scores (T,). Returns the weights, (T,)."""
    ...
'''

SOLUTION = """
def shares(scores):
    # only differences count, and now no power is above 1
    powers = torch.exp(scores - scores.max())
    return powers / powers.sum()
"""

MISTAKES = (
    Mistake(
        "The formula is right, but e to the power of 1000 is infinite here, and infinity divided by infinity is not a number. Only differences of scores count: can you make all of them smaller without changing a weight?",
        (" - scores.max()", ""),
    ),
    Mistake(
        "You divided the scores by their sum. A negative score would become a negative share, so take e to the power of each first.",
        ("torch.exp(scores - scores.max())", "scores"),
    ),
    Mistake(
        "You divided by the largest power, so the largest share is always 1. Divide by the sum of all.",
        ("powers / powers.sum()", "powers"),
    ),
    Mistake(
        "What you subtract is too small, such as the mean: one score may still be far above it, and its power is infinite. Subtract the largest. Then no power is above 1.",
        ("scores.max", "scores.mean"),
    ),
    Mistake(
        "You divided the scores by the largest score, which changes their differences. Subtract it.",
        ("scores - scores", "scores / scores"),
    ),
    Mistake(
        "You subtracted the largest score only in the denominator. Subtract it in the numerator as well.",
        ("powers / powers", "torch.exp(scores) / powers"),
    ),
    Mistake(
        "You cut off large scores, which makes different scores equal. Subtract the largest instead, which changes no weight.",
        ("scores - scores.max()", "scores.clamp(max=80.0)"),
    ),
    Mistake(
        "The powers are divided by the sum of the scores. Shares are 1 in total: divide by the sum of the powers.",
        ("powers.sum()", "(scores - scores.max()).sum()"),
    ),
    Mistake(
        "The powers are divided by the sum of the scores. Shares are 1 in total: divide by the sum of the powers.",
        ("scores - scores.max()", "scores"),
        ("powers.sum()", "scores.sum()"),
    ),
    Mistake(
        "You subtracted the largest score only in the numerator. Subtract it in the denominator as well.",
        ("powers.sum()", "torch.exp(scores).sum()"),
    ),
    Mistake(
        "The powers are divided by their number. Divide by their sum, so that the shares are 1 in total.",
        ("powers.sum()", "len(powers)"),
    ),
    Mistake(
        "You call the function that you are to build. Write it out, with `torch.exp`.",
        code="""def shares(scores):
    return torch.softmax(scores, dim=0)
""",
    ),
)


def right(scores):
    return torch.softmax(scores.as_subclass(torch.Tensor), dim=0)


def cases():
    generator = torch.Generator().manual_seed(32)
    random = 3 * torch.randn(7, generator=generator)
    return [
        Case("the crane's scores", (torch.tensor([0.98, 0.70, 0.70]),)),
        Case("random scores, some negative", (random,)),
        Case("equal scores", (torch.full((5,), -2.0),)),
        Case("scores whose sum is 0", (torch.tensor([1.0, -1.0]),)),
        Case("a single score", (torch.tensor([0.3]),)),
        Case("large scores", (torch.tensor([1000.0, 1001.0, 999.0]),)),
        Case("one large score", (torch.tensor([1000.0, 0.0, 0.0]),)),
        Case("scores far below 0", (torch.tensor([-100.0, -101.0]),)),
        Case("without `softmax`", refusing("softmax", torch.tensor([1.0, 2.0]))),
    ]
