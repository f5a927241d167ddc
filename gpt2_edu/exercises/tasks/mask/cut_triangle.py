"""The lost colon."""

import torch

from ...exercise import Case, Mistake

ORDER = 40
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
A module keeps its triangle of the largest size in a buffer (the chapter's fold *Where the triangle lives* shows one). It is `visible`, (1, 1, block_size, block_size), True where a query may look. The function below should cut out the part that a text of T tokens needs, and write −∞ into the scores (B, 1, T, T) wherever a query may not look. The second axis is for the heads of chapter 6.

It runs, but the model leaks. Find the bug and fix it.

In a tiny example, with block_size = 3 and T = 2, it should turn the scores

$$\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \quad\text{into}\quad \begin{pmatrix} 1 & -\infty \\ 3 & 4 \end{pmatrix}$$
"""

HINTS = (
    "Print the shape of the part that is cut out of `visible`. What shape should it have?",
    "An index without a colon picks one row, and the row of a late query is all True.",
    "Both of the last two axes, rows and columns, are cut to the first T.",
)

START = '''
def cut_triangle(scores, visible):
    """scores (B, 1, T, T); visible (1, 1, block_size, block_size), bool.

    Returns the masked scores, (B, 1, T, T).
    """
    raise NotImplementedError("find the bug, fix it, delete this line")
    T = scores.size(-1)
    return scores.masked_fill(~visible[:, :, T, :T], -torch.inf)
'''

SOLUTION = """
def cut_triangle(scores, visible):
    T = scores.size(-1)
    # :T twice, rows and columns; a bare T picks the single row T
    return scores.masked_fill(~visible[:, :, :T, :T], -torch.inf)
"""

MISTAKES = (
    Mistake(
        "The bug is still there: `[:, :, T, :T]` picks the one row T, in which all T keys are visible, for every query. A colon is missing.",
        (":T, :T", "T, :T"),
    ),
    Mistake(
        "Nothing is masked here. A single row such as `T - 1` hides nothing from a query: take the first T rows, `:T`, with T = `scores.size(-1)`. And `masked_fill` returns a new tensor, so return that.",
        (":T, :T", "T - 1, :T"),
    ),
    Mistake(
        "Now the rows are a slice, but the columns are a single one. Both need the colon.",
        ("T, :T", "T, T - 1"),
    ),
    Mistake(
        "The rows are cut to T but the columns are not, so the shapes do not match. Cut both.",
        ("T, :T", "T"),
    ),
    Mistake(
        "The cut is right, but the `~` is gone, so now the past is hidden. −∞ belongs where `~visible`.",
        ("~visible", "visible"),
    ),
    Mistake(
        "`T:` takes the rows after the first T, in which everything is visible. `:T` takes the first T.",
        (":T, :T", "T:, :T"),
    ),
    Mistake(
        "You take the last T rows, in which too much is visible. Query i needs row i: the first T, `:T`.",
        (":T, :T", "-T:, :T"),
    ),
    Mistake(
        "The columns are cut to T but the rows are not. Cut both: `[:, :, :T, :T]`.",
        (":T, :T", ":, :T"),
    ),
    Mistake(
        "Now the rows are a slice, but the columns are a single one. Both need the colon.",
        (":T, :T", ":T, T"),
    ),
    Mistake(
        "You cut the first two axes, which have size 1. Rows and columns are the last two: `[:, :, :T, :T]`.",
        (":, :, :T, :T", ":T, :T"),
    ),
    Mistake(
        "`masked_fill_`, with the underscore, writes into the scores of the caller. `masked_fill` returns new ones.",
        ("masked_fill", "masked_fill_"),
    ),
    Mistake(
        "A score of 0 hides nothing, since e to the power of 0 is 1. Write `-torch.inf`.",
        ("-torch.inf", "0"),
    ),
    Mistake(
        "One row and one column too many. `:T` ends before number T, so it is T of them.",
        (":T, :T", ": T + 1, : T + 1"),
    ),
    Mistake(
        "−10⁹ is not −∞, and a score can be lower still. Write `-torch.inf`.",
        ("-torch.inf", "-1e9"),
    ),
    Mistake(
        "The softmax is not asked for. Return the masked scores.",
        ("-torch.inf)", "-torch.inf).softmax(dim=-1)"),
    ),
)


def right(scores, visible):
    T = scores.size(-1)
    return scores + torch.full((T, T), -torch.inf).triu(1)


def cases():
    generator = torch.Generator().manual_seed(54)

    def case(label, B, T, block_size):
        visible = torch.ones(1, 1, block_size, block_size, dtype=torch.bool).tril()
        return Case(label, (torch.randn(B, 1, T, T, generator=generator), visible))

    tiny = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    return [
        Case("two tokens of three", (tiny, torch.ones(1, 1, 3, 3, dtype=torch.bool).tril())),
        case("two texts of five tokens, block_size = 7", 2, 5, 7),
        case("as many tokens as block_size", 3, 4, 4),
        case("one token", 1, 1, 7),
    ]
