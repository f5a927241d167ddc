"""As if a word were not there."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 12

TASK = """
How much did one word contribute? Compute attention as if it were not in the sentence. `leave_out(q, keys, values, j)` returns the new vector, (C,), that the query gets from all words but number `j`. The weights of the others must again be 1 in total.

For the crane beside "ate fish", with the fish left out (`j = 2`), the result is (0.6722, 0.3278).

You could set the key, the weight or the value to 0, or take the word out, and only one of these four ways is right without a further step. T is at least 2. Use your `attend`.
"""

HINTS = (
    "Try what happens with a key of zeros. Its score is 0, and $e^0 = 1$, so the word still takes a share.",
    "A weight that is set to 0 after the softmax leaves the others as small as they were, so they are no longer 1 in total.",
    "Take row `j` out of keys and values before anything is computed: `rows = [i for i in range(len(keys)) if i != j]`, then `keys[rows]`.",
)

START = '''
attend = own("attend")


def leave_out(q, keys, values, j):
    """q (C,); keys, values (T, C); j the word to leave out. Returns (C,)."""
    ...
'''

SOLUTION = """
attend = own("attend")


def leave_out(q, keys, values, j):
    rows = [i for i in range(len(keys)) if i != j]
    # taken out before the softmax, so what is left is shared among the rest
    new, _ = attend(q, keys[rows], values[rows])
    return new
"""

MISTAKES = (
    Mistake(
        "You set the word's weight to 0 after the softmax, or its value to zeros, which has the same effect. The other weights stay less than 1 in total. Take the word out before the softmax.",
        ("new, _ = attend(q, keys[rows], values[rows])", "_, weights = attend(q, keys, values)"),
        ("return new", "return weights[rows] @ values[rows]"),
    ),
    Mistake(
        "You set its key to zeros. Then its score is 0, and e to the power of 0 is 1, so it still takes a share.",
        ("rows = [i for i in range(len(keys)) if i != j]", "keys = keys.clone()\n    keys[j] = 0"),
        ("keys[rows], values[rows]", "keys, values"),
    ),
    Mistake(
        "You set its key and its value to zeros. Its score is then 0, which is a score like any other, so it still takes a share.",
        (
            "rows = [i for i in range(len(keys)) if i != j]",
            "keys, values = keys.clone(), values.clone()\n    keys[j] = values[j] = 0",
        ),
        ("keys[rows], values[rows]", "keys, values"),
    ),
    Mistake(
        "You left out all words after it as well. Only word `j` goes.",
        ("range(len(keys)) if i != j", "range(j)"),
    ),
    Mistake(
        "The word is still there. Nothing was left out.",
        (" if i != j", ""),
    ),
    Mistake(
        "You write zeros into the caller's own keys, and a key of zeros still takes a share. Take the word out instead: `keys[rows]` makes a new tensor.",
        ("rows = [i for i in range(len(keys)) if i != j]", "keys[j] = 0"),
        ("keys[rows], values[rows]", "keys, values"),
    ),
    Mistake(
        "`attend` returns two things, the new vector and the weights. Return the vector only: `attend(…)[0]`.",
        ("new, _ = attend", "new = attend"),
    ),
    Mistake(
        "You took the word out of the keys only. Its value must go as well: `values[rows]`.",
        ("values[rows]", "values"),
    ),
    Mistake(
        "These are the weights. Return the new vector, the first of the two.",
        ("new, _ = attend", "_, new = attend"),
    ),
    Mistake(
        "Only word `j` is left. It is the one to leave out.",
        ("i != j", "i == j"),
    ),
    Mistake(
        "Words are counted from 0, so it is word `j` that goes, not `j - 1`.",
        ("i != j", "i != j - 1"),
    ),
    Mistake(
        "A key of very low numbers has a very low score only for some queries. For others its score is very high. Take the word out.",
        (
            "rows = [i for i in range(len(keys)) if i != j]",
            """\
keys = keys.clone()
    keys[j] = -1e9""",
        ),
        ("keys[rows], values[rows]", "keys, values"),
    ),
)


def right(q, keys, values, j):
    seen = torch.arange(len(keys)) != j
    return F.scaled_dot_product_attention(
        q.unsqueeze(0), keys, values, attn_mask=seen.unsqueeze(0), scale=1.0
    ).squeeze(0)


def cases():
    generator = torch.Generator().manual_seed(36)
    q, keys = torch.tensor([0.7, 0.7]), [[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]]
    crane = (q, torch.tensor(keys), torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.8, 0.2]]))
    query = torch.randn(4, generator=generator)
    keys, values = torch.randn(2, 7, 4, generator=generator)
    return [
        Case("the crane without the fish", (*crane, 2)),
        Case("the third of seven words", (query, keys, values, 2)),
        Case("the first word, for another query", (-query, keys, values, 0)),
        Case("one of two words", (query, keys[:2], values[:2], 1)),
        Case(
            "the word with the largest share",
            (3 * query, keys, values, int((keys @ query).argmax())),
        ),
    ]
