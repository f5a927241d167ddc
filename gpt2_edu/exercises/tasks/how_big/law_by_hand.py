"""A loss by formula."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 5

TASK = r"""
Somebody fits many runs and finds $L = E + A / N^\alpha + B / D^\beta$ with E = 0.5, A = 20, B = 1,000 and α = β = 0.5. Which loss does this predict for N = 10,000 parameters and D = 4 million tokens? And which for the same model, trained for ever?
"""

HINTS = (
    "An exponent of 0.5 is a square root. √10,000 = 100, and √4,000,000 = 2,000.",
    "The three terms are 0.5, 20 / 100 and 1,000 / 2,000.",
    "For ever means D = ∞, so that the third term is 0. The second stays, because the model is no larger.",
)

START = "law_by_hand = ...  # two numbers: [with 4 million tokens, for ever]"

SOLUTION = """
size = 20 / 10_000**0.5
length = 1_000 / 4_000_000**0.5
law_by_hand = [0.5 + size + length, 0.5 + size]
"""

right = [1.2, 0.7]

MISTAKES = (
    Mistake(
        "The floor E is missing. It is what remains when both other terms are 0.",
        ("[0.5 + size + length, 0.5 + size]", "[size + length, size]"),
    ),
    Mistake(
        "For ever, the loss does not fall to E. The term of the size stays, because the model is no larger.",
        ("0.5 + size]", "0.5]"),
    ),
    Mistake(
        "The wrong term has gone. Without end, it is the one with D that becomes 0.",
        ("0.5 + size]", "0.5 + length]"),
    ),
    Mistake(
        "The two sizes have changed places. A belongs to the parameters and B to the tokens.",
        ("20 / 10_000**0.5", "20 / 4_000_000**0.5"),
        ("1_000 / 4_000_000**0.5", "1_000 / 10_000**0.5"),
    ),
    Mistake(
        "The sizes are divided by 2. An exponent of 0.5 is a square root.",
        ("10_000**0.5", "(10_000 * 0.5)"),
        ("4_000_000**0.5", "(4_000_000 * 0.5)"),
    ),
    Mistake(
        "More tokens lower the loss, so that B is divided by the root and not multiplied.",
        ("1_000 / 4_000_000**0.5", "1_000 * 4_000_000**0.5"),
    ),
    Mistake(
        "Both terms are multiplied by the roots. They are divided, so that more parameters and more tokens lower the loss.",
        ("20 / 10_000**0.5", "20 * 10_000**0.5"),
        ("1_000 / 4_000_000**0.5", "1_000 * 4_000_000**0.5"),
    ),
    Mistake(
        "The exponents are left out. 0.5 is a square root.",
        ("10_000**0.5", "10_000"),
        ("4_000_000**0.5", "4_000_000"),
    ),
    Mistake(
        "The sizes are squared. An exponent of 0.5 is a square root.",
        ("10_000**0.5", "10_000**2"),
        ("4_000_000**0.5", "4_000_000**2"),
    ),
    Mistake(
        "√4,000,000 is 2,000, because 2,000 · 2,000 is 4,000,000.",
        ("4_000_000**0.5", "200"),
    ),
    Mistake(
        "√4,000,000 is 2,000, because 2,000 · 2,000 is 4,000,000.",
        ("4_000_000**0.5", "20_000"),
    ),
    Mistake(
        "For ever, E is missing. Only the term with D becomes 0.",
        ("0.5 + size]", "size]"),
    ),
    Mistake(
        "For ever, only the term with D becomes 0. E and the term of the size stay.",
        ("0.5 + size]", "0]"),
    ),
    Mistake(
        "With D = ∞, B / √D is 0 and not ∞.",
        ("0.5 + size]", "math.inf]"),
    ),
    Mistake(
        "The two numbers have changed places.",
        ("[0.5 + size + length, 0.5 + size]", "[0.5 + size, 0.5 + size + length]"),
    ),
    Mistake(
        "The term of the size is missing in both.",
        ("[0.5 + size + length, 0.5 + size]", "[0.5 + length, 0.5]"),
    ),
    Mistake(
        "The two terms are multiplied. Add them.",
        ("size + length", "size * length"),
    ),
)
