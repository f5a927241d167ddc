"""How large are the scores?"""

from ...exercise import Mistake

ORDER = 40
KIND = "paper"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
A query and a key have $d = 16$ entries each, all independent and with mean 0. This time the variances are not 1. The query's entries have variance 4, and the key's have variance 9.

What is the typical size of $q \cdot k$ (the root of its variance), and what is it after the division by $\sqrt d$? Give both numbers in a list, such as `[3.5, 0.2]`.
"""

HINTS = (
    "Begin with one product of two entries. What is its mean square?",
    "Each product has the variance 4 · 9 = 36. For independent terms, the variance of a sum is the sum of the variances.",
    "The sum of 16 products has the variance 16 · 36 = 576. Take the root, then divide by √16.",
)

START = "score_size = ..."

SOLUTION = """
product = 4 * 9  # variance of one product: its mean square
total = 16 * product  # variances of independent terms add up: 576
score_size = [math.sqrt(total), math.sqrt(total) / math.sqrt(16)]  # 24, 6
"""

right = [24, 6]

TOLERANCE = 2e-3

MISTAKES = (
    Mistake(
        "This would be right for entries of variance 1. Here each product has the variance 4 · 9.",
        code="score_size = [4, 1]",
    ),
    Mistake(
        "You gave the variances. The typical size is the root of the variance.",
        code="score_size = [576, 576 / 16]",
    ),
    Mistake(
        "You added the sizes of the 16 products, 16 · 6. Add the variances, and take the root at the end.",
        code="score_size = [96, 24]",
    ),
    Mistake(
        "The first number is right. For the second, divide by √16, not by 16.",
        code="score_size = [24, 1.5]",
    ),
    Mistake(
        "You added the variances of the two factors. They must be multiplied, since a product has the mean square 4 · 9.",
        code="score_size = [math.sqrt(16 * 13), math.sqrt(13)]",
    ),
    Mistake(
        "576 is the variance. Its root is the typical size, and that is divided by √16.",
        code="score_size = [576, 144]",
    ),
    Mistake(
        "That is the size of a single product, √36. The score is the sum of 16 of them.",
        code="score_size = [6, 1.5]",
    ),
    Mistake(
        "36 is the variance of a single product. Add up 16 of them, and take the root at the end.",
        code="score_size = [36, 9]",
    ),
    Mistake(
        "The second number is not divided yet. Divide it by √16.",
        code="score_size = [24, 24]",
    ),
    Mistake(
        "That is for one of the two variances. A product has the variance 4 · 9.",
        code="score_size = [8, 2]",
    ),
    Mistake(
        "That is for one of the two variances. A product has the variance 4 · 9.",
        code="score_size = [12, 3]",
    ),
)
