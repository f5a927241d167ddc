"""Tokens and positions as vectors."""

import contextlib
from typing import Any

import torch
from torch import Tensor, nn

from ...crane_run import CRANE, MARSH, TEXT, crane_run
from ...exercise import Case, Mistake
from ...step import fill, random_tensor

PARTS = ("Embeddings",)
# With what the next chapters' answers may use as well.
IMPORTS = (
    "import math",
    "import torch",
    "from gpt2_edu import note",
    "from torch import nn",
    "from torch.nn import functional as F",
)

START = """
class Embeddings(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd):
        super().__init__()
        ...  # the tables wte and wpe

    def forward(self, idx):  # (B, T) → (B, T, C)
        ...  # if you note tok_emb, pos_emb and embd, trace sees them
"""

SOLUTION = """
class Embeddings(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)  # a row for each token
        self.wpe = nn.Embedding(block_size, n_embd)  # a row for each position

    def forward(self, idx):  # (B, T) → (B, T, C)
        positions = torch.arange(idx.size(1), device=idx.device)
        tok_emb = note("tok_emb", self.wte(idx), "B T C")
        pos_emb = note("pos_emb", self.wpe(positions), "T C")
        return note("embd", tok_emb + pos_emb, "B T C")
"""


MISTAKES = (
    Mistake(
        "You return only the token rows. Add the row of each position, from `wpe`.",
        ("tok_emb + pos_emb", "tok_emb"),
    ),
    Mistake(
        "You look the positions up by the ids. A row of `wpe` belongs to a position: 0, 1, 2, … T − 1.",
        ("self.wpe(positions)", "self.wpe(idx)"),
    ),
    Mistake(
        "Your positions begin at 1. The first token is at position 0.",
        ("torch.arange(idx.size(1)", "torch.arange(1, idx.size(1) + 1"),
    ),
    Mistake(
        "You add the whole of `wpe`, which has a row for each seat. Fetch only the first T.",
        ("self.wpe(positions)", "self.wpe.weight"),
    ),
    Mistake(
        "You count the positions along the wrong axis: `idx.size(0)` is B. T is `idx.size(1)`.",
        ("idx.size(1)", "idx.size(0)"),
    ),
    Mistake(
        "Your positions are made on the default device. If the ids are on a GPU, the look-up then "
        "fails: `torch.arange(…, device=idx.device)`.",
        (", device=idx.device", ""),
    ),
    Mistake(
        "`wpe` has a row for each position, so it is `nn.Embedding(block_size, n_embd)`.",
        (
            "self.wpe = nn.Embedding(block_size, n_embd)",
            "self.wpe = nn.Embedding(vocab_size, n_embd)",
        ),
    ),
    Mistake(
        "The sizes of a table are its rows first, then its width: `nn.Embedding(vocab_size, n_embd)`.",
        ("nn.Embedding(vocab_size, n_embd)", "nn.Embedding(n_embd, vocab_size)"),
        ("nn.Embedding(block_size, n_embd)", "nn.Embedding(n_embd, block_size)"),
    ),
    Mistake(
        "The parameters `wte.weight` and `wpe.weight` are missing. Make each table an `nn.Embedding` in `__init__`, and give it to `self` directly: `self.wte = nn.Embedding(vocab_size, n_embd)`.",
        (
            "self.wte = nn.Embedding(vocab_size, n_embd)",
            "self.wte = torch.randn(vocab_size, n_embd)",
        ),
        (
            "self.wpe = nn.Embedding(block_size, n_embd)",
            "self.wpe = torch.randn(block_size, n_embd)",
        ),
    ),
    Mistake(
        "You put token and position side by side, 2C wide. GPT-2 adds them, entry by entry.",
        (
            'note("embd", tok_emb + pos_emb, "B T C")',
            "torch.cat([tok_emb, pos_emb.expand_as(tok_emb)], dim=-1)",
        ),
    ),
    Mistake(
        "Every token gets the same position here. `self.wpe` needs all of them: 0, 1, 2, … T − 1.",
        ("self.wpe(positions)", "self.wpe(positions[-1:])[0]"),
        ('"T C")', '"C")'),
    ),
    Mistake(
        "You return only the rows of the positions. Add them to the rows of the tokens.",
        ('note("embd", tok_emb + pos_emb, "B T C")', "pos_emb"),
    ),
    Mistake(
        "`wpe` is asked for row T alone. It needs a row for each position: `torch.arange(T)`.",
        ("self.wpe(positions)", "self.wpe(positions[-1:] + 1)[0]"),
        ('"T C")', '"C")'),
    ),
    Mistake(
        "The tables are swapped. The ids look up rows of `wte`, the positions rows of `wpe`.",
        ("self.wte(idx)", "self.first(idx)"),
        ("self.wpe(positions)", "self.wte(positions)"),
        ("self.first", "self.wpe"),
    ),
    Mistake(
        "`wpe` is asked for row T alone. It needs a row for each position: `torch.arange(T)`.",
        ("self.wpe(positions)", "self.wpe(idx.size(1))"),
    ),
)


def tables(vocab_size: int, block_size: int, n_embd: int) -> nn.ModuleDict:
    """The two tables of the package, with numbers of their own."""
    found = nn.ModuleDict(
        {"wte": nn.Embedding(vocab_size, n_embd), "wpe": nn.Embedding(block_size, n_embd)}
    )
    with torch.no_grad():
        for seed, parameter in enumerate(found.parameters()):
            parameter.copy_(random_tensor(seed, *parameter.shape))
    return found


def use(mine: Any, idx: Tensor, sizes: tuple[int, int, int], what: str = "") -> Any:
    layer = fill(mine.Embeddings(*sizes), tables(*sizes))
    return device_of_positions(layer, idx) if what else layer(idx)


def device_of_positions(layer: nn.Module, idx: Tensor) -> str:
    """Where positions are made for ids that are not on the default device."""
    found = [idx.device.type]

    def look(wpe: nn.Module, given: tuple[Tensor]) -> Tensor:
        found.append(given[0].device.type)
        return torch.zeros_like(given[0], device=idx.device)

    layer.get_submodule("wpe").register_forward_pre_hook(look)
    # Positions that are moved to the ids afterwards are as right, but nothing leaves "meta".
    with torch.device("meta"), contextlib.suppress(NotImplementedError):
        layer(idx)
    return found[-1]


def right(idx: Tensor, sizes: tuple[int, int, int], what: str = "") -> Any:
    if what:
        return idx.device.type
    table = tables(*sizes)
    return table["wte"](idx) + table["wpe"](torch.arange(idx.size(1)))


def cases() -> list[Case]:
    return [
        Case("one text of two tokens", (torch.tensor([[3, 1]]), (5, 4, 2))),
        Case("the same token at every position", (torch.full((1, 7), 2), (11, 7, 3))),
        Case(
            "B = 2, T = 5, C = 12", (torch.tensor([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]), (13, 7, 12))
        ),
        Case("a single token", (torch.tensor([[0]]), (3, 2, 5))),
        Case(
            "positions on the device of the ids", (torch.tensor([[3, 1]]), (5, 4, 2), "positions")
        ),
    ]


def after(mine: Any) -> str:
    run = crane_run()
    trained, c = run.model.transformer, run.model.config
    layer = mine.Embeddings(c.vocab_size, c.block_size, c.n_embd)
    x = fill(layer, nn.ModuleDict({"wte": trained.wte, "wpe": trained.wpe}))(run.idx)[0]
    cosines = torch.cosine_similarity(x[None], x[:, None], dim=-1)
    return (
        f'Your Embeddings in the trained model, reading "{TEXT}": the cosine of the first and the '
        f'second "the" is {cosines[2, 5]:.2f}, of "marsh" and "crane" {cosines[MARSH, CRANE]:.2f}.'
    )
