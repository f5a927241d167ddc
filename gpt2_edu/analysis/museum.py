"""The bug museum: the effects of each bug on a small model that trains in a second.

``case("no mask")`` returns losses, attention weights and sampled texts. ``mystery(seed)`` is a
case whose bug is to be guessed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from ..config import GPT2Config
from ..generation import generate
from ..model import GPT2
from .bugs import BUGS, NO_BUG, Bug, broken, find

# ---- The language: 24 sentences; the first animal determines the last word -----------------------

END = "<|endoftext|>"
FOODS = {"crane": "fish", "bat": "fruit", "seal": "squid", "mouse": "bread"}
LOADS = {"crane": "steel", "bat": "stones", "seal": "boxes", "mouse": "wood"}
SENTENCES = tuple(
    f"A {who} beside a {other} {verb} {things[who]} ."
    for who in FOODS
    for other in FOODS
    if other != who
    for verb, things in (("ate", FOODS), ("lifted", LOADS))
)
WORDS = (END, *dict.fromkeys(" ".join(SENTENCES).split()))  # a word's index is its id
LENGTH = 9  # input tokens of a sentence: END and all words but the last
# The entropy in nats per token: all sentences are equally likely.
FLOOR = math.log(len(SENTENCES)) / LENGTH


def encode(sentence: str) -> list[int]:
    """The ids of words separated by spaces. Raises ValueError for an unknown word."""
    return [WORDS.index(word) for word in sentence.split()]


def decode(ids: Iterable[int]) -> str:
    """The words of ids, separated by spaces."""
    return " ".join(WORDS[i] for i in ids)


# Two ENDs, so that targets can be shifted by two: (24, LENGTH + 2).
TEXTS = torch.tensor([encode(f"{END} {sentence} {END} {END}") for sentence in SENTENCES])


STEPS = 300  # of training
EVALUATIONS = 30  # of the loss after training
SAMPLES = 100  # texts


def untrained_model() -> GPT2:
    """The small model at initialization: one block of four heads, seed 0."""
    sizes = {"vocab_size": len(WORDS), "block_size": 12, "n_layer": 1, "n_head": 4, "n_embd": 32}
    config = GPT2Config(
        **sizes, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0, initializer_range=0.1
    )
    with torch.random.fork_rng(devices=[]):  # the global random state is unchanged
        torch.default_generator.manual_seed(0)
        return GPT2(config)


def train(model: GPT2, shift: int = 1, steps: int = STEPS) -> tuple[float, ...]:
    """Train on all sentences as one batch, targets ``shift`` ahead; return the loss per step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = model(TEXTS[:, :LENGTH], TEXTS[:, shift : shift + LENGTH])[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return tuple(losses)


@cache
def _trained() -> tuple[GPT2, tuple[float, ...]]:
    model = untrained_model()
    losses = train(model)
    return model.eval(), losses


def healthy_model() -> GPT2:
    """A copy of the small model, trained without a bug."""
    return deepcopy(_trained()[0])


@dataclass(frozen=True)
class Case:
    """Measurements of the small model with a bug.

    ``losses``: one per training step. ``eval_losses``: repeated measurements after training, on
    the same sentences. ``weights``: attention (H, LENGTH, LENGTH) on "A crane beside a bat ate
    fish .". ``texts``: samples.
    """

    losses: tuple[float, ...]
    eval_losses: tuple[float, ...]
    weights: Tensor
    texts: tuple[str, ...]

    @property
    def correct(self) -> int:
        """The number of texts that are sentences of the language."""
        return sum(text in SENTENCES for text in self.texts)

    @property
    def distinct(self) -> int:
        """The number of the language's 24 sentences among the texts."""
        return len({*self.texts} & {*SENTENCES})


def case(name: str) -> Case:
    """Train and measure the small model with a bug, in about a second. Raises like ``broken``."""
    bug = find(name)
    with torch.random.fork_rng(devices=[]):
        model, losses = _trained()
        torch.default_generator.manual_seed(0)
        with broken(untrained_model() if bug.trained_with else model, name) as (copy, tape):
            if bug.trained_with:
                losses = train(copy, bug.shift)
            copy.eval()
            idx, targets = TEXTS[:, :LENGTH], TEXTS[:, bug.shift : bug.shift + LENGTH]
            with torch.no_grad():
                eval_losses = tuple(copy(idx, targets)[1].item() for _ in range(EVALUATIONS))
            weights = tape["transformer.h.0.attn.weights"][0]
            generator = torch.Generator().manual_seed(0)
            start = torch.full((SAMPLES, 1), WORDS.index(END))
            drawn = generate(copy, start, LENGTH, generator=generator)
    texts = tuple(decode(ids).removesuffix(f" {END}") for ids in drawn[:, 1:].tolist())
    return Case(losses, eval_losses, weights, texts)


class Mystery:
    """A case whose bug is hidden; ``guess("…")`` checks a name."""

    def __init__(self, bug: Bug) -> None:
        self._bug, self.case = bug, case(bug.name)

    def guess(self, name: str) -> str:
        """A sentence that says whether this is the bug; raises nothing."""
        try:
            guessed = find(name)
        except ValueError as error:
            return f"Not counted: {error}"
        if guessed is NO_BUG:
            return "There is a bug. Compare this case with the healthy model."
        if guessed is self._bug:
            return f"Yes, it is {name}. {self._bug.symptom}\n{self._bug}"
        return f"Not {name}. There you would see this: {guessed.symptom} Look again."


def mystery(seed: int) -> Mystery:
    """A random bug among those that show, determined by the seed."""
    return Mystery(random.Random(seed).choice([bug for bug in BUGS.values() if bug.shows]))
