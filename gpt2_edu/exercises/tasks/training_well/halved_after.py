"""How slowly decay pulls."""

from ...exercise import Mistake

ORDER = 50
KIND = "paper"
LEVEL = 2
RANK = "extra"
MINUTES = 5
TOLERANCE = 1e-3  # 6,930, and what ln 0.9999 = −0.0001 gives, but neither 6,920 nor 6,940

TASK = r"""
A weight gets no gradient at all, so only AdamW's weight decay moves it. The learning rate is 0.001 and the decay 0.1. After how many steps is the weight half of what it was? Give the number to the nearest ten. A pocket calculator is allowed.
"""

HINTS = (
    "Each step multiplies the weight by 1 − lr · decay, here 0.9999.",
    "You look for t with $0.9999^t = \\frac12$. Take the logarithm of both sides.",
    "$\\ln 0.9999$ is about −0.0001, and ln 2 = 0.693.",
)

START = "halved_after = ..."

SOLUTION = """
# Each step multiplies by 1 - 0.001 * 0.1 = 0.9999.
halved_after = math.log(0.5) / math.log(0.9999)
# 6,931 steps. A single step does not show this pull, but a whole run does.
"""

right = 6931.0

MISTAKES = (
    Mistake(
        "That is 1 / (lr · decay), the number of steps after which the weight is down to 1/e, about 0.37. For a half, multiply by ln 2.",
        code="halved_after = 10_000",
    ),
    Mistake(
        "That would be right if each step took away the same amount. Each takes its share of what remains, so the decline slows down.",
        code="halved_after = 5_000",
    ),
    Mistake(
        "You left out the learning rate: the pull of a step is lr · decay.",
        code="halved_after = math.log(0.5) / math.log(0.9)",
    ),
    Mistake(
        "You left out the decay: the pull of a step is lr · decay.",
        code="halved_after = math.log(0.5) / math.log(0.999)",
    ),
    Mistake(
        "You took the logarithm to base 10 of one side only. Use the same logarithm on both sides.",
        code="halved_after = math.log10(2) / 0.0001",
    ),
    Mistake(
        "Very close, but you rounded ln 2 to 0.69. The nearest ten needs its third digit, 0.693.",
        code="halved_after = 0.69 / 0.0001",
    ),
    Mistake(
        "You left out the learning rate: the pull of a step is lr · decay.",
        code="halved_after = 7",
    ),
    Mistake(
        "You left out the decay: the pull of a step is lr · decay.",
        code="halved_after = 690",
    ),
    Mistake(
        "That is rounded too far. Give the number to the nearest ten.",
        code="halved_after = 7_000",
    ),
)
