"""A floor from three runs."""

from ...exercise import Mistake

ORDER = 30
KIND = "paper"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
One model is trained three times, on D, 9D and 81D tokens. The losses are 1.35, 0.75 and 0.55. If $L = E' + B / D^\beta$ holds, what are E′ (the loss of this model after endless training) and β?
"""

HINTS = (
    "How much does the loss fall from the first run to the second, and from the second to the third?",
    "It falls by 0.6, then by a third of that. So B / D^β falls to a third whenever D becomes nine times as large.",
    "After the third run the falls go on with 0.2 / 3, 0.2 / 9, 0.2 / 27 …, which is 0.1 in all. And 9^β = 3.",
)

START = "floor_from_three = ...  # two numbers: [E′, β]"

SOLUTION = """
first, second = 1.35 - 0.75, 0.75 - 0.55
ratio = first / second  # 3
left = second / (ratio - 1)  # 0.1
floor_from_three = [0.55 - left, math.log(ratio) / math.log(9)]
"""

right = [0.45, 0.5]

MISTAKES = (
    Mistake(
        "Only the next fall is taken off. Others follow, each a third of the one before.",
        ("second / (ratio - 1)", "second / ratio"),
    ),
    Mistake(
        "That is the ratio of the falls, not the exponent. Which power of 9 is it?",
        ("math.log(ratio) / math.log(9)", "ratio"),
    ),
    Mistake(
        "The exponent is right for runs that are three times as long each time. Here they are nine times as long.",
        ("math.log(9)", "math.log(3)"),
    ),
    Mistake(
        "The exponent compares two falls, and between those lies one step of 9, not of 81.",
        ("math.log(9)", "math.log(81)"),
    ),
    Mistake(
        "The losses themselves are divided, as if the floor were 0. The falls do not depend on the floor, so divide those.",
        ("first / second", "1.35 / 0.75"),
    ),
    Mistake(
        "That is the loss of the longest run. It is still falling.",
        ("0.55 - left", "0.55"),
    ),
    Mistake(
        "The last fall is taken off the shortest run. What is left to fall is left to fall after the longest.",
        ("0.55 - left", "1.35 - left"),
    ),
    Mistake(
        "The sign of β is turned. The loss falls with D, and D^β is below the fraction bar already.",
        ("math.log(ratio) / math.log(9)", "-math.log(ratio) / math.log(9)"),
    ),
    Mistake(
        "The logarithms are divided the wrong way round. 9^β is the ratio of the falls, so β is ln(ratio) / ln 9.",
        ("math.log(ratio) / math.log(9)", "math.log(9) / math.log(ratio)"),
    ),
    Mistake(
        "The ratio of the falls is divided by 9. β is an exponent: 9^β is the ratio.",
        ("math.log(ratio) / math.log(9)", "ratio / 9"),
    ),
    Mistake(
        "That is only the logarithm of the ratio. Divide it by ln 9.",
        ("math.log(ratio) / math.log(9)", "math.log(ratio)"),
    ),
    Mistake(
        "β comes from the losses themselves, as if the floor were 0. The falls do not depend on the floor, so compare those.",
        ("math.log(ratio)", "math.log(1.35 / 0.75)"),
    ),
    Mistake(
        "β comes from the losses themselves, as if the floor were 0. The falls do not depend on the floor, so compare those.",
        ("math.log(ratio)", "math.log(0.75 / 0.55)"),
    ),
    Mistake(
        "β comes from the losses themselves, as if the floor were 0. The falls do not depend on the floor, so compare those.",
        ("math.log(ratio) / math.log(9)", "math.log(1.35 / 0.55) / math.log(81)"),
    ),
    Mistake(
        "The two numbers have changed places: E′ comes first.",
        (
            "[0.55 - left, math.log(ratio) / math.log(9)]",
            "[math.log(ratio) / math.log(9), 0.55 - left]",
        ),
    ),
    Mistake(
        "That is how far the loss still falls. Subtract it from the loss of the longest run.",
        ("0.55 - left", "left"),
    ),
    Mistake(
        "The last fall is taken off once more. The falls become smaller, and all that follow make 0.1 together.",
        ("0.55 - left", "0.55 - second"),
    ),
    Mistake(
        "Only two more falls are taken off. Others follow, each a third of the one before.",
        ("second / (ratio - 1)", "second / ratio + second / ratio**2"),
    ),
    Mistake(
        "What is still to fall is taken off the second run. It is left to fall after the longest.",
        ("0.55 - left", "0.75 - left"),
    ),
    Mistake(
        "E′ is not 0: the falls become smaller, and all that follow make 0.1 together.",
        ("0.55 - left", "0"),
    ),
)
