"""Speculative decoding: a small model drafts tokens, the large one checks them in one pass.

A pass of the large model over five tokens takes about as long as one over one token, where its
weights have to come from memory. So a draft of four tokens, of which it accepts as many as it can,
gives one to five tokens for one pass. What is written has exactly the large model's distribution,
however bad the draft is. Sources: Leviathan et al. 2023, algorithm 1; Chen et al. 2023.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..checks import check_prompt, check_range
from ..config import check_int
from ..generation import Model, has_cache, logits_of, window_of
from ..language_model import LanguageModel, eval_mode
from ..machine.messages import short_repr
from ..sampling import next_probabilities


@dataclass(frozen=True)
class Drafted:
    """A text, and how it came to be."""

    idx: Tensor  # (1, T + n)
    rounds: int  # passes of the large model
    drafted: int  # tokens that the large model checked
    accepted: int  # those that it kept


# ---- The rule ----------------------------------------------------------------------------------


def accept(
    p: Tensor, q: Tensor, drafted: Tensor, generator: torch.Generator | None = None
) -> tuple[int, int]:
    """How many of n drafted tokens (n,) are kept, and the token that is drawn after them.

    ``p`` (n + 1, V) are the probabilities of the large model, ``q`` (n, V) those that the draft was
    drawn from. A token is kept with probability min(1, p / q). The first that is not is replaced by
    one from what p has beyond q: so each token x has min(p, q) + (p - min(p, q)) = p in all. If all
    are kept, one more is drawn, from p.
    """
    n = len(drafted)
    token = drafted.unsqueeze(1)  # (n, 1)
    ratio = (p[:n].gather(1, token) / q.gather(1, token)).squeeze(1)  # (n,)
    chance = torch.rand(n, generator=generator, device=p.device, dtype=p.dtype)
    kept = int((chance < ratio).long().cumprod(dim=0).sum())
    left = p[kept] if kept == n else beyond(p[kept], q[kept])
    return kept, int(torch.multinomial(left, 1, generator=generator))


def beyond(p: Tensor, q: Tensor) -> Tensor:
    """What p has beyond q, (V,), to draw from: not scaled to sum to 1."""
    left = (p - q).clamp(min=0)
    return left if left.sum() > 0 else p  # both are equal but for rounding


Rule = Callable[[Tensor, Tensor, Tensor, torch.Generator | None], tuple[int, int]]


# ---- The loop ----------------------------------------------------------------------------------


class Reader:
    """A model that reads a text which grows, and of which the end may be taken back.

    Keys and values of what was read are kept, if the model has a cache.
    """

    def __init__(self, model: Model, length: int) -> None:
        self.model = model
        self.cache = model.make_cache(1, length) if has_cache(model) and length else None

    def __call__(self, idx: Tensor, n: int) -> Tensor:
        """The logits (n, V) after each of the last n tokens of idx (1, T)."""
        if self.cache is None:
            output = self.model(idx)
        else:
            # At least the last n are read, again if need be: so a cache never has too much.
            self.cache.length = min(self.cache.length, idx.size(1) - n)
            output = self.model(idx[:, self.cache.length :], cache=self.cache)
        return logits_of(output)[0, -n:]


def speculate(
    model: Model,
    draft: Model,
    idx: Tensor,
    max_new_tokens: int,
    *,
    ahead: int = 4,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    eos_id: int | None = None,
    generator: torch.Generator | None = None,
    rule: Rule = accept,
) -> Drafted:
    """Continue a text idx (1, T) as ``model`` would, with ``draft`` proposing ``ahead`` tokens.

    Both are a GPT2 or a Llama, or functions from ids to logits. The text ends after ``eos_id``, if
    one is drawn. The settings of sampling are those of ``next_probabilities``, and hold for both
    models; at temperature 0 a token is kept if it is the model's own choice. ``rule`` takes the
    place of ``accept``. Raises ValueError for more than one text, for vocabularies or devices that
    differ, and for a text that outgrows the window of either model.
    """
    rounds = drafting(**locals())  # with all of the above
    return deque(rounds, maxlen=1)[0] if max_new_tokens else Drafted(idx, 0, 0, 0)


@torch.no_grad()
def drafting(
    model: Model,
    draft: Model,
    idx: Tensor,
    max_new_tokens: int,
    *,
    ahead: int = 4,
    eos_id: int | None = None,
    generator: torch.Generator | None = None,
    rule: Rule = accept,
    **knobs: Any,
) -> Iterator[Drafted]:
    """The same, as it is after each round. ``knobs`` are those of ``next_probabilities``."""
    check_pair(model, draft, idx)
    for one in (model, draft):
        check_prompt(idx, max_new_tokens, window_of(one), "raise", eos_id)
    check_int("ahead", ahead, 0)
    stop = idx.size(1) + max_new_tokens
    large, small = Reader(model, stop - 1), Reader(draft, stop - 1)
    rounds = drafted = accepted = 0
    while idx.size(1) < stop:
        T = idx.size(1)
        n = min(ahead, stop - T - 1)  # the last token is the large model's own
        q: list[Tensor] = []  # (1, V) each
        with eval_mode(model), eval_mode(draft):
            while len(q) < n and (not q or int(idx[0, -1]) != eos_id):
                q.append(next_probabilities(small(idx, 1), **knobs))
                new = torch.multinomial(q[-1], 1, generator=generator)
                idx = torch.cat([idx, new], dim=1)
            p = next_probabilities(large(idx, len(q) + 1), **knobs)  # (n + 1, V)
        if q and p.size(1) != q[0].size(1):
            raise ValueError(other_vocabulary(p.size(1), q[0].size(1)))
        kept, last = rule(p, torch.cat(q) if q else p[:0], idx[0, T:], generator)
        rounds, drafted, accepted = rounds + 1, drafted + len(q), accepted + kept
        idx = idx[:, : T + kept]
        ended = kept > 0 and int(idx[0, -1]) == eos_id
        if not ended:
            idx = torch.cat([idx, idx.new_tensor([[last]])], dim=1)
        yield Drafted(idx, rounds, drafted, accepted)
        if ended or last == eos_id:
            break


def check_pair(model: Model, draft: Model, idx: Tensor) -> None:
    """Raise ValueError unless both models read the same ids on the same device, of one text."""
    sizes = [
        one.config.vocab_size if isinstance(one, LanguageModel) else None for one in (model, draft)
    ]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(other_vocabulary(*sizes))
    places = [
        one.device if isinstance(one, LanguageModel) else idx.device for one in (model, draft)
    ]
    if any(place != idx.device for place in places):
        raise ValueError(
            f"the model is on {places[0]}, the draft on {places[1]} and idx on {idx.device}: move "
            "all to one device"
        )
    if idx.ndim == 2 and len(idx) != 1:
        raise ValueError(
            f"speculate continues one text, got {len(idx)}: of several, each would accept another "
            "number of tokens"
        )
    if sizes[0] is not None and idx.ndim == 2:
        check_range("idx", idx, sizes[0])


def other_vocabulary(model: object, draft: object) -> str:
    """What to say of a draft with other tokens."""
    return (
        f"the model has a vocabulary of {short_repr(model)} tokens, the draft one of "
        f"{short_repr(draft)}: a draft must use the same tokenizer"
    )
