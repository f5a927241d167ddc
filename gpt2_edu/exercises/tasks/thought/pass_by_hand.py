"""Two of eight are right."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 5

TASK = r"""
A model has tried a problem eight times, and two of the answers are right. Estimate pass@3, the chance that at least one of three tries is right, without bias. Three decimals are enough.
"""

HINTS = (
    "Take three of the eight answers at random, without putting any back. When is none of them right?",
    "All three must be among the six wrong ones. There are C(6, 3) such choices, of C(8, 3) in all.",
    "C(6, 3) = 20 and C(8, 3) = 56.",
)

START = "pass_by_hand = ...  # a number"

SOLUTION = """
pass_by_hand = 1 - math.comb(6, 3) / math.comb(8, 3)
"""

right = 0.642857

MISTAKES = (
    Mistake(
        "That is 1 − (3/4)³, as if each answer were put back before the next is taken. With the share 2/8 in place of the true chance, it is too low in the mean.",
        ("math.comb(6, 3) / math.comb(8, 3)", "(6 / 8) ** 3"),
    ),
    Mistake(
        "That is the chance that all three are wrong. Take it from 1.",
        ("1 - math.comb(6, 3)", "math.comb(6, 3)"),
    ),
    Mistake(
        "That is pass@1, the share of right answers.",
        ("1 - math.comb(6, 3) / math.comb(8, 3)", "2 / 8"),
    ),
    Mistake(
        "That is three times the share of right answers. With five tries it would be above 1: cases in which two are right are counted twice.",
        ("1 - math.comb(6, 3) / math.comb(8, 3)", "3 * 2 / 8"),
    ),
    Mistake(
        "That is pass@2. Three of the eight answers are taken.",
        ("math.comb(6, 3) / math.comb(8, 3)", "math.comb(6, 2) / math.comb(8, 2)"),
    ),
)
