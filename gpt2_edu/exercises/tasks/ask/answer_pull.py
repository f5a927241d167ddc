"""How hard does an answer pull?"""

from ...exercise import Mistake

ORDER = 30
KIND = "paper"
LEVEL = 2
RANK = "good"
MINUTES = 6

TASK = r"""
A conversation has 80 tokens, the `<|endoftext|>` at both ends included, so 79 of them are predicted. The answer is two tokens long, and the `<|endoftext|>` after it belongs to what is learned. The loss is a mean.

With the loss on answers alone, each of the answer's tokens has a larger share of the loss than with the loss on everything. How many times as large is it?
"""

HINTS = (
    "How many terms does the mean have in either case?",
    "A term of a mean over n terms has the share 1/n.",
    "On everything n is 79, on answers alone it is 3.",
)

START = "answer_pull = ...  # to one decimal"

SOLUTION = """
on_answers, on_everything = 1 / 3, 1 / 79
answer_pull = on_answers / on_everything
"""

right = 79 / 3
TOLERANCE = 2e-3

MISTAKES = (
    Mistake(
        "The `<|endoftext|>` after the answer is left out. It is learned, too, or the model does not know when to stop.",
        ("1 / 3", "1 / 2"),
    ),
    Mistake(
        "The first token is never predicted, because nothing precedes it. That leaves 79.",
        ("1 / 79", "1 / 80"),
    ),
    Mistake(
        "That is upside down: the share with everything, divided by the share with answers alone.",
        ("on_answers / on_everything", "on_everything / on_answers"),
    ),
    Mistake(
        "That compares the answer's tokens with the *other* tokens. On everything, the mean is over all 79.",
        ("1 / 79", "1 / 76"),
    ),
    Mistake(
        "That is a token's share of the loss on answers. Divide it by the share that it has on everything.",
        ("on_answers / on_everything", "on_answers"),
    ),
    Mistake(
        "That is a token's share of the loss on everything. The share with answers alone is to be divided by it.",
        ("on_answers / on_everything", "on_everything"),
    ),
    Mistake(
        "That is the number of predicted tokens. Divide it by the number of those that count with answers alone.",
        ("on_answers / on_everything", "1 / on_everything"),
    ),
    Mistake(
        "That is the difference of the shares. How many *times* as large is one?",
        ("on_answers / on_everything", "on_answers - on_everything"),
    ),
    Mistake(
        "Two things: the `<|endoftext|>` after the answer is learned, too, and the first token is never predicted.",
        ("1 / 3, 1 / 79", "1 / 2, 1 / 80"),
    ),
    Mistake(
        "Four tokens are counted. Two of the answer and the `<|endoftext|>` make three; the `assistant` token is given.",
        ("1 / 3", "1 / 4"),
    ),
    Mistake(
        "That is how many tokens count with answers alone. How large is the share of one of them?",
        ("on_answers / on_everything", "1 / on_answers"),
    ),
    Mistake(
        "That is how many tokens no longer count. How much larger is the share of each that does?",
        ("on_answers / on_everything", "79 - 3"),
    ),
)
