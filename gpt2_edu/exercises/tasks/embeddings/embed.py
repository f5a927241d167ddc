"""GPT-2's input layer."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 8

TASK = """
Write GPT-2's input layer as a function of the two tables. `idx` holds ids, (B, T), `wte` is (V, C), and `wpe` is (block_size, C). The result, (B, T, C), is the row of each token plus the row of its position. There is no dropout.

With `wte = [[1, 2], [3, 4], [5, 6]]`, `wpe = [[10, 0], [0, 10], [7, 7]]` and `idx = [[2, 0]]` the result is `[[[15, 6], [1, 12]]]`.

T may be anything from 1 to block_size.
"""

HINTS = (
    "A tensor of ids is an index: `wte[idx]` fetches a row for each id, and has the shape (B, T, C).",
    "The positions are 0, 1, … T − 1, so their rows are the first T of `wpe`. T is `idx.size(1)`.",
)

START = '''
def embed(idx, wte, wpe):
    """idx (B, T); wte (V, C); wpe (block_size, C). Returns (B, T, C)."""
    ...
'''

SOLUTION = """
def embed(idx, wte, wpe):
    # arange is made where idx is, or a GPU would stop here
    positions = torch.arange(idx.size(1), device=idx.device)
    return wte[idx] + wpe[positions]  # (B, T, C) + (T, C)
"""

MISTAKES = (
    Mistake(
        "You add all of `wpe`. Only the first T seats are taken. With T = 1 PyTorch even broadcasts the token over all seats, without an error.",
        ("[positions]", ""),
    ),
    Mistake(
        "You look up the position by the token's id, and most ids have no row in `wpe`. The position says where in the text the token is: 0, 1, … T − 1.",
        ("[positions]", "[idx]"),
    ),
    Mistake(
        "The positions are missing, and this is only `tok_emb`. Add the first T rows of `wpe`.",
        (" + wpe[positions]", ""),
    ),
    Mistake(
        "Every token gets the same position here. Add a different row to each, rows 0 to T − 1.",
        ("[positions]", "[idx.size(1) - 1]"),
    ),
    Mistake(
        "You gave a position to each text instead of each token. `idx.size(0)` is B, and T is `idx.size(1)`.",
        ("wpe[positions]", "wpe[: idx.size(0)].unsqueeze(1)"),
    ),
    Mistake(
        "Your positions begin at 1. The first is 0. Counted from 1, the last token of a full text has no row.",
        ("[positions]", "[torch.arange(1, idx.size(1) + 1)]"),
    ),
    Mistake(
        "You take T from the wrong axis: `idx.size(0)` is B. T is `idx.size(1)`.",
        ("idx.size(1)", "idx.size(0)"),
    ),
    Mistake(
        "`wpe[T]` is one row, and every token gets it. The first T rows are `wpe[:T]`.",
        ("[positions]", "[idx.size(1)]"),
    ),
    Mistake(
        "`wte` and `wpe` are tensors here, not layers. Index them, with square brackets: `wte[idx]`.",
        ("wte[idx]", "wte(idx)"),
    ),
    Mistake(
        "Your positions begin at 1. The first T rows are `wpe[:T]`, from row 0 on.",
        ("[positions]", "[1 : idx.size(1) + 1]"),
    ),
    Mistake(
        "You put token and position side by side, 2C wide. GPT-2 adds them, entry by entry.",
        (
            "wte[idx] + wpe[positions]",
            "torch.cat([wte[idx], wpe[positions].expand(*idx.shape, -1)], dim=-1)",
        ),
    ),
    Mistake(
        "You multiply the two rows. GPT-2 adds them.",
        (" + wpe", " * wpe"),
    ),
    Mistake(
        "You take the last T rows of `wpe`. A text begins at position 0, so take the first T.",
        ("wpe[positions]", "wpe[-idx.size(1) :]"),
    ),
)


def right(idx, wte, wpe):
    positions = torch.arange(idx.size(1)).expand(idx.shape)
    return F.embedding(idx, wte) + F.embedding(positions, wpe)


def cases():
    generator = torch.Generator().manual_seed(2)
    tiny = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    seats = torch.tensor([[10.0, 0.0], [0.0, 10.0], [7.0, 7.0]])
    wte = torch.randn(11, 3, generator=generator)
    wpe = torch.randn(7, 3, generator=generator)
    idx = torch.randint(11, (2, 5), generator=generator)
    full = torch.randint(11, (4, 7), generator=generator)
    return [
        Case("one text of two tokens", (torch.tensor([[2, 0]]), tiny, seats)),
        Case("two texts of five tokens", (idx, wte, wpe)),
        Case("the same token three times", (torch.tensor([[6, 6, 6]]), wte, wpe)),
        Case("one token", (torch.tensor([[8]]), wte, wpe)),
        Case("texts as long as block_size", (full, wte, wpe)),
    ]
