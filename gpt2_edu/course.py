"""The running example of the book: two sentences, toy sizes, and who adds which tensor.

Every chapter opens with the ledger built so far and closes with the rows that it added, which it
takes from a tape and holds against this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from .config import GPT2Config
from .tape import Ledger
from .tokenizer import load_tokenizer

SENTENCES = ("A crane ate fish.", "A crane lifted steel.")

# Toy sizes, all different, so that a swapped axis cannot go unnoticed: B=2, T=5, C=12, H=3, D=4.
TOY = GPT2Config(block_size=7, n_layer=2, n_head=3, n_embd=12)
SIZES = {"B": 2, "T": 5, "C": 12, "H": 3, "D": 4, "F": 48, "V": 50257}


@dataclass(frozen=True)
class Chapter:
    """The tensors that a chapter adds, or gives a new form, with the sizes that it works in."""

    axes: Mapping[str, str]
    sizes: Mapping[str, int]


CHAPTERS: dict[int, Chapter] = {
    1: Chapter({"idx": "B T"}, SIZES),
    2: Chapter({"tok_emb": "B T C", "pos_emb": "T C", "embd": "B T C"}, SIZES),
    3: Chapter(  # by hand: one query, three tokens, two numbers each
        {
            "attn.q": "C",
            "attn.k": "T C",
            "attn.v": "T C",
            "attn.scores": "T",
            "attn.weights": "T",
            "attn.heads": "C",
        },
        {"T": 3, "C": 2},
    ),
    4: Chapter(  # every token asks, in a batch; one head as wide as the model
        {
            "attn.q": "B T C",
            "attn.k": "B T C",
            "attn.v": "B T C",
            "attn.scores": "B T T",
            "attn.weights": "B T T",
            "attn.heads": "B T C",
        },
        SIZES,
    ),
    5: Chapter({"attn.masked_scores": "B T T"}, SIZES),
    6: Chapter(
        {
            "attn.q": "B H T D",
            "attn.k": "B H T D",
            "attn.v": "B H T D",
            "attn.scores": "B H T T",
            "attn.masked_scores": "B H T T",
            "attn.weights": "B H T T",
            "attn.heads": "B H T D",
            "attn.merged": "B T C",
            "attn.out": "B T C",
        },
        SIZES,
    ),
    7: Chapter({"mlp.pre": "B T F", "mlp.act": "B T F", "mlp.out": "B T C"}, SIZES),
    8: Chapter({"resid_mid": "B T C", "resid_post": "B T C"}, SIZES),
    9: Chapter({"ln_1": "B T C", "ln_2": "B T C"}, SIZES),
    11: Chapter({"ln_f": "B T C", "logits": "B T V"}, SIZES),
    15: Chapter(  # with a cache: one new token asks, and sees the keys of all five
        {"attn.scores": "B H T S", "attn.masked_scores": "B H T S", "attn.weights": "B H T S"},
        SIZES | {"T": 1, "S": 5},
    ),
}

# The order in which one forward pass meets them.
ORDER = (
    *("idx", "tok_emb", "pos_emb", "embd", "ln_1"),
    *CHAPTERS[6].axes,
    *("resid_mid", "ln_2", "mlp.pre", "mlp.act", "mlp.out", "resid_post", "ln_f", "logits"),
)


def toy_batch() -> Tensor:
    """The two sentences as token ids: (B, T) = (2, 5)."""
    encoding = load_tokenizer("gpt2")
    return torch.tensor([encoding.encode(sentence) for sentence in SENTENCES])


def rows_added(chapter: int) -> Ledger:
    """The ledger rows that one chapter adds, or gives a new form; none for most after 11."""
    if chapter not in CHAPTERS:
        return Ledger(())
    axes, sizes = CHAPTERS[chapter].axes, CHAPTERS[chapter].sizes
    return Ledger(
        tuple(
            (name, axes[name], tuple(sizes[letter] for letter in axes[name].split()))
            for name in sorted(axes, key=ORDER.index)
        )
    )


def ledger_after(chapter: int) -> Ledger:
    """The running ledger: all rows built up to the end of a chapter, in the order of the pass."""
    rows = {row[0]: row for n in range(1, chapter + 1) for row in rows_added(n).rows()}
    return Ledger(tuple(rows[name] for name in ORDER if name in rows))
