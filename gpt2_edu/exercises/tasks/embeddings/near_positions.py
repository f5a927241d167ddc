"""Has the table found out that 17 lies between 16 and 18?"""

from ...exercise import Mistake

ORDER = 50
KIND = "explore"
LEVEL = 2
RANK = "extra"
MINUTES = 10

TASK = """
A learned table of positions starts as noise. This book ships a small trained model. Has its `wpe` discovered which positions are neighbours?

For each of its 128 positions, find the *other* position whose row points most nearly in the same direction. Divide every row by its length, multiply each row with every other, and take the largest product. For how many positions is the winner a direct neighbour, one position before or after?

By chance it would be about 2 of 128. Report the number.
"""

HINTS = (
    "`F.normalize(rows, dim=-1)` divides each row by its length. All products at once are `rows @ rows.T`, (128, 128).",
    "Every row is most like itself. Put −1 on the diagonal first: `products.fill_diagonal_(-1)`.",
    "`products.argmax(dim=1)` is the winner of each row. Compare it with `torch.arange(128)`: the distance should be 1.",
)

START = """
from gpt2_edu import GPT2

model = GPT2.from_pretrained("crane")
rows = model.transformer.wpe.weight.detach()  # (block_size, C)
near_positions = ...
"""

SOLUTION = """
from gpt2_edu import GPT2

model = GPT2.from_pretrained("crane")
rows = model.transformer.wpe.weight.detach()  # (block_size, C)
rows = F.normalize(rows, dim=-1)
products = (rows @ rows.T).fill_diagonal_(-1)  # not itself
distance = (products.argmax(dim=1) - torch.arange(len(rows))).abs()
# About half, and nearly all others are two to four places away: the
# table has learned who is near, though nobody told it.
near_positions = (distance == 1).sum().item()
"""

right = 65

MISTAKES = (
    Mistake(
        "Every row is most like itself, so no winner is a neighbour. Take the diagonal out first.",
        code="near_positions = 0",
    ),
    Mistake(
        "You multiplied the rows as they are, so long rows win everywhere. Divide each row by its length first.",
        code="near_positions = 49",
    ),
    Mistake(
        "You counted only one side. A neighbour may be before or after, so take the distance without its sign.",
        code="near_positions = 32",
    ),
    Mistake(
        "You counted only one side. A neighbour may be before or after, so take the distance without its sign.",
        code="near_positions = 33",
    ),
    Mistake(
        "These rows lie nearest by their distance, which depends on their lengths as well. The direction is asked for: divide each row by its length, and multiply.",
        code="near_positions = 64",
    ),
    Mistake(
        "These are the positions whose winner is not a neighbour. The question is about the others.",
        code="near_positions = 128 - 65",
    ),
    Mistake(
        "Without `keepdim=True` the lengths of the rows divide the columns. `F.normalize(rows, dim=-1)` divides each row by its own length.",
        code="near_positions = 44",
    ),
    Mistake(
        "You divided the columns by their lengths. A position is a row: `dim=-1`.",
        code="near_positions = 52",
    ),
    Mistake(
        "This is the share of the positions. Report the number.",
        code="near_positions = 65 / 128",
    ),
    Mistake(
        "That is every position, because each row is most like itself. Take the diagonal out first, and ask for a distance of exactly 1.",
        code="near_positions = 128",
    ),
)
