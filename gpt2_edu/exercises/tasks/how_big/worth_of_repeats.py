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


def anyway(message, *edits):
    """A mistake, and the same by a reader who returns D at once where nothing repeats."""
    at_once = ("    repeats =", "    if seen == unique:\n        return seen\n    repeats =")
    return Mistake(message, *edits), Mistake(message, at_once, *edits)


MISTAKES = (
    *anyway(
        "The first epoch is counted as a repetition. R is D / U − 1.",
        ("seen / unique - 1", "seen / unique"),
    ),
    *anyway(
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
    *anyway(
        "What is returned counts epochs. Multiply by the number of different tokens.",
        ("unique + unique * r_star", "1 + r_star"),
    ),
    Mistake(
        "If fewer tokens were seen than there are, the unseen ones count here as well.",
        (
            "unique = min(unique, seen)\n    repeats = seen / unique - 1",
            "repeats = max(seen / unique - 1, 0)",
        ),
    ),
    Mistake(
        "If nothing repeats, every token is worth itself: D′ is D, and not 0.",
        ("    unique = min(unique, seen)\n", "    if seen <= unique:\n        return 0\n"),
    ),
    Mistake(
        "The larger of U and D is taken for U. If fewer tokens were seen than there are, U is D: `min(unique, seen)`.",
        ("min(unique, seen)", "max(unique, seen)"),
    ),
    Mistake(
        "The exponent is positive, so that repetitions are worth more and more. It is −R / R*.",
        ("-repeats / r_star", "repeats / r_star"),
    ),
    Mistake(
        "The bracket is turned around, so that repetitions do harm. It is 1 less the exponential.",
        ("1 - math.exp(-repeats / r_star)", "math.exp(-repeats / r_star) - 1"),
    ),
    Mistake(
        "R* is fixed at 15. Use the argument.",
        (
            "r_star * (1 - math.exp(-repeats / r_star))",
            "15 * (1 - math.exp(-repeats / 15))",
        ),
    ),
    Mistake(
        "The first term is D. It is U, the tokens of the first epoch.",
        ("return unique + unique", "return seen + unique"),
    ),
    Mistake(
        "The second term has D as a factor. It is U · R* · (…).",
        ("unique * r_star", "seen * r_star"),
    ),
    Mistake(
        "The number of repetitions is rounded or cut to a whole one. An epoch that is half done counts as a half.",
        ("seen / unique", "seen // unique"),
    ),
    *anyway(
        "The quotient is upside down. The number of epochs is D / U.",
        ("seen / unique - 1", "unique / seen - 1"),
    ),
    *anyway(
        "The bracket is 1 − e^(−R / R*). The 1 is missing.",
        ("(1 - math.exp(-repeats / r_star))", "math.exp(-repeats / r_star)"),
    ),
    *anyway(
        "The parentheses around 1 − e^(−R / R*) are missing.",
        ("(1 - math.exp(-repeats / r_star))", "1 - math.exp(-repeats / r_star)"),
    ),
    Mistake(
        "The base is 2. In the formula it is e: `math.exp`.",
        ("math.exp(-repeats / r_star)", "2 ** (-repeats / r_star)"),
    ),
    Mistake(
        "The base is 10. In the formula it is e: `math.exp`.",
        ("math.exp(-repeats / r_star)", "10 ** (-repeats / r_star)"),
    ),
    *anyway(
        "1 is subtracted from U. R is D / U − 1, so subtract it from the quotient.",
        ("seen / unique - 1", "seen / (unique - 1)"),
    ),
    *anyway(
        "1 is added to D / U. The first epoch is no repetition, so subtract it.",
        ("seen / unique - 1", "seen / unique + 1"),
    ),
    Mistake(
        "R counts tokens here. It counts repetitions of all of them: D / U − 1.",
        ("seen / unique - 1", "seen - unique"),
    ),
    Mistake(
        "That is the worth of endless repetition, or D if that is less. The worth of a repetition falls gradually.",
        (
            "return unique + unique * r_star * (1 - math.exp(-repeats / r_star))",
            "return min(seen, unique * (1 + r_star))",
        ),
    ),
    Mistake(
        "The second term is divided by R*. It is multiplied by it.",
        ("unique * r_star *", "unique / r_star *"),
    ),
    Mistake(
        "The quotient in the exponent is upside down. It is R / R*.",
        ("-repeats / r_star", "-r_star / repeats if repeats else 0"),
    ),
    Mistake(
        "`torch.exp` takes tensors. These are numbers: `math.exp`.",
        (
            "1 - math.exp(-repeats / r_star)",
            "1 - (torch.exp(-repeats / r_star) if repeats else 1)",
        ),
    ),
    Mistake(
        "R* is a factor twice.",
        ("unique * r_star", "unique * r_star**2"),
    ),
    Mistake(
        "All repetitions are weighted like the last one. The formula adds them up: U · R* · (1 − e^(−R / R*)).",
        (
            "unique * r_star * (1 - math.exp(-repeats / r_star))",
            "unique * repeats * math.exp(-repeats / r_star)",
        ),
    ),
    Mistake(
        "That is U, or D if that is less, as if repetitions were worth nothing.",
        (
            "return unique + unique * r_star * (1 - math.exp(-repeats / r_star))",
            "return unique",
        ),
    ),
)


def right(unique, seen, r_star):
    if seen <= unique:
        return float(seen)
    later = -math.expm1((1 - seen / unique) / r_star)
    return unique * (1 + r_star * later)


def properties(result, unique, seen, r_star):
    if result > seen:
        return "That is more than D. A token that is read again is worth less than a new one."
    if result < min(unique, seen):
        return "That is less than the tokens of the first epoch are worth."
    if result > unique * (1 + r_star):
        return "That is more than endless repetition is worth, U · (1 + R*)."
    return None


def cases():
    return [
        Case("four epochs of a million tokens", (1e6, 4e6, 15.0)),
        Case("forty epochs", (1e5, 4e6, 15.0)),
        Case("tokens that are soon worn out", (1e6, 8e6, 2.0)),
        Case("half of the tokens, once", (4e6, 2e6, 15.0)),
        Case("ten tokens, one and a half times", (10, 15, 0.8)),
    ]
