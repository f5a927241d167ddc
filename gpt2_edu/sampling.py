"""From logits to the next token: the knobs and the draw.

The order is that of Hugging Face's transformers: repetition penalty, temperature, top-k, top-p,
min-p. ``penalize`` is the first, because it needs the text; ``next_probabilities`` the others.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .checks import check_knobs, check_logits

GREEDY_BELOW = torch.finfo(torch.float32).tiny  # smaller ones may be 0 in float32, and 0 / 0 is NaN


def penalize(logits: Tensor, idx: Tensor, penalty: float) -> Tensor:
    """Make the tokens of each text less likely: logits (B, V), ids (B, T) → logits (B, V).

    The positive logits among them are divided by ``penalty``, the negative ones multiplied, as in
    transformers; Keskar et al. 2019, section 4.1, divide all. How often a token occurs does not
    matter. Above 1 it discourages repetition, below 1 it encourages it. Raises ValueError unless
    the penalty is above 0.
    """
    check_knobs(repetition_penalty=penalty)
    check_logits(logits)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    old = logits.gather(-1, idx)
    return logits.scatter(-1, idx, torch.where(old > 0, old / penalty, old * penalty))


def next_probabilities(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Tensor:
    """Apply temperature, top-k, top-p and min-p: logits (B, V) → probabilities (B, V).

    In this order. ``temperature`` divides the logits; at 0 the largest logit gets everything.
    ``top_k`` keeps the k largest (Fan et al. 2018) and all that tie with the last of them.
    ``top_p`` keeps the fewest tokens whose probabilities sum to at least p (Holtzman et al. 2020).
    ``min_p`` keeps those with at least this share of the largest probability (Nguyen et al. 2025).
    After each cut, the remaining probabilities are rescaled to sum to 1. Raises ValueError for a
    negative temperature, top_k below 1, top_p outside (0, 1] or min_p outside [0, 1], and
    FloatingPointError for logits that are not finite; a single -∞ is allowed, and never drawn.
    """
    check_knobs(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    check_logits(logits)
    if temperature < GREEDY_BELOW:
        winner = logits.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(logits, dtype=torch.float32).scatter(-1, winner, 1.0)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    # The largest becomes 0 and the others negative: a low temperature overflows to -∞ at most.
    logits = (logits - logits.amax(dim=-1, keepdim=True)) / min(temperature, 1e30)
    if top_k is not None and top_k < logits.size(-1):
        smallest_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest_kept, -torch.inf)
    probs = logits.softmax(dim=-1)
    if top_p is not None and top_p < 1:
        descending, order = probs.sort(dim=-1, descending=True, stable=True)
        before = descending.double().cumsum(dim=-1) - descending  # the sum of likelier tokens
        # Rounding apart, p was reached without this token.
        superfluous = before >= top_p - 4 * torch.finfo(probs.dtype).eps
        superfluous[:, 0] = False  # the likeliest stays, even where p rounds to 0
        kept = descending.masked_fill(superfluous, 0)
        probs = torch.zeros_like(probs).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))
    if min_p is not None and min_p > 0:
        probs = probs.masked_fill(probs < min_p * probs.amax(dim=-1, keepdim=True), 0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return probs


def sample_next(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw the next token id of each sequence: logits (B, V) → ids (B,).

    The settings are those of ``next_probabilities``. At temperature 0 nothing is drawn: the
    largest logit wins.
    """
    check_knobs(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    if temperature < GREEDY_BELOW:
        check_logits(logits)
        return logits.float().argmax(dim=-1)  # a CPU is slow to compare half-precision numbers
    probs = next_probabilities(
        logits, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p
    )
    # Divide by exponential noise, take the largest: a draw by these probabilities, the same one
    # that torch.multinomial makes, but without waiting for the device.
    noise = torch.empty_like(probs).exponential_(1, generator=generator)
    noise.clamp_(min=torch.finfo(noise.dtype).tiny)  # 0 / 0 would beat every number
    return (probs / noise).argmax(dim=-1)
