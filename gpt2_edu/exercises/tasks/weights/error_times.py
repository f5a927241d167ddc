"""How far is too far?"""

import torch

from ....analysis.parity import EPS, max_difference
from ...exercise import Case, Mistake

ORDER = 50
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 10
TOLERANCE = 1e-4

TASK = r"""
A parity table measures a difference by the reference's own rounding error:

$$
\text{times} = \frac{\max|\text{ours} - \text{theirs}|}{\max\bigl(\max|\text{theirs} - \text{exact}|,\ 2^{-23} \cdot \max|\text{theirs}|\bigr)}
$$

`ours` and `theirs` are a module's output in our model and in the reference, in float32. `exact` is the reference's output in float64. Up to 8 times counts as equal.

With `theirs = [2, 4]`, `ours = [2, 3]` and `exact = [2, 4.5]` the difference is 1 and the reference's error 0.5, so the answer is 2. The function says 0. It has two bugs. Fix both. It returns one number.
"""

HINTS = (
    "A difference may be negative, and the largest of several negative numbers is not a distance.",
    "The reference may happen to have hardly any error, or none. Then its error counts as $2^{-23}$ of its largest value.",
    "`error = max(error, 2**-23 * theirs.abs().max())`.",
)

START = '''
def error_times(ours, theirs, exact):
    """Three tensors of one shape, exact in float64. Returns a number."""
    raise NotImplementedError("find the bugs, fix them, delete this line")
    difference = (ours.double() - theirs.double()).max()
    error = (theirs.double() - exact).abs().max()
    return (difference / error).item()
'''

SOLUTION = """
def error_times(ours, theirs, exact):
    difference = (ours.double() - theirs.double()).abs().max()
    error = (theirs.double() - exact).abs().max()
    # at least about the distance of neighbouring float32 numbers
    error = max(error, 2**-23 * theirs.abs().max())
    return (difference / error).item()
"""

MISTAKES = (
    Mistake(
        "Both bugs are still there. A difference below 0 is overlooked, and a reference with hardly any error makes every difference look huge.",
        ("(ours.double() - theirs.double()).abs()", "(ours.double() - theirs.double())"),
        ("    error = max(error, 2**-23 * theirs.abs().max())\n", ""),
    ),
    Mistake(
        "One bug is left. Where the reference has hardly any error, every difference looks huge. The error counts as at least 2⁻²³ of the largest value.",
        ("    error = max(error, 2**-23 * theirs.abs().max())\n", ""),
    ),
    Mistake(
        "One bug is left. A difference below 0 is overlooked. Take `.abs()` before `.max()`.",
        ("(ours.double() - theirs.double()).abs()", "(ours.double() - theirs.double())"),
    ),
    Mistake(
        "Take the absolute value of each difference, before the largest is chosen: `.abs().max()`, not `.max().abs()`.",
        (
            "difference = (ours.double() - theirs.double()).abs().max()",
            "difference = (ours.double() - theirs.double()).max().abs()",
        ),
    ),
    Mistake(
        "The smallest error is 2⁻²³ of the largest value, because large numbers are spaced further apart. Multiply it by `theirs.abs().max()`.",
        (" * theirs.abs().max()", ""),
    ),
    Mistake(
        "This adds the two errors. Only the larger one counts, `max(error, …)`.",
        ("max(error, 2**-23 * theirs.abs().max())", "error + 2**-23 * theirs.abs().max()"),
    ),
    Mistake(
        "This takes the mean of the differences. A parity table looks at the worst one, on both sides.",
        (
            "(ours.double() - theirs.double()).abs().max()",
            "(ours.double() - theirs.double()).abs().mean()",
        ),
        ("(theirs.double() - exact).abs().max()", "(theirs.double() - exact).abs().mean()"),
    ),
    Mistake(
        "This takes the smaller of the two errors. The larger one counts, `max(error, …)`.",
        ("error = max(error,", "error = min(error,"),
    ),
    Mistake(
        "The largest value is taken with its sign, so a large negative number is overlooked. Take `.abs()` before `.max()` there as well.",
        ("2**-23 * theirs.abs().max()", "2**-23 * theirs.max()"),
    ),
    Mistake(
        "The error is that of our output. It belongs to the reference: `theirs` against `exact`.",
        ("(theirs.double() - exact)", "(ours.double() - exact)"),
    ),
    Mistake(
        "Each entry is divided by an error of its own. First take the largest difference and the largest error, then divide.",
        (
            "abs().max()\n    error = (theirs.double() - exact).abs().max()",
            "abs()\n    error = (theirs.double() - exact).abs()",
        ),
        (
            "max(error, 2**-23 * theirs.abs().max())",
            "error.clamp(min=2**-23 * theirs.abs().max().item())",
        ),
        ("(difference / error).item()", "(difference / error).max().item()"),
    ),
    Mistake(
        "The difference is between ours and the exact output. It should be between ours and theirs.",
        ("(ours.double() - theirs.double())", "(ours.double() - exact)"),
    ),
    Mistake(
        "The reference's error is a mean here, and the difference a largest one. Compare the worst with the worst: `.abs().max()` on both sides.",
        ("(theirs.double() - exact).abs().max()", "(theirs.double() - exact).abs().mean()"),
    ),
)


def right(ours, theirs, exact):
    error = max(max_difference(theirs, exact), EPS * theirs.abs().max().item())
    return max_difference(ours, theirs) / error


def cases():
    generator = torch.Generator().manual_seed(12)
    by_hand = (
        torch.tensor([2.0, 3.0]),
        torch.tensor([2.0, 4.0]),
        torch.tensor([2.0, 4.5], dtype=torch.float64),
    )
    theirs = torch.randn(2, 5, 3, generator=generator)
    noise = torch.randn(2, 2, 5, 3, generator=generator)
    ours, exact = theirs + 4e-6 * noise[0], (theirs + 1e-6 * noise[1]).double()
    # tiny against the least error: only the numbers' own size is left to measure by
    large, near = 1000 * theirs, 1e-5 * noise[1].double()
    return [
        Case("two numbers, the second too small by 1", by_hand),
        Case("random numbers", (ours, theirs, exact)),
        Case("all numbers too small", (theirs - 4e-6 * noise[0].abs(), theirs, exact)),
        Case("a reference with hardly any error", (ours, theirs, theirs.double() + 1e-12)),
        Case("large numbers", (large + 0.01 * noise[0], large, large.double() + near)),
        Case("nothing differs", (theirs, theirs, exact)),
    ]
