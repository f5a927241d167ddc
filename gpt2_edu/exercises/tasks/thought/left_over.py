"""What is drawn after a rejection."""

from ...exercise import Mistake

ORDER = 50
KIND = "paper"
LEVEL = 2
RANK = "good"
MINUTES = 6

TASK = r"""
The large model gives three tokens the probabilities p = (0.5, 0.2, 0.3), and the draft q = (0.2, 0.6, 0.2). The draft has proposed token 1, and it was rejected. With which probabilities is the token drawn that replaces it?
"""

HINTS = (
    "After a rejection the token comes from max(p − q, 0), divided by its sum.",
    "p − q is (0.3, −0.4, 0.1).",
    "Token 1 cannot come again, because the draft proposes it too often already.",
)

START = "left_over = ...  # three numbers: [ , , ]"

SOLUTION = """
p, q = (0.5, 0.2, 0.3), (0.2, 0.6, 0.2)
missing = [max(a - b, 0) for a, b in zip(p, q)]  # 0.3, 0, 0.1
left_over = [m / sum(missing) for m in missing]
"""

right = [0.75, 0.0, 0.25]

MISTAKES = (
    Mistake(
        "That is p. Token 1 would then be written more often than p says, because half of what remains is added to what was accepted.",
        ("max(a - b, 0)", "a"),
    ),
    Mistake(
        "The differences are not divided by their sum, so they do not add up to 1.",
        ("m / sum(missing)", "m"),
    ),
    Mistake(
        "That is p without the rejected token, scaled up. It is not how much each token is short of: token 0 lacks 0.3, and token 2 only 0.1.",
        ("max(a - b, 0)", "a * (a > b)"),
    ),
    Mistake(
        "Those are the absolute differences. Token 1 is proposed too often, so nothing of it is missing.",
        ("max(a - b, 0)", "abs(a - b)"),
    ),
    Mistake(
        "The difference is turned around. What is missing is where p is above q.",
        ("max(a - b, 0)", "max(b - a, 0)"),
    ),
    Mistake(
        "That is q without the rejected token. The replacement is there to make up for q.",
        ("max(a - b, 0)", "b * (a > b)"),
    ),
)
