"""And back together."""

import torch

from ....model import CausalSelfAttention
from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
Undo the split and turn `heads` (B, H, T, D) into (B, T, C), with C = H · D. Each token gets its columns back, first those of head 0, then those of head 1, and so on.

Two heads of two tokens, head 0 with the rows (0, 1) and (100, 101), head 1 with (2, 3) and (102, 103), give the tokens (0, 1, 2, 3) and (100, 101, 102, 103).

The result of `weights @ v` is fresh memory in the order (B, H, T, D). Your function must work there too. (If you use `view`, see the chapter's fold *strides, and what contiguous means*.)
"""

HINTS = (
    "H and D must be neighbours before they can be joined, so first move, then join.",
    "`transpose(1, 2)` gives (B, T, H, D).",
    "After the transpose, `view` may refuse. `flatten(start_dim=2)` copies when it has to.",
)

START = '''
def merge_heads(heads):
    """heads (B, H, T, D). Returns (B, T, C)."""
    ...
'''

SOLUTION = """
def merge_heads(heads):
    # (B, T, H, D), then join the last two; flatten copies where view refuses
    return heads.transpose(1, 2).flatten(start_dim=2)
"""

MISTAKES = (
    Mistake(
        "You join without moving back, so each row mixes entries of several tokens. Transpose first, so that H and D are neighbours.",
        (
            "heads.transpose(1, 2).flatten(start_dim=2)",
            "heads.reshape(len(heads), heads.size(2), -1)",
        ),
    ),
    Mistake(
        "After the transpose the entries are no longer in order, and `view` refuses. Copy them with `.contiguous()` first, or use `.flatten(start_dim=2)`.",
        ("flatten(start_dim=2)", "view(len(heads), heads.size(2), -1)"),
    ),
    Mistake(
        "Here the heads' columns are interleaved like shuffled cards, the first of each head, then the second. Each head's columns belong side by side, H before D.",
        ("transpose(1, 2)", "permute(0, 2, 3, 1)"),
    ),
    Mistake(
        "`flatten` starts one axis too early and joins the tokens as well. Keep B and T: `start_dim=2`.",
        ("start_dim=2", "start_dim=1"),
    ),
    Mistake(
        "H and D are not joined yet, and this is (B, T, H, D). Flatten the last two axes.",
        (".flatten(start_dim=2)", ""),
    ),
    Mistake(
        "You add up the heads. The merge only puts their columns side by side, and `c_proj` mixes them later.",
        ("transpose(1, 2).flatten(start_dim=2)", "sum(dim=1)"),
    ),
    Mistake(
        "You append the heads along the axis of the tokens. A token gets the columns of all heads: join along the last axis.",
        ("heads.transpose(1, 2).flatten(start_dim=2)", "torch.cat(heads.unbind(1), dim=1)"),
    ),
    Mistake(
        "You join T and D, so each row is a whole head. Transpose first, so that H and D are neighbours.",
        ("transpose(1, 2).", ""),
    ),
    Mistake(
        "You swap T and D. T and H change places, `transpose(1, 2)`, so that H and D are neighbours.",
        ("transpose(1, 2)", "transpose(2, 3)"),
    ),
    Mistake(
        "You join without moving back, so each row mixes entries of several tokens. Transpose first, so that H and D are neighbours.",
        ("heads.transpose(1, 2).flatten(start_dim=2)", "heads.view(len(heads), heads.size(2), -1)"),
    ),
    Mistake(
        "You take the mean of the heads. The merge only puts their columns side by side.",
        ("transpose(1, 2).flatten(start_dim=2)", "mean(dim=1)"),
    ),
    Mistake(
        "You move H in front of the texts. T and H change places, the axes 1 and 2: `transpose(1, 2)`.",
        ("transpose(1, 2)", "transpose(0, 1)"),
    ),
    Mistake(
        "Your copy comes too early, because the transpose takes the entries out of order again. Transpose first: `transpose(1, 2).contiguous()`.",
        (
            "heads.transpose(1, 2).flatten(start_dim=2)",
            "heads.contiguous().transpose(1, 2).view(len(heads), heads.size(2), -1)",
        ),
    ),
)


def right(heads):
    return CausalSelfAttention.merge_heads(None, heads)


def cases():
    generator = torch.Generator().manual_seed(63)

    def case(label, *shape):
        return Case(label, (torch.randn(*shape, generator=generator),))

    tiny = torch.tensor([[[[0, 1], [100, 101]], [[2, 3], [102, 103]]]])
    back = torch.randn(2, 5, 3, 4, generator=generator).transpose(1, 2)
    return [
        Case("two heads of two tokens", (tiny,)),
        case("fresh memory: B = 2, H = 3, T = 5, D = 4", 2, 3, 5, 4),
        Case("heads as split_heads leaves them, a transposed view", (back,)),
        case("one head", 2, 1, 5, 7),
        case("one text of one token", 1, 4, 1, 3),
    ]
