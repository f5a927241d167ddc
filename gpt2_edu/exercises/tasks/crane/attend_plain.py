"""Attention in plain Python, with a bug."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = """
This is the same attention without tensors. `attend_plain(q, keys, values)` works on lists, number by number, and returns the new vector as a list. `q` has C numbers, and `keys` and `values` are T lists of C numbers each.

For `q = [0.7, 0.7]`, `keys = [[0.7, 0.7], [0.9, 0.1]]` and `values = [[0.5, 0.5], [0.9, 0.1]]` it should give `[0.6722, 0.3278]` (to four decimals).

The function below gives other numbers, because it has one bug. Find it, fix it, and delete the first line of its body.
"""

HINTS = (
    "Print the intermediate results. What must be true of the shares?",
    "The shares should be 1 in total. Which sum is each power divided by?",
)

START = '''
def attend_plain(q, keys, values):
    """q list of C numbers; keys, values T lists of C. Returns a list of C."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    scores = [sum(a * b for a, b in zip(q, key)) for key in keys]
    powers = [math.exp(score) for score in scores]
    shares = [power / sum(scores) for power in powers]
    return [
        sum(share * value[i] for share, value in zip(shares, values))
        for i in range(len(q))
    ]
'''

SOLUTION = """
def attend_plain(q, keys, values):
    scores = [sum(a * b for a, b in zip(q, key)) for key in keys]
    powers = [math.exp(score) for score in scores]
    # divided by the sum of the powers, not of the scores: then 1 in total
    shares = [power / sum(powers) for power in powers]
    return [
        sum(share * value[i] for share, value in zip(shares, values))
        for i in range(len(q))
    ]
"""

MISTAKES = (
    Mistake(
        "The powers are divided by the sum of the scores, so the shares are not 1 in total. Divide by the sum of the powers.",
        ("(powers)", "(scores)"),
    ),
    Mistake(
        "Now the scores are divided by the sum of the scores, and the powers of e are gone. Keep the powers, and divide them by their own sum.",
        ("[math.exp(score) for score in scores]", "scores"),
    ),
    Mistake(
        "The powers are not divided by anything. Shares are 1 in total, so divide each power by the sum of the powers.",
        ("shares, values", "powers, values"),
    ),
    Mistake(
        "The last step was right before. The values are mixed, not the keys.",
        (
            "value[i] for share, value in zip(shares, values)",
            "key[i] for share, key in zip(shares, keys)",
        ),
    ),
    Mistake(
        "The powers are divided by the number of words, which makes 1 in total only if all scores are 0. Divide by the sum of the powers.",
        ("sum(powers)", "len(powers)"),
    ),
    Mistake(
        "The last line was right before: the result has C numbers, as many as `q`, and not one for each word.",
        ("range(len(q))", "range(len(keys))"),
    ),
    Mistake(
        "The powers are divided by the largest of them, so the shares are more than 1 in total. Divide by the sum of the powers.",
        ("sum(powers)", "max(powers)"),
    ),
)


def right(q, keys, values):
    q, keys, values = torch.tensor(q), torch.tensor(keys), torch.tensor(values)
    return (torch.softmax(keys @ q, dim=0) @ values).tolist()


def cases():
    generator = torch.Generator().manual_seed(34)
    q = torch.randn(3, generator=generator).tolist()
    keys = torch.randn(5, 3, generator=generator).tolist()
    values = torch.randn(5, 3, generator=generator).tolist()
    crane = [[0.7, 0.7], [0.9, 0.1]], [[0.5, 0.5], [0.9, 0.1]]
    return [
        Case("crane and ate", ([0.7, 0.7], *crane)),
        Case("five words, three numbers each", (q, keys, values)),
        Case("a single word", (q, keys[:1], values[:1])),
        Case("more numbers than words", (q, keys[:2], values[:2])),
    ]
