"""The floor of another language."""

import math

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "extra"
MINUTES = 4

TASK = r"""
A language has sentences such as "The red fox sleeps .": three colours and five animals, each choice equally likely and independent of the other. Every word is one token, as is the full stop. A sentence asks for six predictions, five for its tokens and one for the end.

What is the best possible loss per prediction, in nats? Two decimals are enough. For comparison, the museum's language has the floor $(\ln 4 + \ln 3 + \ln 2) / 9 = 0.353$.
"""

HINTS = (
    "Which of the six predictions are certain? What does a certain one cost?",
    "A choice among n equally likely words costs ln n. There are two choices in a sentence.",
    "$(\\ln 3 + \\ln 5) / 6$.",
)

START = "museum_floor = ..."

SOLUTION = """
# four of the six predictions are certain and cost nothing
museum_floor = (math.log(3) + math.log(5)) / 6
"""

TOLERANCE = 5e-3

right = math.log(15) / 6

MISTAKES = (
    Mistake(
        "That is for a whole sentence. The loss is a mean over its six predictions.",
        code="museum_floor = math.log(15)",
    ),
    Mistake(
        "That is the mean over only the two choices. The four certain predictions count in the mean as well, with 0.",
        code="museum_floor = math.log(15) / 2",
    ),
    Mistake(
        "Here the choices were added before the logarithm. Three colours and five animals make 15 sentences, not 8.",
        code="museum_floor = math.log(3 + 5) / 6",
    ),
    Mistake(
        "That is in bits. PyTorch's loss is in nats, with the natural logarithm.",
        code="museum_floor = math.log2(15) / 6",
    ),
    Mistake(
        "Five predictions? The end of the sentence is predicted too, so there are six.",
        code="museum_floor = math.log(15) / 5",
    ),
    Mistake(
        "Three colours and five animals make 3 · 5 = 15 sentences, not 24, and each has six predictions. 24 and nine belong to the museum's own language.",
        code="museum_floor = math.log(24) / 9",
    ),
)
