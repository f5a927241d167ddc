"""Predict, sample, append, repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from .model import GPT2


def sample_next(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw the next token id of each sequence: logits (B, V) → ids (B,).

    The knobs apply in this order. ``temperature`` divides the logits; at 0 the largest logit wins
    and nothing is drawn. ``top_k`` keeps the k largest, and whatever ties with the last of them.
    ``top_p`` keeps the fewest tokens whose probabilities sum to at least p (Holtzman et al. 2020).
    What is kept is normalised again, so that it sums to 1. Raises ValueError for a negative
    temperature, top_k below 1 or top_p outside (0, 1].
    """
    check_knobs(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(dim=-1)
    logits = logits.float()
    # The largest becomes 0 and the others negative, so that no low temperature can overflow.
    logits = (logits - logits.amax(dim=-1, keepdim=True)) / temperature
    if top_k is not None and top_k < logits.size(-1):
        smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest_kept, -torch.inf)
    probs = logits.softmax(dim=-1)
    if top_p is not None and top_p < 1:
        descending, order = probs.sort(dim=-1, descending=True, stable=True)
        superfluous = descending.cumsum(dim=-1) - descending >= top_p  # reached without it
        superfluous[:, 0] = False  # the likeliest token always stays
        kept = descending.masked_fill(superfluous, 0)
        probs = torch.zeros_like(probs).scatter(-1, order, kept)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


@torch.no_grad()
def stream(
    model: GPT2,
    idx: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_id: int | None = None,
    generator: torch.Generator | None = None,
    overflow: Literal["raise", "crop"] = "raise",
) -> Iterator[Tensor]:
    """Yield the ids (B,) of each new token as it is drawn.

    idx (B, T) is the prompt. ``max_new_tokens`` does not count it. After ``eos_id`` a sequence
    yields only ``eos_id``, and when all have ended so does the stream. Text that would outgrow
    the window of block_size tokens is an error, unless ``overflow="crop"`` lets the model forget
    its oldest tokens. The model runs in eval mode and afterwards is in the mode that it was in.
    Raises ValueError or TypeError, at the first token, for what ``sample_next`` and the model
    refuse.
    """
    check_knobs(temperature, top_k, top_p)
    window = model.config.block_size
    croppable = overflow == "crop" and isinstance(idx, Tensor) and idx.ndim == 2
    model.check_ids(idx[:, -window:] if croppable else idx)  # the prompt too may be longer
    T = idx.size(1)
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be 0 or more, got {max_new_tokens}")
    if overflow not in ("raise", "crop"):
        raise ValueError(f'overflow must be "raise" or "crop", got {overflow!r}')
    if overflow == "raise" and T + max_new_tokens > window + 1:
        raise ValueError(
            f"{T} prompt tokens and {max_new_tokens} new ones need a window of "
            f"{T + max_new_tokens - 1}, but this model sees block_size={window}. Ask for at most "
            f'{window + 1 - T} new tokens, or pass overflow="crop" to go on with the oldest '
            "tokens forgotten."
        )
    ended = torch.zeros(idx.size(0), dtype=torch.bool, device=idx.device)
    was_training = model.training
    model.eval()
    try:
        for _ in range(max_new_tokens):
            logits, _ = model(idx[:, -window:])
            new = sample_next(
                logits[:, -1],
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                generator=generator,
            )
            if eos_id is not None:
                new = new.masked_fill(ended, eos_id)
                ended |= new == eos_id
            yield new
            if eos_id is not None and ended.all():
                break
            idx = torch.cat([idx, new.unsqueeze(1)], dim=1)
    finally:
        model.train(was_training)


def generate(
    model: GPT2,
    idx: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_id: int | None = None,
    generator: torch.Generator | None = None,
    overflow: Literal["raise", "crop"] = "raise",
) -> Tensor:
    """Continue each prompt: idx (B, T) → (B, T + n), n ≤ max_new_tokens. See ``stream``."""
    new = stream(
        model,
        idx,
        max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        eos_id=eos_id,
        generator=generator,
        overflow=overflow,
    )
    return torch.cat([idx, *(ids.unsqueeze(1) for ids in new)], dim=1)


def check_knobs(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Refuse sampling settings that mean nothing."""
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be 0 (greedy) or above, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k keeps at least 1 token, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p is a probability mass in (0, 1], got {top_p}")
