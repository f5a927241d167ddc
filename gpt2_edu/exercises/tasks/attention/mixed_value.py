"""One query, two keys, by hand."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = r"""
A query meets two keys, with vectors of $d = 4$ entries:

| | vector | value |
| --- | --- | --- |
| query | (1, 0, 1, 2) | |
| key 1 | (0.2, 3, 1, 0.5) | 8 |
| key 2 | (2, 1, 0, −1) | 4 |

Each value is a single number. What does scaled dot-product attention return for this query? Two decimals are enough. You need $e^{1.1} = 3.00$ and $e^0 = 1$.
"""

HINTS = (
    "Score, divide by √d, softmax, mix, in this order.",
    "The dot products are 2.2 and 0. The division by √4 makes them 1.1 and 0.",
    "The powers are 3 and 1, so the shares are 3/4 and 1/4.",
)

START = "mixed_value = ..."

SOLUTION = """
scores = [2.2 / 2, 0.0 / 2]  # √4 = 2
powers = [math.exp(score) for score in scores]  # 3.00 and 1
shares = [power / sum(powers) for power in powers]  # 0.75 and 0.25
mixed_value = shares[0] * 8 + shares[1] * 4  # 7.00
"""

right = 7.001

TOLERANCE = 5e-3

MISTAKES = (
    Mistake(
        "This is the result without the division. Divide the scores by √4 = 2 before the softmax.",
        code="mixed_value = (9.025 * 8 + 4) / 10.025",
    ),
    Mistake(
        "You divided by d = 4. The formula divides by its root, 2.",
        code="mixed_value = (math.exp(0.55) * 8 + 4) / (math.exp(0.55) + 1)",
    ),
    Mistake(
        "You took the scores themselves as shares, without e to their power. The second score is 0, but its share is not.",
        code="mixed_value = 8.0",
    ),
    Mistake(
        "The powers 3 and 1 are not yet shares. Divide each by their sum, 4.",
        code="mixed_value = 3 * 8 + 1 * 4",
    ),
    Mistake(
        "The shares are right, but the values are swapped. Key 1 has the larger score, so its value 8 counts more.",
        code="mixed_value = 0.75 * 4 + 0.25 * 8",
    ),
    Mistake(
        "You multiplied the value by the score. A score is no share yet: take e to the power of each, and divide by the sum.",
        code="mixed_value = 1.1 * 8",
    ),
    Mistake(
        "You multiplied the value by the score. A score is no share yet: divide by √4, take e to the power of each, and divide by the sum.",
        code="mixed_value = 2.2 * 8",
    ),
    Mistake(
        "This is the plain mean. The keys have different scores, so their values count differently.",
        code="mixed_value = 6",
    ),
    Mistake(
        "You added the values in full. Each counts by its share, and the shares are 1 in total.",
        code="mixed_value = 12",
    ),
)
