"""Decoding constrained by the grammar: a ``choose`` for ``generate`` that writes only stories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from ..machine.messages import short_repr
from ..sampling import sample_next
from ..tokenizer import END_OF_TEXT, Encoding
from .grammar import EVERYTHING, crane_world
from .parsing import State, initial_state, next_steps, separator

# One way to continue a text: the rest of the current word, that word, and the state after it.
Path = tuple[str, str | None, State]


class Constraint:
    """Chooses only tokens after which each text is still the beginning of a story.

    ``generate(…, choose=Constraint(tokenizer, texts))`` continues these texts, the prompts without
    <|endoftext|>. The logits of all other tokens become -∞, and ``choose`` draws from the rest. A
    text that has ended may only repeat <|endoftext|>. An object follows the texts of one call.

    The probabilities are rescaled at each step, which is not the model's distribution over texts
    conditioned on being a story. ``log_kept`` (B,) is the difference: the sum over the steps of the
    log-probability of the allowed tokens, log p(text) - log q(text) for the unconstrained p and the
    constrained q. It compares with the logits as handed in, and ``choose`` must draw from them as
    they are: apply temperature and cuts before, as in ``lambda logits: constraint(logits / 2)``.
    """

    def __init__(
        self,
        tokenizer: Encoding,
        texts: Sequence[str],
        choose: Callable[[Tensor], Tensor] = sample_next,
    ) -> None:
        self.choose, self.end = choose, tokenizer.eot_token
        self.text_of = {i: tokenizer.decode([i]) for i in range(tokenizer.n_vocab)}
        self.ids = {text: i for i, text in self.text_of.items()}
        self.log_kept = torch.zeros(len(texts))
        self.paths: list[frozenset[Path]] = []
        for text in texts:
            paths: frozenset[Path] = frozenset({("", None, initial_state(crane_world(), "story"))})
            for i in tokenizer.encode_ordinary(text):
                paths = follow(paths, self.text_of[i])
            if not paths:
                raise ValueError(f"no story of Crane World begins with {short_repr(text)}")
            self.paths.append(paths)

    def __call__(self, logits: Tensor) -> Tensor:
        """Draw the next token of each text: logits (B, V) → ids (B,)."""
        if len(logits) != len(self.paths):
            raise ValueError(
                f"this Constraint follows {len(self.paths)} texts, got logits of {len(logits)}"
            )
        kept = logits.masked_fill(~self.allowed(logits), -torch.inf)
        log_kept = (kept.logsumexp(dim=-1) - logits.logsumexp(dim=-1)).float().cpu()
        ended = torch.tensor([not expand(paths) for paths in self.paths])
        self.log_kept += log_kept.masked_fill(ended, 0)
        new = self.choose(kept)
        for row, i in enumerate(new.flatten().tolist()):
            self.paths[row] = follow(self.paths[row], self.text_of[i])
        return new

    def allowed(self, logits: Tensor) -> Tensor:
        """Which tokens may come next, (B, V) bool."""
        mask = torch.zeros_like(logits, dtype=torch.bool)
        for row, paths in enumerate(self.paths):
            rests = {rest for rest, _, _ in expand(paths)}
            starts = {rest[:n] for rest in rests - {END_OF_TEXT} for n in range(1, len(rest) + 1)}
            ids = [self.ids[start] for start in starts if start in self.ids]
            may_end = END_OF_TEXT in rests or not rests  # without rests it has ended
            mask[row, ids + [self.end] * may_end] = True
        return mask


@lru_cache(maxsize=10_000)
def expand(paths: frozenset[Path]) -> frozenset[Path]:
    """The same paths, each with something left to write: at a word's end, all next words."""
    grammar, found = crane_world(), set()
    for rest, before, state in paths:
        if rest:
            found.add((rest, before, state))
        elif before != "":
            found |= {
                (separator(before, word) + word if word else END_OF_TEXT, word, after)
                for word, after, _ in next_steps(grammar, state, EVERYTHING)
            }
    return frozenset(found)


def follow(paths: frozenset[Path], token: str) -> frozenset[Path]:
    """The paths after one more token, which never spans two words."""
    return frozenset(
        (rest[len(token) :], word, state)
        for rest, word, state in expand(paths)
        if rest.startswith(token)
    )
