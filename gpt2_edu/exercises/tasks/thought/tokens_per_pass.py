"""Tokens per pass."""

from ...exercise import Case, Mistake

ORDER = 70
KIND = "write"
LEVEL = 1
RANK = "good"
MINUTES = 8

TASK = r"""
A draft proposes `ahead` tokens, and the large model checks them in one pass. Each is accepted with the probability `share`, independently of the others, and the first rejection ends the round. The large model always adds one token, in place of the rejected one or after the last. Write `tokens_per_pass(share, ahead)`, the expected number of new tokens in a round.

With 0.5 and 2 it is 1 + 0.5 + 0.25 = 1.75.
"""

HINTS = (
    "The first draft is in the text with the probability `share`, the second only if both are accepted.",
    "The i-th draft counts with the probability share to the power of i. The large model's own token counts with 1.",
    "A sum over i from 0 to `ahead` is safer than its closed formula, which divides by 1 − share.",
)

START = '''
def tokens_per_pass(share, ahead):
    """share a number from 0 to 1, ahead a whole number. Returns a number."""
    ...
'''

SOLUTION = """
def tokens_per_pass(share, ahead):
    return sum(share**i for i in range(ahead + 1))
"""

MISTAKES = (
    Mistake(
        "The large model's own token is missing.",
        ("range(ahead + 1)", "range(1, ahead + 1)"),
    ),
    Mistake(
        "The last draft is missing. With `ahead` drafts there are ahead + 1 terms.",
        ("range(ahead + 1)", "range(ahead)"),
    ),
    Mistake(
        "Drafts after a rejected one are counted. The first rejection ends the round, so the second draft needs two acceptances.",
        ("sum(share**i for i in range(ahead + 1))", "1 + share * ahead"),
    ),
    Mistake(
        "That would be right if the draft went on for ever. It stops after `ahead` tokens.",
        code="""
def tokens_per_pass(share, ahead):
    return 1 / (1 - share) if share < 1 else ahead + 1
""",
    ),
    Mistake(
        "A draft that is always accepted divides by zero here. Then there are ahead + 1 tokens.",
        code="""
def tokens_per_pass(share, ahead):
    return (1 - share ** (ahead + 1)) / (1 - share)
""",
    ),
    Mistake(
        "That is how many there can be at most. Some drafts are rejected.",
        ("sum(share**i for i in range(ahead + 1))", "ahead + 1"),
    ),
    Mistake(
        "Those are the rejections. `share` is the probability of being accepted.",
        ("share**i", "(1 - share)**i"),
    ),
    Mistake(
        "That is the chance that all drafts are accepted. Add up the chances of reaching each one.",
        ("sum(share**i for i in range(ahead + 1))", "share**ahead"),
    ),
    Mistake(
        "That is how many drafts would be accepted if none were lost after a rejection, without the large model's own token.",
        ("sum(share**i for i in range(ahead + 1))", "share * ahead"),
    ),
    Mistake(
        "Only the last draft is counted. The drafts before it are in the text as well.",
        ("sum(share**i for i in range(ahead + 1))", "1 + share**ahead"),
    ),
    Mistake(
        "The share is multiplied by i. It is raised to the power of i.",
        ("share**i", "share * i"),
    ),
    Mistake(
        "Each term is weighted by its number. The i-th draft is one token.",
        ("share**i", "i * share**i"),
    ),
    Mistake(
        "The large model's own token is counted twice. It is the term with i = 0.",
        ("return sum", "return 1 + sum"),
    ),
    Mistake(
        "There is a term too many. i goes from 0 to `ahead`.",
        ("ahead + 1", "ahead + 2"),
    ),
    Mistake(
        "That is a mean over the terms. Add them up.",
        ("for i in range(ahead + 1))", "for i in range(ahead + 1)) / (ahead + 1)"),
    ),
    Mistake(
        "The expected number need not be whole. Do not round it.",
        (
            "return sum(share**i for i in range(ahead + 1))",
            "return round(sum(share**i for i in range(ahead + 1)))",
        ),
    ),
    Mistake(
        "Each term is multiplied by the chance of a rejection, so this is only how likely a rejection is. Add up share^i.",
        ("share**i", "share**i * (1 - share)"),
    ),
    Mistake(
        "Three terms are right for two drafts only. There are ahead + 1.",
        ("range(ahead + 1)", "range(3)"),
    ),
    Mistake(
        "This is the limit for a draft of any length. It ends after `ahead` tokens.",
        ("sum(share**i for i in range(ahead + 1))", "1 / (1 - share) if share < 1 else math.inf"),
    ),
)


def right(share, ahead):
    tokens = 1.0
    for _ in range(ahead):  # from the last draft to the first
        tokens = 1 + share * tokens
    return tokens


def cases():
    return [
        Case("share 0.5, two ahead", (0.5, 2)),
        Case("share 0.84, four ahead", (0.84, 4)),
        Case("all accepted", (1.0, 3)),
        Case("none accepted", (0.0, 5)),
        Case("no draft", (0.9, 0)),
    ]
