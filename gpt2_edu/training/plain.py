"""The plain loop: all that training needs, on one screen. The other modules add convenience.

The book's chapter on training explains it line by line. Its models are small, its text is Crane
World, and ``model(idx)`` gives logits (B, T, V) and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import crane
from ..tokenizer import load_tokenizer


@cache
def crane_ids(n_stories: int = 2000) -> Tensor:
    """The stories of the seeds 0, 1, 2 … as one row of ids, each after ``<|endoftext|>``."""
    encoding = load_tokenizer("crane")
    stories = encoding.encode_ordinary_batch([crane.story(seed) for seed in range(n_stories)])
    return torch.tensor([i for story in stories for i in (encoding.eot_token, *story)])


def batch(ids: Tensor, batch_size: int, T: int) -> tuple[Tensor, Tensor]:
    """Windows from anywhere in ids: inputs (B, T), and their targets, one token further on."""
    starts = torch.randint(len(ids) - T, (batch_size,))
    windows = torch.stack([ids[start : start + T + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


def train(
    model: nn.Module, ids: Tensor, steps: int, batch_size: int = 16, T: int = 64, lr: float = 1e-3
) -> list[float]:
    """Let the model learn to predict ids. Returns the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        inputs, targets = batch(ids, batch_size, T)
        logits = model(inputs)  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def write(model: Callable[[Tensor], Tensor], prompt: str, n: int = 40, T: int = 64) -> str:
    """Go on from a prompt, n tokens at most, each drawn as likely as the model says.

    Ends before the next ``<|endoftext|>``. The model sees the last T tokens.
    """
    encoding = load_tokenizer("crane")
    ids = torch.tensor([[encoding.eot_token, *encoding.encode_ordinary(prompt)]])
    for _ in range(n):
        logits = model(ids[:, -T:])[:, -1]  # (1, V), of the last position
        new = torch.multinomial(logits.softmax(dim=-1), num_samples=1)
        if new.item() == encoding.eot_token:
            break
        ids = torch.cat([ids, new], dim=1)
    return encoding.decode(ids[0, 1:].tolist())
