"""A vote."""

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 1
RANK = "good"
MINUTES = 8

TASK = r"""
A model has answered the same question several times. Write `most_voted(answers)`, which returns the answer that was given most often. The answers are cups, numbers from 0 to 4. `None` stands for a text without an answer, and it has no vote. If several answers have the same number of votes, the one that was given first wins. Without any vote, return −1.
"""

HINTS = (
    "First leave out every `None`. Mind that cup 0 is an answer.",
    "`given.count(answer)` says how often an answer occurs in the list `given`.",
    "`max(given, key=given.count)` takes the first of several that are equally frequent, and `default=-1` is for an empty list.",
)

START = '''
def most_voted(answers):
    """A list of numbers and None. Returns a number."""
    ...
'''

SOLUTION = """
def most_voted(answers):
    given = [answer for answer in answers if answer is not None]
    return max(given, key=given.count, default=-1)
"""

MISTAKES = (
    Mistake(
        "Cup 0 has no vote, because 0 counts as false. Compare with `None`.",
        ("if answer is not None", "if answer"),
    ),
    Mistake(
        "Texts without an answer have a vote as well. Leave out every `None`.",
        (" if answer is not None", ""),
    ),
    Mistake(
        "Among answers with the same number of votes, the last one wins. The first should.",
        ("max(given,", "max(given[::-1],"),
    ),
    Mistake(
        "Among answers with the same number of votes, the smallest wins. The one that was given first should.",
        ("max(given,", "max(sorted(given),"),
    ),
    Mistake(
        "That is the largest cup. Compare how often each is given: `key=given.count`.",
        ("key=given.count, ", ""),
    ),
    Mistake(
        "That is the rarest answer.",
        ("max(given", "min(given"),
    ),
    Mistake(
        "That is how many votes it has. The answer itself was asked for.",
        code="""
def most_voted(answers):
    given = [answer for answer in answers if answer is not None]
    return max((given.count(answer) for answer in given), default=-1)
""",
    ),
    Mistake(
        "It returns an answer only if more than half agree. The most frequent one wins, however few votes it has.",
        code="""
def most_voted(answers):
    given = [answer for answer in answers if answer is not None]
    best = max(given, key=given.count, default=-1)
    return best if 2 * given.count(best) > len(given) else -1
""",
    ),
    Mistake(
        "That is the first answer. A vote looks at all of them.",
        code="""
def most_voted(answers):
    return next((answer for answer in answers if answer is not None), -1)
""",
    ),
    Mistake(
        "It fails where no text has an answer. `max` has a `default` for that.",
        (", default=-1", ""),
    ),
    Mistake(
        "The last answer counts for nothing more than the others. Return the one that was given most often.",
        ("max(given, key=given.count, default=-1)", "given[-1] if given else -1"),
    ),
    Mistake(
        "A mean of cups is no cup. Return the answer that was given most often.",
        ("max(given, key=given.count, default=-1)", "sum(given) / len(given) if given else -1"),
    ),
    Mistake(
        "That is the median. Return the answer that was given most often.",
        (
            "max(given, key=given.count, default=-1)",
            "sorted(given)[len(given) // 2] if given else -1",
        ),
    ),
    Mistake(
        "Without any vote, return −1.",
        ("default=-1", "default=0"),
    ),
    Mistake(
        "Among answers with the same number of votes, the smallest wins, and without any vote cup 0. The first that was given should win, and without any vote it is −1.",
        code="""
def most_voted(answers):
    counts = [0] * 5
    for answer in answers:
        if answer is not None:
            counts[answer] += 1
    return counts.index(max(counts))
""",
    ),
    Mistake(
        "One text without an answer ends the vote here. Leave each `None` out, and count the others.",
        code="""
def most_voted(answers):
    if None in answers:
        return -1
    return max(answers, key=answers.count, default=-1)
""",
    ),
    Mistake(
        "Cup 0 has no vote here, and `None` has. Leave out every `None`, and nothing else.",
        ("answer is not None", "answer != 0"),
    ),
)


def right(answers):
    votes = {}
    for answer in answers:
        if answer is not None:
            votes[answer] = votes.get(answer, 0) + 1
    return next((one for one, n in votes.items() if n == max(votes.values())), -1)


def cases():
    return [
        Case("six answers", ([2, 1, 1, 4, 1, 2],)),
        Case("no majority", ([2, 0, 4, 0, 3, 1],)),
        Case("two with the same number of votes", ([3, 2, 3, 2, 4, 4],)),
        Case("most without an answer", ([None, 0, None, 3, None, 3],)),
        Case("a single vote", ([None, 3],)),
        Case("no vote at all", ([None, None],)),
    ]
