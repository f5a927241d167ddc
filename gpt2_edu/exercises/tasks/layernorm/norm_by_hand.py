"""LayerNorm by hand."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 6

TASK = r"""
Compute the LayerNorm of the token

$$x = (5, 5, 7, -1) \qquad \gamma = (3, 3, 2, 3) \qquad \beta = (0, 1, 1, 1)$$

with a pencil. Leave ε out; the numbers are chosen so that the answers are whole numbers. Answer with a list of four numbers.
"""

HINTS = (
    "The mean is 4, so the distances from it are 1, 1, 3 and −5.",
    "The variance is the mean of the four squares, its root is 3.",
    "Divide the distances by 3. Then multiply by γ, and add β last.",
)

START = "norm_by_hand = ..."

SOLUTION = """
# mean 4; distances 1, 1, 3, -5; variance 36 / 4 = 9; std 3
# normalised 1/3, 1/3, 1, -5/3; times γ: 1, 1, 2, -5; plus β
norm_by_hand = [1, 2, 3, -4]
"""

right = [1, 2, 3, -4]
TOLERANCE = 5e-3

MISTAKES = (
    Mistake(
        "The squares are divided by C − 1 = 3 here. LayerNorm takes the biased variance, divided "
        "by C = 4.",
        code="norm_by_hand = [0.8660, 1.8660, 2.7321, -3.3301]",
    ),
    Mistake(
        "You divided by the variance, 9. Divide by its root, the standard deviation.",
        code="norm_by_hand = [1 / 3, 4 / 3, 5 / 3, -2 / 3]",
    ),
    Mistake(
        "γ and β are left out: multiply by γ, number by number, and add β.",
        code="norm_by_hand = [1 / 3, 1 / 3, 1, -5 / 3]",
    ),
    Mistake(
        "β is added too early, before the product with γ. It comes last.",
        code="norm_by_hand = [1, 4, 4, -2]",
    ),
    Mistake(
        "The mean is still in: subtract it before you divide.",
        code="norm_by_hand = [5, 6, 17 / 3, 0]",
    ),
    Mistake(
        "β is left out. After the product with γ, add β, number by number.",
        code="norm_by_hand = [1, 1, 2, -5]",
    ),
    Mistake(
        "γ is left out. Multiply by γ, number by number, before you add β.",
        code="norm_by_hand = [1 / 3, 4 / 3, 2, -2 / 3]",
    ),
    Mistake(
        "The division is missing. Divide the distances by the standard deviation, 3, before you multiply by γ.",
        code="norm_by_hand = [3, 4, 7, -14]",
    ),
    Mistake(
        "The last sign is lost. −1 is below the mean, so its distance is −5.",
        code="norm_by_hand = [1, 2, 3, 6]",
    ),
)
