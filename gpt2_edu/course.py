"""The running example of the book: two sentences, toy sizes, and each chapter's tensors.

A chapter that adds tensors ends with their ledger rows, recorded by a tape and compared with this
table.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .config import GPT2Config
from .machine.messages import nearest
from .tape import Ledger
from .tokenizer import load_tokenizer

SENTENCES = ("A crane ate fish.", "A crane lifted steel.")

# Toy sizes, all different, so that a swapped axis is an error: B=2, T=5, C=12, H=3, D=4.
TOY = GPT2Config(block_size=7, n_layer=2, n_head=3, n_embd=12)
SIZES = {"B": 2, "T": 5, "C": 12, "H": 3, "D": 4, "F": 48, "V": 50257}


# The tensors that each chapter adds or reshapes, with their axes, in the order of the forward pass.
CHAPTERS = {
    "tokens": "idx: B T",
    "embeddings": "tok_emb: B T C, pos_emb: T C, embd: B T C",
    "crane": "attn.q: C, attn.k: T C, attn.v: T C, attn.scores: T, attn.weights: T, attn.heads: C",
    "attention": "attn.q: B T C, attn.k: B T C, attn.v: B T C, "
    "attn.scores: B T T, attn.weights: B T T, attn.heads: B T C",
    "mask": "attn.masked_scores: B T T",
    "heads": "attn.q: B H T D, attn.k: B H T D, attn.v: B H T D, attn.scores: B H T T, "
    "attn.masked_scores: B H T T, attn.weights: B H T T, attn.heads: B H T D, "
    "attn.merged: B T C, attn.out: B T C",
    "mlp": "mlp.pre: B T F, mlp.act: B T F, mlp.out: B T C",
    "residual": "resid_mid: B T C, resid_post: B T C",
    "layernorm": "ln_1: B T C, ln_2: B T C",
    "gpt2": "ln_f: B T C, logits: B T V",
    "cache": "attn.scores: B H T S, attn.masked_scores: B H T S, attn.weights: B H T S",
}
# "crane" has one query and three tokens with vectors of size 2; with a cache, one new token attends
# to the keys of all five. All others have the toy sizes.
OTHER_SIZES = {"crane": {"T": 3, "C": 2}, "cache": {"T": 1, "S": 5}}

# Tensors of earlier chapters from which a chapter computes its own.
SOURCES = {
    "embeddings": ("idx",),
    "attention": ("embd",),
    "mask": ("attn.scores",),
    "heads": ("embd",),
    "mlp": ("attn.out",),
    "residual": ("embd", "attn.out", "mlp.out"),
    "layernorm": ("embd", "resid_mid"),
    "gpt2": ("resid_post",),
    "cache": ("attn.q",),
}

ORDER = (
    *("idx", "tok_emb", "pos_emb", "embd", "ln_1", "attn.q", "attn.k", "attn.v", "attn.scores"),
    *("attn.masked_scores", "attn.weights", "attn.heads", "attn.merged", "attn.out", "resid_mid"),
    *("ln_2", "mlp.pre", "mlp.act", "mlp.out", "resid_post", "ln_f", "logits"),
)


def toy_batch() -> Tensor:
    """The two sentences as token ids: (B, T) = (2, 5)."""
    encoding = load_tokenizer("gpt2")
    return torch.tensor([encoding.encode(sentence) for sentence in SENTENCES])


def small_language() -> tuple[Tensor, float]:
    """Chapter 6's 32 sentences, of which each noun eats and lifts something else: (B, T) = (32, 5).

    Their 19 tokens are numbered from 0. Also the least mean loss of predicting all but the first.
    """
    foods = {"crane": "fish", "bat": "fruit", "seal": "squid", "mouse": "bread"}
    loads = {"crane": "steel", "bat": "stones", "seal": "boxes", "mouse": "wood"}
    encoding = load_tokenizer("gpt2")
    texts = [
        f"{article} {noun} {verb} {things[noun]}."
        for article in ("A", "The", "One", "That")
        for noun in foods
        for verb, things in (("ate", foods), ("lifted", loads))
    ]
    ids = torch.tensor([encoding.encode(text) for text in texts])
    # After an article comes one of four nouns, then one of two verbs; the rest is certain.
    floor = (math.log(len(foods)) + math.log(2)) / (ids.size(1) - 1)
    return ids.unique(return_inverse=True)[1], floor


def rows_added(chapter: str) -> Ledger:
    """The ledger rows that a chapter adds or reshapes. Raises ValueError for an unknown name."""
    if chapter not in CHAPTERS:
        raise ValueError(f"no tensors are added by {chapter!r}. {nearest(chapter, CHAPTERS)}")
    sizes = SIZES | OTHER_SIZES.get(chapter, {})
    pairs = (entry.split(": ") for entry in CHAPTERS[chapter].split(", "))
    return Ledger(tuple((n, axes, tuple(sizes[x] for x in axes.split())) for n, axes in pairs))


def ledger_of(chapter: str) -> Ledger:
    """The rows that a chapter adds, and those they are computed from, in forward order."""
    rows = {name: (name, axes, shape) for name, axes, shape in rows_added(chapter).rows()}
    sizes = SIZES | OTHER_SIZES.get(chapter, {})
    for earlier in list(CHAPTERS)[: list(CHAPTERS).index(chapter)][::-1]:
        for name, axes, _ in rows_added(earlier).rows():
            if name in SOURCES.get(chapter, ()) and name not in rows:
                rows[name] = (name, axes, tuple(sizes[letter] for letter in axes.split()))
    return Ledger(tuple(rows[name] for name in ORDER if name in rows))
