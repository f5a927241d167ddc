"""One row of the input, by hand."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 4

TASK = """
Two small tables, with V = 4, block_size = 6 and C = 2:

| id | row of wte | | position | row of wpe |
| --- | --- | --- | --- | --- |
| 0 | (0.1, 0.2) | | 0 | (1, 0) |
| 1 | (0.3, 0.4) | | 1 | (0, 1) |
| 2 | (0.5, 0.6) | | 2 | (2, 2) |
| 3 | (0.7, 0.8) | | 3 | (3, 5) |
| | | | 4 | (4, 1) |
| | | | 5 | (6, 3) |

The batch is `idx = [[2, 0, 1], [1, 3, 0]]`, so B = 2 and T = 3. Which two numbers are `embd[1, 2]`? All indices count from 0. Give a list.
"""

HINTS = (
    "`embd[1, 2]` is the last token of the second text. Find its id first.",
    "The id is 0. Its row of wte says what the token is. Which row of wpe belongs to its position in the text?",
)

START = "row_by_hand = ...  # two numbers: [ , ]"

SOLUTION = """
# idx[1, 2] is id 0, at position 2: (0.1, 0.2) + (2, 2)
row_by_hand = [2.1, 2.2]
"""

right = [2.1, 2.2]

MISTAKES = (
    Mistake(
        "You took the row of wpe by the id. A position says where in the text a token is, whatever the token.",
        code="row_by_hand = [1.1, 0.2]",
    ),
    Mistake(
        "That is only the token's row. Add the row of its position.",
        code="row_by_hand = [0.1, 0.2]",
    ),
    Mistake(
        "You counted positions from 1. The first seat is 0, so the third token sits in seat 2.",
        code="row_by_hand = [3.1, 5.2]",
    ),
    Mistake(
        "You continued counting from the first text. Every text begins at position 0, because wpe has no batch axis.",
        code="row_by_hand = [6.1, 3.2]",
    ),
    Mistake(
        "That is `embd[0, 2]`, the first text. Index 1 is the second.",
        code="row_by_hand = [2.3, 2.4]",
    ),
    Mistake(
        "You counted from 1, and this is `embd[0, 1]`. Index 1 is the second text, and index 2 its third token.",
        code="row_by_hand = [0.1, 1.2]",
    ),
)
