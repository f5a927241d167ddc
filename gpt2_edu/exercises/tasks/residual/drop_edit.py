"""Dropout in the wrong place."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "repair"
LEVEL = 2
RANK = "extra"
MINUTES = 8

TASK = r"""
In training, GPT-2 applies dropout to each edit before it adds the edit to the stream. The function below should do this. With probability `p` an entry of the edit becomes 0, and those that stay are divided by 1 − p, so that the mean is kept. It has one bug. Find it and fix it. (See the chapter's fold *where the dropout goes*.)

`x` and `edit` are (B, T, C), and so is the result. The draws come from `generator`, one number for each entry, by `torch.rand(edit.shape, generator=generator)`, and an entry stays if its number is `p` or more. This line is correct.

With p = 0.5, x = (1, 1, 1, 1), edit = (2, 4, 6, 8) and an edit whose second and third entries are dropped, the result is (1 + 4, 1, 1, 1 + 16) = (5, 1, 1, 17).
"""

HINTS = (
    "Imagine that the edit is 0. What must the function return, and what does it return?",
    "The stream has to pass untouched. To what is `keep` applied here?",
    "`x + …`, where the dots are only the edit, times `keep`, divided by 1 − p.",
)

START = '''
def drop_edit(x, edit, p, generator):
    """x, edit (B, T, C); p from 0 to 1, without 1. Returns (B, T, C)."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    keep = torch.rand(edit.shape, generator=generator) >= p
    return (x + edit) * keep / (1 - p)
'''

SOLUTION = """
def drop_edit(x, edit, p, generator):
    keep = torch.rand(edit.shape, generator=generator) >= p
    return x + edit * keep / (1 - p)  # on the edit, never on the stream
"""

MISTAKES = (
    Mistake(
        "The bug is still there. Dropout falls on the sum, so entries of the stream are lost. Apply "
        "it to the edit, then add.",
        ("x + edit", "(x + edit)"),
    ),
    Mistake(
        "Now the right entries are dropped, but those that stay are not divided by 1 − p.",
        ("keep / (1 - p)", "keep"),
    ),
    Mistake(
        "Here dropout falls on the stream and spares the edit. It should be the other way round.",
        ("x + edit * keep / (1 - p)", "x * keep / (1 - p) + edit"),
    ),
    Mistake(
        "The stream is divided by 1 − p as well. Only the edit belongs in the brackets.",
        ("x + edit * keep", "(x + edit * keep)"),
    ),
    Mistake(
        "The line with `keep` was right. p is the share that is dropped, so entries with a draw "
        "below p go.",
        (">= p", "< p"),
    ),
    Mistake(
        "You divide by p, the share that is dropped. Divide by the share that stays, 1 − p.",
        ("(1 - p)", "p"),
    ),
    Mistake(
        "You multiply by 1 − p, which makes the rest still smaller. Divide by it, so that the mean is kept.",
        ("keep / (1 - p)", "keep * (1 - p)"),
    ),
)


def right(x, edit, p, generator):
    # torch's own dropout takes no generator; what it does with the draws is this
    dropped = torch.rand(edit.shape, generator=generator) < p
    return torch.add(x, edit.masked_fill(dropped, 0), alpha=1 / (1 - p))


def cases():
    draws = torch.Generator().manual_seed(80)
    x, edit = torch.randn(2, 3, 4, 5, generator=draws)

    def generator(seed):
        return torch.Generator().manual_seed(seed)

    hand = torch.tensor([[[2.0, 4.0, 6.0, 8.0]]])
    return [  # the first seed is one whose draws keep the first and the last number
        Case("the example, p = 0.5", (torch.ones(1, 1, 4), hand, 0.5, generator(1))),
        Case("random numbers, p = 0.1", (x, edit, 0.1, generator(2))),
        Case("random numbers, p = 0.7", (x, edit, 0.7, generator(3))),
        Case("an edit of zeros", (x, torch.zeros_like(edit), 0.3, generator(4))),
        Case("p = 0, nothing is dropped", (x[:1, :1], edit[:1, :1], 0.0, generator(5))),
    ]
