"""From a message to ids."""

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 10

TASK = r"""
Write `rendered_exchange(asked, answered, user, assistant, end)`. It gets the ids of what the user says and those of what the assistant answers, two lists, and the three ids of the special tokens. It returns two lists of the same length.

The first has the ids of the whole conversation: `end`, `user`, what the user says, `assistant`, what the assistant answers, `end`.

The second says for each of them, as True or False, whether the model is to learn to *say* it. It learns to say the answer and the `end` after it. All else is given to it.
"""

HINTS = (
    "Lists are joined with +: `[end, user, *asked, assistant, *answered, end]` does it in one go.",
    "How many tokens are given? `end`, `user`, all of `asked`, and `assistant`.",
    "`[False] * n + [True] * m`, where m is the length of the answer and one more.",
)

START = '''
def rendered_exchange(asked, answered, user, assistant, end):
    """asked and answered are lists of ids, the others single ids. Returns two lists."""
    ...
'''

SOLUTION = """
def rendered_exchange(asked, answered, user, assistant, end):
    given = [end, user, *asked, assistant]
    said = [*answered, end]
    return given + said, [False] * len(given) + [True] * len(said)
"""

MISTAKES = (
    Mistake(
        "The last `end` is not learned here. Without it a model answers and then goes on talking.",
        ("[True] * len(said)", "[True] * len(answered) + [False]"),
    ),
    Mistake(
        "There is no `end` after the answer, so the model never learns to stop.",
        ("[*answered, end]", "[*answered]"),
    ),
    Mistake(
        "The `assistant` token is marked as well. It is given, by whoever asks; the model says what follows.",
        ("[False] * len(given)", "[False] * (len(given) - 1) + [True]"),
    ),
    Mistake(
        "True and False are exchanged: True stands for what the model is to say.",
        ("[False] * len(given) + [True] * len(said)", "[True] * len(given) + [False] * len(said)"),
    ),
    Mistake(
        "Everything is marked. The question is given, so the model need not learn to say it.",
        ("[False] * len(given)", "[True] * len(given)"),
    ),
    Mistake(
        "There is no `end` at the beginning. It tells the model that a new text begins.",
        ("[end, user, *asked, assistant]", "[user, *asked, assistant]"),
    ),
    Mistake(
        "The two roles are exchanged. The user asks first.",
        ("[end, user, *asked, assistant]", "[end, assistant, *asked, user]"),
    ),
    Mistake(
        "The `assistant` token is missing, so nothing says that the question is over.",
        ("[end, user, *asked, assistant]", "[end, user, *asked]"),
    ),
    Mistake(
        "The `user` token is missing, so a question and a story begin in the same way.",
        ("[end, user, *asked, assistant]", "[end, *asked, assistant]"),
    ),
    Mistake(
        "A list is put into the list. Use `*asked` to put its entries there.",
        ("[end, user, *asked, assistant]", "[end, user, asked, assistant]"),
    ),
    Mistake(
        "The flags are those of targets, one place early. Here each id has its own; the shift by one comes later.",
        (
            "[False] * len(given) + [True] * len(said)",
            "[False] * (len(given) - 1) + [True] * len(said) + [False]",
        ),
    ),
)


def right(asked, answered, user, assistant, end):
    ids = [end, user]
    ids.extend(asked)
    ids.append(assistant)
    first = len(ids)
    ids.extend(answered)
    ids.append(end)
    return ids, [place >= first for place in range(len(ids))]


def cases():
    ids = {"user": 1024, "assistant": 1025, "end": 1023}
    return [
        Case("three tokens, answered by one", ([40, 41, 42], [7], *ids.values())),
        Case("an answer of three tokens", ([9, 8, 7, 6, 5], [30, 31, 32], *ids.values())),
        Case("the answer repeats the question", ([3, 4], [3, 4], *ids.values())),
        Case("other special ids", ([1, 2], [5, 6, 7, 8], 100, 101, 102)),
        Case("an empty question", ([], [5], *ids.values())),
    ]
