"""The models of a grid of sizes and lengths: their sizes, what they read, and their training.

``make scaling`` trains them, and scaling.py reads the results. A small one takes seconds::

    model = GPT2(config(8))
    for done in train(model, windows(2240), steps=280, lr=0.0625, seed=0):
        pass
    loss(model)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import count

import torch
from torch import Tensor, nn

from .. import crane
from ..config import GPT2Config
from ..model import GPT2
from ..tokenizer import load_tokenizer
from ..training.optim import learning_rate, make_optimizer
from .scoring import score_tokens
from .since import SEEDS, held_out

B, T = 8, 112  # windows of a step, and tokens of a window: more than a story has


def config(C: int) -> GPT2Config:
    """Two blocks of width C, with two heads."""
    return GPT2Config(
        vocab_size=len(used_ids()),
        block_size=T,
        n_layer=2,
        n_head=2,
        n_embd=C,
        initializer_range=0.6 / C**0.5,  # as GPT-2's 0.02 is for its 768
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
    )


# ---- Data ---------------------------------------------------------------------------------------


@cache
def used_ids() -> Tensor:
    """The ids of `crane` that occur in stories, sorted: the others would only cost time."""
    encoding = load_tokenizer("crane")
    texts = [crane.story(seed) for seed in crane.random_seeds(3000, SEEDS["held_out"])]
    used = {i for row in encoding.encode_ordinary_batch(texts) for i in row}
    return torch.tensor(sorted(used | {encoding.eot_token}))


def renumber(ids: Tensor) -> Tensor:
    """Ids of `crane` as places among those that occur. Raises ValueError for any other."""
    places = torch.searchsorted(used_ids(), ids).clamp(max=len(used_ids()) - 1)
    if not used_ids()[places].equal(ids):
        raise ValueError("there are ids that do not occur in the stories that were looked through")
    return places


@lru_cache(maxsize=1)
def windows(n: int) -> Tensor:
    """n windows (n, T + 1) that do not overlap, each from an <|endoftext|> on."""
    encoding = load_tokenizer("crane")
    rows: list[list[int]] = []
    row: list[int] = []
    for first in count(step=1000):
        texts = [crane.story(seed) for seed in range(first, first + 1000)]
        for ids in encoding.encode_ordinary_batch(texts):
            row += [encoding.eot_token, *ids]
            if len(row) > T:  # the rest of the last story is left out
                rows.append(row[: T + 1])
                row = []
        if len(rows) >= n:
            return renumber(torch.tensor(rows[:n]))
    raise AssertionError("count() does not end")


# ---- Training -----------------------------------------------------------------------------------


def train(
    model: GPT2, data: Tensor, steps: int, lr: float, seed: int, epochs: int = 1
) -> Iterator[int]:
    """Train a model with a cosine that ends with the run, and yield how many steps are done.

    Each step reads B of the windows ``data``, which the seed chooses. No window is read twice; or
    with ``epochs`` a part of so many is chosen, and read so many times, each time in another order.
    Raises ValueError for too few windows.
    """
    if len(data) < steps * B // epochs:
        raise ValueError(f"{steps} steps need {steps * B // epochs} windows, got {len(data)}")
    generator = torch.Generator().manual_seed(1000 + seed)
    chosen = torch.randperm(len(data), generator=generator)[: steps * B // epochs]
    orders = [chosen[torch.randperm(len(chosen), generator=generator)] for _ in range(epochs)]
    optimizer = make_optimizer(model, lr=lr, betas=(0.9, 0.99), weight_decay=0.01)
    model.train()
    for step, batch in enumerate(torch.cat(orders).split(B)):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps=steps, lr=lr, min_lr=0.0, warmup_steps=50)
        rows = data[batch]
        _, nats = model(rows[:, :-1], rows[:, 1:])
        optimizer.zero_grad()
        nats.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield step + 1


def loss(model: GPT2) -> float:
    """Nats per token on new stories, whose exact floor is known."""
    rows = [renumber(torch.tensor(row)).tolist() for row in held_out().rows]
    return -torch.cat(score_tokens(model, rows)).mean().item()
