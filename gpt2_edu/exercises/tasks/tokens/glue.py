"""A merge that loses something."""

from gpt2_edu.bpe import _merge

from ...exercise import Case, Mistake

ORDER = 20
KIND = "repair"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = """
`glue(ids, pair, new)` should replace every occurrence of a pair of neighbours in a list of ids by one new id. It returns a new list:

`glue([5, 7, 5, 7, 9], (5, 7), 300)` gives `[300, 300, 9]`.

The function below has one bug. Find it by running the function on small lists, fix it, and delete the first line of its body.
"""

HINTS = (
    "Try lists that end with the pair, and lists that do not.",
    "What happens to the last id if it belongs to no pair? Follow `i` to the end of the list.",
    "The loop has to continue until `i` has passed the last id. A slice that reaches beyond the end is just shorter, so it does no harm.",
)

START = '''
def glue(ids, pair, new):
    """ids a list of int, pair a tuple of two ids. Returns a new list."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    merged, i = [], 0
    while i < len(ids) - 1:
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged
'''

SOLUTION = """
def glue(ids, pair, new):
    merged, i = [], 0
    while i < len(ids):  # len(ids) - 1 loses a last id that is not merged
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged
"""

MISTAKES = (
    Mistake(
        "The last id is lost when it belongs to no pair, because the loop stops one id too early.",
        ("while i < len(ids):", "while i < len(ids) - 1:"),
    ),
    Mistake(
        "After a merge you move on by one id, so the pair's second id is used again. A merge uses up two ids.",
        ("i += 2", "i += 1"),
    ),
    Mistake(
        "Now the last id is always added again, even if the pair before it has used it up. Let the loop itself reach the end.",
        ("while i < len(ids):", "while i < len(ids) - 1:"),
        ("return merged", "return merged + ids[-1:]"),
    ),
    Mistake(
        "Nothing is merged here, because a list is never equal to a tuple. Compare `tuple(ids[i : i + 2])` with the pair.",
        ("tuple(ids[i : i + 2])", "ids[i : i + 2]"),
    ),
    Mistake(
        "Only the first occurrence is merged. Continue to the end of the list.",
        code="""
def glue(ids, pair, new):
    for i in range(len(ids) - 1):
        if tuple(ids[i : i + 2]) == pair:
            return ids[:i] + [new] + ids[i + 2 :]
    return list(ids)
""",
    ),
    Mistake(
        "Now the last id is always added again, and an empty list has none. Let the loop itself reach the end.",
        ("while i < len(ids):", "while i < len(ids) - 1:"),
        (
            "    return merged",
            """\
    merged.append(ids[-1])
    return merged""",
        ),
    ),
    Mistake(
        "The loop runs one id too far. The last id is number `len(ids) - 1`, so continue while `i < len(ids)`.",
        ("while i < len(ids):", "while i < len(ids) + 1:"),
    ),
    Mistake(
        "What the last id is does not say whether it was merged. Let the loop itself reach the end.",
        ("while i < len(ids):", "while i < len(ids) - 1:"),
        (
            "    return merged",
            """\
    if ids[-1] != pair[1]:
        merged.append(ids[-1])
    return merged""",
        ),
    ),
    Mistake(
        "You write into the list that you were given. Build a new one, as the function did.",
        code="""def glue(ids, pair, new):
    i = 0
    while i < len(ids) - 1:
        if tuple(ids[i : i + 2]) == pair:
            ids[i : i + 2] = [new]
        i += 1
    return ids
""",
    ),
    Mistake(
        "You go from right to left. Where occurrences overlap, as in 4, 4, 4, the leftmost is merged.",
        code="""def glue(ids, pair, new):
    ids = list(ids)
    for i in reversed(range(len(ids) - 1)):
        if tuple(ids[i : i + 2]) == pair:
            ids[i : i + 2] = [new]
    return ids
""",
    ),
)


def right(ids, pair, new):
    return _merge(ids, pair, new)


def cases():
    return [
        Case("the pair twice, then another id", ([5, 7, 5, 7, 9], (5, 7), 300)),
        Case("the pair at the end", ([9, 5, 7], (5, 7), 300)),
        Case("the pair's ids in the other order", ([7, 5, 9, 7], (5, 7), 300)),
        Case("a pair of equal ids that overlaps itself", ([4, 4, 4, 4, 4], (4, 4), 301)),
        Case("a single id", ([8], (8, 8), 302)),
        Case("no ids at all", ([], (1, 2), 303)),
    ]
