"""How far to draft."""

from ...exercise import Case, Mistake

ORDER = 80
KIND = "write"
LEVEL = 2
RANK = "extra"
MINUTES = 12

TASK = r"""
A pass of the large model takes the time 1, for one token or for several. A pass of the draft takes the time `cost`, and drafting `ahead` tokens takes `ahead` passes. A round gives 1 + share + share² + … + share^ahead tokens on average. Write `best_ahead(share, cost, most)`. It returns the `ahead` from 0 to `most` with the most tokens per time. 0 means that no draft pays.
"""

HINTS = (
    "For each `ahead`, divide the tokens of a round by its time.",
    "The time of a round is 1 + cost · ahead.",
    "`max(range(most + 1), key=speed)` returns the number for which the function `speed` is largest.",
)

START = '''
def best_ahead(share, cost, most):
    """share and cost numbers, most a whole number. Returns a whole number."""
    ...
'''

SOLUTION = """
def best_ahead(share, cost, most):
    def speed(ahead):
        tokens = sum(share**i for i in range(ahead + 1))
        return tokens / (1 + cost * ahead)

    return max(range(most + 1), key=speed)
"""

MISTAKES = (
    Mistake(
        "The draft's time does not grow with `ahead`. It needs a pass for each token that it drafts, or further ahead would always look better.",
        ("(1 + cost * ahead)", "1"),
    ),
    Mistake(
        "0 is left out. With a slow or poor draft, none at all is best.",
        ("range(most + 1), key", "range(1, most + 1), key"),
    ),
    Mistake(
        "That is the speed. How far to draft was asked for.",
        ("max(range(most + 1), key=speed)", "max(map(speed, range(most + 1)))"),
    ),
    Mistake(
        "That is the slowest choice.",
        ("max(range", "min(range"),
    ),
    Mistake(
        "The large model's own token is missing from the tokens of a round.",
        ("range(ahead + 1))", "range(1, ahead + 1))"),
    ),
    Mistake(
        "Drafts after a rejected one are counted. The i-th draft needs i acceptances.",
        ("sum(share**i for i in range(ahead + 1))", "1 + share * ahead"),
    ),
    Mistake(
        "`most` itself is left out.",
        ("range(most + 1), key", "range(most), key"),
    ),
    Mistake(
        "The time is subtracted. Tokens *per time* are divided by it.",
        ("tokens / (1 + cost * ahead)", "tokens - cost * ahead"),
    ),
    Mistake(
        "The draft runs once more than it drafts. Drafting `ahead` tokens takes `ahead` passes.",
        ("cost * ahead)", "cost * (ahead + 1))"),
    ),
    Mistake(
        "0 is among the answers that are asked for, and `most`, too: `range(most + 1)`.",
        ("range(most + 1), key", "range(1, most), key"),
    ),
    Mistake(
        "The time of a round is 1 + cost · ahead. Without the large model's pass, a round without a draft takes no time.",
        ("(1 + cost * ahead)", "(cost * ahead + ahead)"),
    ),
)


def right(share, cost, most):
    best, fastest, tokens = 0, 1.0, 1.0
    for ahead in range(1, most + 1):
        tokens += share**ahead
        if tokens / (1 + cost * ahead) > fastest:
            best, fastest = ahead, tokens / (1 + cost * ahead)
    return best


def cases():
    return [
        Case("share 0.84, a draft that costs a tenth", (0.84, 0.1, 16)),
        Case("share 0.84, a draft that costs a third", (0.84, 0.33, 16)),
        Case("share 0.3, a draft that costs half", (0.3, 0.5, 16)),
        Case("share 0.95, a draft that costs nearly nothing", (0.95, 0.001, 8)),
        Case("share 0.7, a draft that costs a hundredth", (0.7, 0.01, 16)),
    ]
