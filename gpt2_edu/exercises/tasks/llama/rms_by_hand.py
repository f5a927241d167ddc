"""RMSNorm by hand."""

from ...exercise import Mistake

ORDER = 30
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 5
TOLERANCE = 5e-3

TASK = r"""
Compute the RMSNorm of the token

$$x = (1, -1, 7, 7) \qquad \gamma = (5, 5, 10, 5)$$

with a pencil. Leave ε out; the numbers are chosen so that the answers are whole numbers. Answer with a list of four numbers.
"""

HINTS = (
    "No mean is subtracted. Square the four numbers, and take the mean of the squares.",
    "The squares are 1, 1, 49 and 49, so their mean is 25 and its root is 5.",
    "Divide by 5, then multiply by γ, number by number.",
)

START = "rms_by_hand = ..."

SOLUTION = """
# mean of the squares 100 / 4 = 25; its root 5
# divided: 0.2, -0.2, 1.4, 1.4; times γ:
rms_by_hand = [1, -1, 14, 7]
"""

right = [1, -1, 14, 7]

MISTAKES = (
    Mistake(
        "You subtract the mean, as LayerNorm does, and divide by the standard deviation. RMSNorm does neither.",
        code="s = math.sqrt(12.75)\nrms_by_hand = [-12.5 / s, -22.5 / s, 35 / s, 17.5 / s]",
    ),
    Mistake(
        "You subtract the mean and then divide by the root of the mean square. The mean stays in.",
        code="rms_by_hand = [-2.5, -4.5, 7, 3.5]",
    ),
    Mistake(
        "You divide by the mean of the squares, 25. Divide by its root.",
        code="rms_by_hand = [0.2, -0.2, 2.8, 1.4]",
    ),
    Mistake(
        "You divide by the root of the sum, 10, which is the vector's length. It is the mean of the squares, 100 / 4.",
        code="rms_by_hand = [0.5, -0.5, 7.0, 3.5]",
    ),
    Mistake(
        "γ is left out. Multiply by it, number by number.",
        code="rms_by_hand = [0.2, -0.2, 1.4, 1.4]",
    ),
    Mistake(
        "You divide by the mean of the absolute values, 4. It is the root of the mean square.",
        code="rms_by_hand = [1.25, -1.25, 17.5, 8.75]",
    ),
    Mistake(
        "You divide the sum of the squares by C − 1. It is a mean over all C = 4 numbers.",
        code="s = math.sqrt(100 / 3)\nrms_by_hand = [5 / s, -5 / s, 70 / s, 35 / s]",
    ),
    Mistake(
        "The sign of the second number is lost. Only the squares have none.",
        code="rms_by_hand = [1, 1, 14, 7]",
    ),
    Mistake(
        "You multiply by γ before you take the mean of the squares. γ comes last.",
        code="s = math.sqrt((25 + 25 + 4900 + 1225) / 4)\nrms_by_hand = [5 / s, -5 / s, 70 / s, 35 / s]",
    ),
    Mistake(
        "That is γ times x. Divide by the root of the mean of the squares as well.",
        code="rms_by_hand = [5, -5, 70, 35]",
    ),
)
