"""A row under the mask, by hand."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 5

TASK = r"""
A text has five tokens. The scaled scores of its **third** token are

| key | 1st | 2nd | 3rd | 4th | 5th |
| --- | --- | --- | --- | --- | --- |
| score | 0 | 0.693 | 1.386 | 5 | 5 |

What are the five weights of this row, with the causal mask? Give a list of five numbers, to three decimals. You need $e^0 = 1$, $e^{0.693} = 2$, $e^{1.386} = 4$ and $e^5 = 148.4$, though perhaps not all of them.
"""

HINTS = (
    "Which keys may the third token see? The others get −∞ for a score.",
    "$e^{-\\infty} = 0$, so the last two keys get nothing, and they are not in the sum either.",
    "The powers are 1, 2, 4, 0, 0. Divide each by their sum.",
)

START = "causal_row = ..."

SOLUTION = """
powers = [1, 2, 4, 0, 0]  # the future: e to the power of −∞ is 0
causal_row = [power / sum(powers) for power in powers]  # sevenths
"""

right = [1 / 7, 2 / 7, 4 / 7, 0, 0]

TOLERANCE = 1e-3

MISTAKES = (
    Mistake(
        "These are the weights without a mask. The third token may not see the fourth and the fifth.",
        code="causal_row = [p / 303.8 for p in (1, 2, 4, 148.4, 148.4)]",
    ),
    Mistake(
        "You masked after the softmax, so the future is still in the sum, and the row no longer sums to 1. Leave it out of the sum.",
        code="causal_row = [p / 303.8 for p in (1, 2, 4, 0, 0)]",
    ),
    Mistake(
        "You gave the future the score 0, and e to the power of 0 is 1. The score that gets no weight is −∞.",
        code="causal_row = [p / 9 for p in (1, 2, 4, 1, 1)]",
    ),
    Mistake(
        "You hid the third token from itself. A token may see itself, because the answer is the token after it.",
        code="causal_row = [1 / 3, 2 / 3, 0, 0, 0]",
    ),
    Mistake(
        "These are the powers. Divide each by their sum, 7.",
        code="causal_row = [1, 2, 4, 0, 0]",
    ),
    Mistake(
        "You hid the past. A query sees the keys up to its own: the first, the second and the third.",
        code="causal_row = [p / 300.8 for p in (0, 0, 4, 148.4, 148.4)]",
    ),
    Mistake(
        "You divided the scores by their sum. First take e to the power of each: 1, 2 and 4.",
        code="causal_row = [0, 1 / 3, 2 / 3, 0, 0]",
    ),
    Mistake(
        "Two decimals are too few here. Give three.",
        code="causal_row = [0.14, 0.29, 0.57, 0, 0]",
    ),
    Mistake(
        "These are percentages. Give shares of 1, such as 0.5.",
        code="causal_row = [100 / 7, 200 / 7, 400 / 7, 0, 0]",
    ),
    Mistake(
        "These are percentages, and rounded. Give shares of 1, to three decimals.",
        code="causal_row = [14, 29, 57, 0, 0]",
    ),
    Mistake(
        "The weights of the visible keys are right. A row has an entry for every key, so add a 0 for each that the token may not see.",
        code="causal_row = [1 / 7, 2 / 7, 4 / 7]",
    ),
    Mistake(
        "The three keys get equal shares here, but their scores differ. Take e to the power of each, and divide by the sum.",
        code="causal_row = [1 / 3, 1 / 3, 1 / 3, 0, 0]",
    ),
    Mistake(
        "These are the scores. Take e to the power of each, and divide by the sum of the powers.",
        code="causal_row = [0, 0.693, 1.386, 0, 0]",
    ),
    Mistake(
        "−∞ is the score of a hidden key. Its weight is e to that power, 0.",
        code="causal_row = [1 / 7, 2 / 7, 4 / 7, -math.inf, -math.inf]",
    ),
)
