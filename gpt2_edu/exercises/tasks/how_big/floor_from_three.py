"""A floor from three runs."""

from ...exercise import Mistake

ORDER = 30
KIND = "paper"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
One model is trained three times, on D, 4D and 16D tokens. The losses are 1.25, 0.85 and 0.65. If $L = E' + B / D^\beta$ holds, what are E′ (the loss of this model after endless training) and β?
"""

HINTS = (
    "How much does the loss fall from the first run to the second, and from the second to the third?",
    "It falls by 0.4, then by half of that. So B / D^β is halved whenever D becomes four times as large.",
    "After the third run the falls go on with 0.1, 0.05, 0.025 …, which is 0.2 in all. And 4^β = 2.",
)

START = "floor_from_three = ...  # two numbers: [E′, β]"

SOLUTION = """
first, second = 1.25 - 0.85, 0.85 - 0.65
ratio = first / second  # 2
left = second / (ratio - 1)  # 0.2
floor_from_three = [0.65 - left, math.log(ratio) / math.log(4)]
"""

right = [0.45, 0.5]

MISTAKES = (
    Mistake(
        "Only the next fall is taken off. Others follow, each half as large as the one before.",
        ("second / (ratio - 1)", "second / ratio"),
    ),
    Mistake(
        "That is the ratio of the falls, not the exponent. How often is 4 to be multiplied with itself to give it?",
        ("math.log(ratio) / math.log(4)", "ratio"),
    ),
    Mistake(
        "The exponent is right for runs that are twice as long each time. Here they are four times as long.",
        ("math.log(4)", "math.log(2)"),
    ),
    Mistake(
        "The exponent compares two falls, and between those lies one step of 4, not of 16.",
        ("math.log(4)", "math.log(16)"),
    ),
    Mistake(
        "The losses themselves are divided, as if the floor were 0. The falls do not depend on the floor, so divide those.",
        ("first / second", "1.25 / 0.85"),
    ),
    Mistake(
        "That is the loss of the longest run. It is still falling.",
        ("0.65 - left", "0.65"),
    ),
    Mistake(
        "The last fall is taken off the shortest run. What is left to fall is left to fall after the longest.",
        ("0.65 - left", "1.25 - left"),
    ),
)
