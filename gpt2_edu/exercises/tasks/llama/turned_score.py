"""A score after turning."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 6
TOLERANCE = 5e-3

TASK = r"""
A head has one pair of columns, and each step of one token turns it by π/6, that is, by 30°. The query is $q = (2, 1)$ at position 4, and the key is $k = (1, 2)$ at position 1. What is their score, after both have been turned? Leave out the division by √D.
"""

HINTS = (
    "You need not turn both. Only the angle between them counts, and that changes by the distance times 30°.",
    "The query is three positions ahead, so it is turned by 90° more than the key. Turn the query by 90° and leave the key as it is.",
    "A turn by 90° makes (−y, x) of (x, y).",
)

START = "turned_score = ..."

SOLUTION = """
# Seen from the key, the query is turned by 3 · 30° = 90°: (2, 1) becomes (−1, 2)
turned_score = -1 * 1 + 2 * 2  # 3
"""

right = 3

MISTAKES = (
    Mistake(
        "That is the score without turning. The query is turned by 4 · 30°, the key by 1 · 30°.",
        code="turned_score = 4",
    ),
    Mistake(
        "You turn the wrong way. The query is ahead of the key, so seen from the key it is turned by +90°: (2, 1) becomes (−1, 2).",
        code="turned_score = -3",
    ),
    Mistake(
        "That is the product of the two lengths, the score of two vectors that point the same way. These do not.",
        code="turned_score = 5",
    ),
    Mistake(
        "You turn by the sum of the positions, 5 · 30°. The angle between the two grows with the difference of their positions.",
        code="turned_score = 4 * math.cos(math.pi * 5 / 6) + 3 * math.sin(math.pi * 5 / 6)",
    ),
    Mistake(
        "You turn the query by 4 · 30° and leave the key where it is. The key is at position 1, so it is turned by 30°.",
        code="turned_score = 4 * math.cos(math.pi * 2 / 3) + 3 * math.sin(math.pi * 2 / 3)",
    ),
    Mistake(
        "You turn the key by 30° and leave the query where it is. The query is at position 4, so it is turned by 120°.",
        code="turned_score = 4 * math.cos(math.pi / 6) - 3 * math.sin(math.pi / 6)",
    ),
    Mistake(
        "You turn by two steps. From position 1 to position 4 there are three.",
        code="turned_score = 4 * math.cos(math.pi / 3) + 3 * math.sin(math.pi / 3)",
    ),
    Mistake(
        "`math.cos` and `math.sin` take radians. 90° are π/2 of them.",
        code="turned_score = 4 * math.cos(90) + 3 * math.sin(90)",
    ),
    Mistake(
        "You divide by √2. The task leaves that out.",
        code="turned_score = 3 / math.sqrt(2)",
    ),
)
