"""What repeated tokens are worth."""

import math

from ...exercise import Case, Mistake

ORDER = 70
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
Muennighoff et al. (2023) describe repeated data by how many *new* tokens it is worth. With U different tokens, seen in D / U epochs, there are R = D / U − 1 repetitions, and

$$
D' = U + U\, R^* \big(1 - e^{-R / R^*}\big)
$$

takes the place of D in the law. For their models R* was about 15. Write `worth_of_repeats(unique, seen, r_star)`, which returns D′. If nothing repeats (D ≤ U), every token is worth itself.
"""

HINTS = (
    "`max(seen / unique - 1, 0)` is the number of repetitions.",
    "With R = 0 the bracket is 0. With R = ∞ it is 1, and no amount of repeating is worth more than U · (1 + R*).",
    "If fewer tokens were seen than there are, only those count as U: `min(seen, unique)`.",
)

START = '''
def worth_of_repeats(unique, seen, r_star):
    """Three numbers. Returns D′, a number."""
    ...
'''

SOLUTION = """
def worth_of_repeats(unique, seen, r_star):
    unique = min(unique, seen)
    repeats = seen / unique - 1
    return unique + unique * r_star * (1 - math.exp(-repeats / r_star))
"""

MISTAKES = (
    Mistake(
        "The first epoch is counted as a repetition. R is D / U − 1.",
        ("seen / unique - 1", "seen / unique"),
    ),
    Mistake(
        "The first epoch is missing. Its tokens are new and are worth themselves.",
        ("unique + unique * r_star", "unique * r_star"),
    ),
    Mistake(
        "If fewer tokens were seen than there are, the unseen ones count here as well.",
        ("unique = min(unique, seen)", "unique = unique"),
    ),
    Mistake(
        "The decay is missing: that is D itself, as if the tenth reading taught as much as the first.",
        ("unique * r_star * (1 - math.exp(-repeats / r_star))", "unique * repeats"),
    ),
    Mistake(
        "The repetitions are multiplied by R*. The larger R* is, the more slowly the worth decays.",
        ("-repeats / r_star", "-repeats * r_star"),
    ),
    Mistake(
        "The factor R* before the bracket is missing, so that all repetitions together are worth less than one epoch.",
        ("unique * r_star *", "unique *"),
    ),
    Mistake(
        "What is returned counts epochs. Multiply by the number of different tokens.",
        ("unique + unique * r_star", "1 + r_star"),
    ),
)


def right(unique, seen, r_star):
    if seen <= unique:
        return float(seen)
    later = -math.expm1((1 - seen / unique) / r_star)
    return unique * (1 + r_star * later)


def cases():
    return [
        Case("four epochs of a million tokens", (1e6, 4e6, 15.0)),
        Case("forty epochs", (1e5, 4e6, 15.0)),
        Case("tokens that are soon worn out", (1e6, 8e6, 2.0)),
        Case("half of the tokens, once", (4e6, 2e6, 15.0)),
    ]
