"""Learning from pairs of texts, the better and the worse, and from the better ones alone.

The book's chapter on reward explains it line by line. Source: Rafailov et al. 2023, "Direct
Preference Optimization", equation 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..language_model import LanguageModel
from ..tokenizer import load_tokenizer
from .reward import Texts, log_probs, of_tokens


def join(some: Sequence[Texts]) -> Texts:
    """Batches of texts as one, the shorter ones filled with <|endoftext|>."""
    longest, end = max(texts.ids.size(1) for texts in some), load_tokenizer("crane").eot_token
    ids = [F.pad(t.ids, (0, longest - t.ids.size(1)), value=end) for t in some]
    drawn = [F.pad(t.drawn, (0, longest - t.ids.size(1))) for t in some]
    return Texts(torch.cat(ids), torch.cat(drawn))


def text_log_probs(model: nn.Module, texts: Texts) -> Tensor:
    """The log-probability in nats of all that was drawn of each text, (B,)."""
    return (of_tokens(log_probs(model, texts), texts) * texts.drawn).sum(dim=1)


def dpo_loss(chosen: Tensor, rejected: Tensor, beta: float) -> Tensor:
    """The mean of -log σ(β · (chosen - rejected)); ln 2 = 0.6931 where both are 0.

    Both (B,) are log p(text) of the model less that of the model it started from.
    """
    return -F.logsigmoid(beta * (chosen - rejected)).mean()


def pair(rewards: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Pairs (n_pairs, 2) of texts in one group, the better first: indices into rewards (G, n).

    Each text with the best reward of its group is paired with one of the others at random.
    """
    pairs, n = [], rewards.size(1)
    for g, row in enumerate(rewards):
        worse = (row < row.max()).nonzero()[:, 0]
        for better in (row == row.max()).nonzero()[:, 0].tolist() if len(worse) else []:
            other = worse[torch.randint(len(worse), (), generator=generator)].item()
            pairs.append((g * n + better, g * n + int(other)))
    return torch.tensor(pairs, dtype=torch.long).view(-1, 2)


def prefer(
    model: LanguageModel,
    chosen: Texts,
    rejected: Texts,
    steps: int,
    *,
    batch_size: int = 16,
    beta: float = 0.1,
    lr: float = 1e-4,
    on_step: Callable[[float, float, float], object] = lambda loss, chosen, rejected: None,
) -> list[float]:
    """DPO: make the chosen text of each pair likelier than before, beside the rejected one.

    Returns the loss of every step. ``on_step`` gets it with the nats that the chosen and the
    rejected texts have gained, which shows what the loss hides: it falls as well while both lose.
    Raises ValueError if there is no pair, or not as many of one kind as of the other.
    """
    if len(chosen) != len(rejected) or not len(chosen):
        raise ValueError(
            f"each chosen text needs a rejected one, got {len(chosen)} and {len(rejected)}"
        )
    start = deepcopy(model).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    losses = []
    for _ in range(steps):
        rows = torch.randint(len(chosen), (batch_size,))
        up, down = (  # nats, (batch_size,) each
            text_log_probs(model, some) - text_log_probs(start, some)
            for some in (chosen[rows], rejected[rows])
        )
        loss = dpo_loss(up, down, beta)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        on_step(losses[-1], up.mean().item(), down.mean().item())
    return losses


def imitate(
    model: LanguageModel,
    texts: Texts,
    steps: int,
    *,
    batch_size: int = 16,
    lr: float = 3e-4,
    on_step: Callable[[float], object] = lambda loss: None,
) -> list[float]:
    """Train on texts that were written, such as a model's own right ones: loss on what was drawn.

    Returns the loss of every step. Raises ValueError if there is no text.
    """
    if not len(texts):
        raise ValueError("there is no text to imitate")
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    losses = []
    for _ in range(steps):
        some = texts[torch.randint(len(texts), (batch_size,))]
        loss = -text_log_probs(model, some).sum() / some.drawn.sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        on_step(losses[-1])
    return losses
