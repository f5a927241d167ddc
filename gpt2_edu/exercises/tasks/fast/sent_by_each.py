"""What one GPU sends."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 4

TASK = r"""
Four GPUs train together, data parallel. The gradient has 1,000 numbers. How many numbers does **each** GPU send in one all-reduce around a ring?

For comparison, the chapter's ring: three devices, a gradient of 6 numbers, and each device sends 8.
"""

HINTS = (
    "Into how many pieces is the gradient cut, and how many numbers are in a piece?",
    "In each exchange a device sends one piece. The first round has n − 1 exchanges, and the second one as many.",
    "2 · (n − 1) exchanges with 1,000 / n numbers each, for n = 4.",
)

START = "sent_by_each = ..."

SOLUTION = """
# two rounds of n - 1 exchanges, a piece of size / n in each
sent_by_each = 2 * (4 - 1) * 1000 // 4
"""

right = 1500

MISTAKES = (
    Mistake(
        "That is one round. After it each piece is complete on one device only, and a second round passes the complete pieces on.",
        code="sent_by_each = 3 * 1000 // 4",
    ),
    Mistake(
        "That is the limit for very many devices. With four, each round has three exchanges of a quarter.",
        code="sent_by_each = 2 * 1000",
    ),
    Mistake(
        "That is the whole gradient to each of the three others. In a ring a device sends pieces, and only to one neighbour.",
        code="sent_by_each = 3 * 1000",
    ),
    Mistake(
        "That is what all four send together, and also what each would send if every exchange were of the whole gradient. Each one sends a quarter of the gradient in each exchange.",
        code="sent_by_each = 4 * 1500",
    ),
    Mistake(
        "That is the whole gradient once. Each of two rounds sends three quarters of it.",
        code="sent_by_each = 1000",
    ),
    Mistake(
        "That is one piece. Each device sends one in every exchange, and there are two rounds of three.",
        code="sent_by_each = 250",
    ),
)
