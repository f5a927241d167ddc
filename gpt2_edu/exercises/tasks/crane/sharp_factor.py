"""How long must a query be?"""

from ...exercise import Mistake

ORDER = 50
KIND = "explore"
LEVEL = 2
RANK = "extra"
MINUTES = 8

TASK = """
In "crane ate fish" the crane keeps 0.3982 of itself. With the query doubled, (1.4, 1.4), it keeps 0.4668. The keys stay as they are: (0.7, 0.7), (0.9, 0.1), (0.9, 0.1).

Multiply the query (0.7, 0.7) by 1, 2, 3, … What is the smallest whole number at which the crane keeps **at least 99 %** of itself? Find it with code, or with a logarithm.
"""

HINTS = (
    "`torch.softmax(keys @ (factor * q), dim=0)[0]` is what the crane keeps. Raise `factor` until it is 0.99 or more.",
    "On paper: with the factor f the scores are 0.98 f, 0.70 f and 0.70 f, so the crane's power is $e^{0.28 f}$ times each neighbour's. There are two neighbours.",
)

START = """
q = torch.tensor([0.7, 0.7])
keys = torch.tensor([[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]])
sharp_factor = ...
"""

SOLUTION = """
q = torch.tensor([0.7, 0.7])
keys = torch.tensor([[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]])
sharp_factor = 1
while torch.softmax(keys @ (sharp_factor * q), dim=0)[0] < 0.99:
    sharp_factor += 1
# 19. On paper: e^(0.28 f) must be 99 times as much as two neighbours,
# so f = ln(198) / 0.28 = 18.9. Long vectors make a softmax all or nothing.
"""

right = 19

TOLERANCE = 1e-3  # the exact solution may be rounded

MISTAKES = (
    Mistake(
        "There it keeps 98.7 %. Continue to the first factor at which it is 99 % or more.",
        code="sharp_factor = 18",
    ),
    Mistake(
        "There it keeps more than 99 %, but a smaller factor is also enough.",
        code="sharp_factor = 20",
    ),
    Mistake(
        "You calculated with one neighbour. Both take their share, so the crane's power must be 99 times their sum.",
        code="sharp_factor = 17",
    ),
    Mistake(
        "You used the crane's score, 0.98, but only its lead counts. The softmax sees differences, here 0.98 − 0.70 = 0.28.",
        code="sharp_factor = 6",
    ),
    Mistake(
        "That is where it keeps 99 % exactly. Give the whole number above it.",
        code="sharp_factor = math.log(198) / 0.28",
    ),
    Mistake(
        "You doubled the factor each time, and jumped over smaller ones that are enough. Raise it by 1.",
        code="sharp_factor = 32",
    ),
    Mistake(
        "You multiplied the keys by it as well. Only the query grows.",
        code="sharp_factor = 5",
    ),
    Mistake(
        "There it keeps 95 %, not 99 %.",
        code="sharp_factor = 13",
    ),
    Mistake(
        "You took the logarithm to the base 10. The inverse of e to the power of x is the natural one, `math.log`.",
        code="""sharp_factor = math.ceil(math.log10(198) / 0.28)""",
    ),
)
