"""The detective."""

from ...exercise import Mistake

ORDER = 40
KIND = "explore"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
`museum.mystery(14)` has a bug. Which one? Look at the loss, the texts and the maps of the four heads first. Where you cannot be sure by eye, measure. `riddle.case.weights` is (H, T, T), `riddle.case.eval_losses` holds the losses measured in use, `riddle.case.texts` the hundred texts, and `museum.FLOOR` is the floor.

The answer is the name of the bug, as a string, as the titles of the chapter's rooms and `gpt2_edu.analysis.bugs.BUGS` spell it.
"""

HINTS = (
    "Is the loss in use above the floor, on it, or below it? That decides the wing.",
    "A loss below the floor is a leak. Is anything above the diagonal? `riddle.case.weights.triu(1).max()`.",
    "If there is nothing above the diagonal, look at the sums of the rows, `riddle.case.weights.sum(dim=-1)`.",
)

START = """
from gpt2_edu.analysis import museum

# remove each # and run; it trains a small model for some seconds
# from matplotlib import pyplot as plt
# riddle = museum.mystery(14)
# print(max(riddle.case.eval_losses), museum.FLOOR)
# print(*riddle.case.texts[:3], sep="\\n")
# plt.imshow(torch.cat([*riddle.case.weights], dim=1))

detective = ...
"""

SOLUTION = """
# a loss below the floor is a leak; nothing is above the diagonal, so there
# is a mask; but the rows do not sum to 1, so it comes too late
detective = "mask after softmax"
"""

right = "mask after softmax"

MISTAKES = (
    Mistake(
        "Without a mask there would be colour above the diagonal. Measure it: `riddle.case.weights.triu(1).max()`.",
        code='detective = "no mask"',
    ),
    Mistake(
        "A finite mask is beaten by low scores, and then a head has colour above the diagonal. Here there is none.",
        code='detective = "finite mask"',
    ),
    Mistake(
        "With the wrong view the maps are spotless, and every row sums to 1. Sum the rows here.",
        code='detective = "wrong view"',
    ),
    Mistake(
        "With targets off by none the text repeats one word endlessly. Read the texts here.",
        code='detective = "targets off by none"',
    ),
    Mistake(
        "The loss is below the floor, so it is a leak, and a cache leaks nothing. With that bug the loss and the maps are perfect.",
        code='detective = "cache with the wrong mask"',
    ),
)
