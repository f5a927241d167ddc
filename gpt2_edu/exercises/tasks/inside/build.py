"""The maps of every head."""

from typing import Any

import torch
from torch import Tensor

from ....tape import trace
from ...exercise import Case, Mistake
from ...step import fill
from ..gpt2.build import NAMES, theirs

PARTS = ("attention_maps",)
IMPORTS = ("import torch",)

START = '''
@torch.no_grad()
def attention_maps(model, idx):
    """The weights of every head for one text: idx (1, T) → (N, H, T, T)."""
    ...
'''

SOLUTION = '''
@torch.no_grad()
def attention_maps(model, idx):
    """The weights of every head for one text: idx (1, T) → (N, H, T, T)."""
    maps, x = [], model.embeddings(idx)
    for block in model.h:
        q, k, _ = block.attn.c_attn(block.ln_1(x)).split(x.size(-1), dim=-1)
        q, k = map(block.attn.split_heads, (q, k))
        apart = torch.eye(idx.size(1), device=x.device)  # a column each
        maps.append(attention(q, k, apart))
        x = block(x)
    return torch.cat(maps)
'''

MISTAKES = (
    Mistake(
        "Every block reads the embeddings here, so only the first one's maps are right. Let each "
        "block make the next x with `x = block(x)`, at the end of the loop.",
        ("        x = block(x)\n", ""),
    ),
    Mistake(
        "You are one block too late. The maps belong to what a block reads, not to what it writes. "
        "Put `x = block(x)` at the end of the loop.",
        ("        x = block(x)\n", ""),
        ("        q, k, _", "        x = block(x)\n        q, k, _"),
    ),
    Mistake(
        "`c_attn` reads the stream without its norm here. In a block it is "
        "`block.attn.c_attn(block.ln_1(x))`.",
        ("block.ln_1(x)", "x"),
    ),
    Mistake(
        "These are not the weights but the heads' outputs, weights @ v. Give "
        "`attention` a `torch.eye(T)` for v, because weights @ eye is the weights themselves.",
        ("q, k, _", "q, k, v"),
        (
            "q, k = map(block.attn.split_heads, (q, k))",
            "q, k, v = map(block.attn.split_heads, (q, k, v))",
        ),
        ("attention(q, k, apart)", "attention(q, k, v)"),
    ),
    Mistake(
        "You get one map for each block, because q and k are not split into heads. "
        "`block.attn.split_heads` makes (1, H, T, D) of each.",
        ("        q, k = map(block.attn.split_heads, (q, k))\n", ""),
    ),
    Mistake(
        "Each block's maps have an axis for the one text, (1, H, T, T). Join them along it with "
        "`torch.cat`; `torch.stack` makes a new axis.",
        ("torch.cat", "torch.stack"),
    ),
    Mistake(
        "The values are as wide as a head here. To read all weights, give `attention` a column for each key, `torch.eye(T)`.",
        ("torch.eye(idx.size(1),", "torch.eye(q.size(-1),"),
    ),
    Mistake(
        "With ones as values every result is the sum of a row, which is 1. Ones on the diagonal only, `torch.eye(T)`, give the weights themselves.",
        ("torch.eye(idx.size(1), device", "torch.ones(idx.size(1), idx.size(1), device"),
    ),
    Mistake(
        "The maps are right but in a list. Join them to one tensor, `torch.cat(maps)`.",
        ("torch.cat(maps)", "maps"),
    ),
    Mistake(
        "Your own softmax has no mask, so tokens see those after them. Call your `attention`, which hides them.",
        ("attention(q, k, apart)", "(q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1)"),
    ),
    Mistake(
        "Only one block's maps are returned. Collect those of all blocks, and return them below the loop.",
        ("    return torch.cat(maps)", "    return maps[-1]"),
    ),
    Mistake(
        "The division by √D is missing. Your `attention` has it.",
        (
            "attention(q, k, apart)",
            "(q @ k.mT).masked_fill(~torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril(k.size(-2) - q.size(-2)), -torch.inf).softmax(dim=-1)",
        ),
    ),
    Mistake(
        "The scores are divided by √C, as if there were one head. D is the width of a head, `q.size(-1)`.",
        ("attention(q, k, apart)", "attention(q * (q.size(-1) / x.size(-1)) ** 0.5, k, apart)"),
    ),
    Mistake(
        "The MLP is left out, so the next block reads another stream. `x = block(x)` is the whole block.",
        ("x = block(x)", "x = x + block.attn(block.ln_1(x))"),
    ),
    Mistake(
        "These are keys and values. `c_attn` gives q, k, v in this order, and the weights come from q and k.",
        ("q, k, _ = ", "_, q, k = "),
    ),
    Mistake(
        "The positions are missing from what the first block reads. Begin with `model.embeddings(idx)`.",
        ("model.embeddings(idx)", "model.embeddings.wte(idx)"),
    ),
    Mistake(
        "These are the scores. The weights are their softmax under the mask, which your `attention` takes.",
        ("attention(q, k, apart)", "q @ k.mT / q.size(-1) ** 0.5"),
    ),
    Mistake(
        "Attention reads `ln_1`, and `ln_2` belongs to the MLP.",
        ("block.ln_1", "block.ln_2"),
    ),
    Mistake(
        "The maps of all blocks are in one row, (1, N · H, T, T). Join them along axis 0, which is what `torch.cat(maps)` does.",
        ("torch.cat(maps)", "torch.cat(maps, dim=1)"),
    ),
    Mistake(
        "The `return` is inside the loop, so only the first block's maps are returned. Move it out, below the loop.",
        ("x = block(x)\n    return", "x = block(x)\n        return"),
    ),
    Mistake(
        "The blocks get the ids themselves. The stream begins with `model.embeddings(idx)`.",
        ("model.embeddings(idx)", "idx"),
    ),
    Mistake(
        "Only the last block's maps are returned. Return those of all, (N, H, T, T).",
        ("torch.cat(maps)", "maps[-1][0]"),
    ),
    Mistake(
        "The MLP is left out, so the next block reads another stream. `x = block(x)` is the whole block.",
        ("x = block(x)", "x = x + block.attn(x)"),
    ),
)

TOLERANCE = 1e-4


def use(mine: Any, sizes: tuple[int, ...], idx: Tensor) -> Tensor:
    return mine.attention_maps(fill(mine.GPT2(*sizes), theirs(sizes), NAMES), idx)


@torch.no_grad()
def right(sizes: tuple[int, ...], idx: Tensor) -> Tensor:
    whole = theirs(sizes)
    with trace(whole) as t:
        whole(idx)
    return torch.cat([t[f"transformer.h.{layer}.attn.weights"] for layer in range(sizes[2])])


def cases() -> list[Case]:
    idx = torch.tensor([[1, 2, 3, 4, 5]])
    return [
        Case("two blocks of three heads", ((13, 7, 2, 3, 12), idx)),
        Case("one head", ((6, 5, 1, 1, 4), idx)),
        Case("a single token", ((13, 7, 2, 3, 12), idx[:, :1])),
    ]
