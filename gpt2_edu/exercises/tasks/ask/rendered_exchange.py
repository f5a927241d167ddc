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
    Mistake(
        "The first token of the answer is not marked. The model says it after it has read `assistant`.",
        (
            "[False] * len(given) + [True] * len(said)",
            "[False] * (len(given) + 1) + [True] * (len(said) - 1)",
        ),
    ),
    Mistake(
        "An id is marked wherever it occurs in the answer, also if the question has it. What counts is its position, not which id it is.",
        ("[False] * len(given) + [True] * len(said)", "[i in said for i in given + said]"),
    ),
    Mistake(
        "An id is marked wherever it occurs in the answer, also if the question has it. What counts is its position, not which id it is.",
        ("[False] * len(given) + [True] * len(said)", "[i in answered for i in given + said]"),
    ),
    Mistake(
        "A list is put into the list. Use `*answered` to put its entries there.",
        ("[*answered, end]", "[answered, end]"),
    ),
    Mistake(
        "Lists are put into the list. Use `*asked` and `*answered` to put their entries there.",
        ("[end, user, *asked, assistant]", "[end, user, asked, assistant]"),
        ("[*answered, end]", "[answered, end]"),
    ),
    Mistake(
        "The flags are numbers. Write True and False.",
        ("[False] * len(given) + [True] * len(said)", "[0] * len(given) + [1] * len(said)"),
    ),
    Mistake(
        "`end` and `user` are in the wrong order. A text begins with `end`.",
        ("[end, user, *asked, assistant]", "[user, end, *asked, assistant]"),
    ),
    Mistake(
        "A list that was given is changed: `append`, `extend` and `+=` change the list itself. Make a new one.",
        (
            "given = [end, user, *asked, assistant]",
            "asked.append(assistant)\n    given = [end, user, *asked]",
        ),
    ),
    Mistake(
        "There is one flag fewer than ids. Three tokens are given besides the question: `end`, `user` and `assistant`.",
        ("[False] * len(given)", "[False] * (len(given) - 1)"),
    ),
    Mistake(
        "Only the ids are returned. The flags are the second list.",
        (
            "return given + said, [False] * len(given) + [True] * len(said)",
            "return given + said",
        ),
    ),
    Mistake(
        "The two lists have changed places. The ids come first.",
        (
            "given + said, [False] * len(given) + [True] * len(said)",
            "[False] * len(given) + [True] * len(said), given + said",
        ),
    ),
    Mistake(
        "These are pairs of an id and its flag. Return two lists.",
        (
            "given + said, [False] * len(given) + [True] * len(said)",
            "list(zip(given + said, [False] * len(given) + [True] * len(said)))",
        ),
    ),
    Mistake(
        "The special ids are fixed. Use the arguments.",
        ("    given =", "    user, assistant, end = 1024, 1025, 1023\n    given ="),
    ),
    Mistake(
        "All but the first token is marked. Also `user`, the question and `assistant` are given.",
        ("[False] * len(given)", "[False] + [True] * (len(given) - 1)"),
    ),
    Mistake(
        "The question is marked. It is given, so the model need not learn to say it.",
        ("[False] * len(given)", "[False, False] + [True] * len(asked) + [False]"),
    ),
    Mistake(
        "There is an `end` after the question. The conversation goes on there, and `assistant` says so.",
        ("*asked, assistant]", "*asked, end, assistant]"),
    ),
    Mistake(
        "Only the last `end` is marked. The answer before it is learned as well.",
        ("[True] * len(said)", "[False] * len(answered) + [True]"),
    ),
    Mistake(
        "Every `end` is marked, also the one at the beginning. That one is given.",
        ("[False] * len(given)", "[True] + [False] * (len(given) - 1)"),
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


def properties(result, asked, answered, user, assistant, end):
    ids, flags = result
    wanted, own = right(asked, answered, user, assistant, end)
    if any(isinstance(i, list) for i in ids):
        return "A list is in the list. Use `*asked` and `*answered` to put their entries there."
    for name, i in (("end", end), ("user", user), ("assistant", assistant)):
        if ids.count(i) != wanted.count(i):
            return f"The number of `{name}` in it is {ids.count(i)} instead of {wanted.count(i)}."
    if ids != wanted:
        return "The order is `end`, `user`, the question, `assistant`, the answer, `end`."
    if len(flags) != len(ids):
        return f"There are {len(flags)} flags for {len(ids)} ids."
    place = [mine is flag for mine, flag in zip(flags, own, strict=True)].index(False)
    what = ["the first `end`", "`user`", *["a token of the question"] * len(asked), "`assistant`"]
    what += [*["a token of the answer"] * len(answered), "the last `end`"]
    return f"The flag of {what[place]} is {flags[place]}."


def cases():
    ids = {"user": 1024, "assistant": 1025, "end": 1023}
    return [
        Case("three tokens, answered by one", ([40, 41, 42], [7], *ids.values())),
        Case("an answer of three tokens", ([9, 8, 7, 6, 5], [30, 31, 32], *ids.values())),
        Case("the answer repeats the question", ([3, 4], [3, 4], *ids.values())),
        Case("other special ids", ([1, 2], [5, 6, 7, 8], 100, 101, 102)),
        Case("an empty question", ([], [5], *ids.values())),
    ]
