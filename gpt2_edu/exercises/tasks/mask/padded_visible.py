"""The triangle, and padding on the left."""

import torch

from ....model import visible_keys
from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
Texts of different lengths are padded on the left to T tokens. `padding` (B,) says for each text how many of its tokens are padding. Write the table of visible keys, a bool tensor (B, T, T) with row = query, column = key, True = visible.

- No query sees ahead.
- No query sees a key of the padding,
- except that every token sees itself. Otherwise the rows of the padding would have nothing to look at and become nan.

With T = 3 and `padding = torch.tensor([0, 1])`, the two tables are (1 for True)

$$\begin{pmatrix} 1 & 0 & 0 \\ 1 & 1 & 0 \\ 1 & 1 & 1 \end{pmatrix} \qquad \begin{pmatrix} 1 & 0 & 0 \\ 0 & 1 & 0 \\ 0 & 1 & 1 \end{pmatrix}$$
"""

HINTS = (
    "Make three tables and join them with `&` (and) and `|` (or): the triangle, the keys that are text, the diagonal.",
    "Key j is text if j ≥ padding. Since this concerns columns, for every query, its shape is (B, 1, T).",
    "`text = torch.arange(T) >= padding.view(-1, 1, 1)`, and the diagonal is `torch.eye(T, dtype=torch.bool)`.",
)

START = '''
def padded_visible(T, padding):
    """padding (B,), int: tokens of padding on the left of each text.

    Returns a bool table for each text, (B, T, T).
    """
    ...
'''

SOLUTION = """
def padded_visible(T, padding):
    triangle = torch.ones(T, T, dtype=torch.bool).tril()
    # (B, 1, T): padding forbids columns, so the row axis has size 1
    text = torch.arange(T) >= padding.view(-1, 1, 1)
    itself = torch.eye(T, dtype=torch.bool)
    return (triangle & text) | itself
"""

MISTAKES = (
    Mistake(
        "A row of the padding sees nothing here, so its softmax is nan. Let every token see itself: `| torch.eye(T, dtype=torch.bool)`.",
        (" | itself", ""),
    ),
    Mistake(
        "You forbid the rows of the padding, but text still looks at its columns. Column = key: `text` must be (B, 1, T), not (B, T, 1).",
        ("torch.arange(T)", "torch.arange(T).view(-1, 1)"),
    ),
    Mistake(
        "The triangle is missing, so these queries see every key that is text, also ahead.",
        ("triangle & text", "text.expand(-1, T, -1)"),
    ),
    Mistake(
        "One key too many is forbidden, the first of the text. With two tokens of padding, key 2 is text, so write `>=`, not `>`.",
        (">= padding", "> padding"),
    ),
    Mistake(
        "You forbid keys on the right. The padding is on the left, so it is the first keys.",
        (">= padding.view(-1, 1, 1)", "< T - padding.view(-1, 1, 1)"),
    ),
    Mistake(
        "This table is True where a query may not look. Here True means visible.",
        ("(triangle & text) | itself", "~((triangle & text) | itself)"),
    ),
    Mistake(
        "An axis too many, as if for heads. The table is (B, T, T), so give `padding` the shape (B, 1, 1).",
        ("padding.view(-1, 1, 1)", "padding.view(-1, 1, 1, 1)"),
    ),
    Mistake(
        "`padding` needs an axis for the rows and one for the columns, `padding.view(-1, 1, 1)`. Otherwise its B stands for T.",
        ("padding.view(-1, 1, 1)", "padding.view(-1, 1)"),
    ),
    Mistake(
        "The right table, but in numbers. True and False are asked for: `dtype=torch.bool`.",
        ("return (triangle & text) | itself", "return ((triangle & text) | itself).float()"),
    ),
    Mistake(
        "All texts share one table here, so what one forbids is forbidden for all. Make a table for each text, for example with `clone()`.",
        code="""
def padded_visible(T, padding):
    table = torch.ones(T, T, dtype=torch.bool).tril()
    tables = []
    for p in padding:
        table[:, :p] = False
        table.fill_diagonal_(True)
        tables.append(table)
    return torch.stack(tables)
""",
    ),
    Mistake(
        "A key is visible if it is in the triangle *and* part of the text: write `triangle & text`, not `|`.",
        ("triangle & text", "triangle | text"),
    ),
    Mistake(
        "You show the padding and hide the text. Key j is text if j ≥ padding.",
        (">= padding", "< padding"),
    ),
    Mistake(
        "The padding is visible here. Key j of a text may be seen only if j ≥ its `padding`.",
        ("triangle & text", "triangle.expand(len(padding), T, T)"),
    ),
    Mistake(
        "The last token of the padding is still visible. Key j is text if j ≥ padding.",
        ("padding.view(-1, 1, 1)", "padding.view(-1, 1, 1) - 1"),
    ),
    Mistake(
        "Your triangle is the upper one, so queries see ahead. Row = query: `tril()`.",
        (".tril()", ".triu()"),
    ),
    Mistake(
        "`|` joins True and False, and this diagonal holds numbers. Make it with `dtype=torch.bool`.",
        ("torch.eye(T, dtype=torch.bool)", "torch.eye(T)"),
    ),
)


def right(T, padding):
    return visible_keys(torch.arange(T), T, padding).squeeze(1)


def cases():
    return [
        Case("T = 3, padding 0 and 1", (3, torch.tensor([0, 1]))),
        Case("T = 5, padding 2, 0, 4 and 1", (5, torch.tensor([2, 0, 4, 1]))),
        Case("one text, no padding", (4, torch.tensor([0]))),
        Case("a single token", (1, torch.tensor([0, 0]))),
    ]
