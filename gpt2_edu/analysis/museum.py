"""The bug museum: a small model is trained with a mistake, and shows what the mistake does.

``case("no mask")`` records the loss, where the heads look and what the model writes.
``mystery(seed)`` does so without naming the bug.
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
from ..machine.messages import nearest
from ..model import GPT2
from .bugs import BUGS, NO_BUG, Bug, broken, find

# ---- The language: 24 sentences, in which the first animal decides the last word -----------------

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
LENGTH = 9  # tokens that the model reads of a sentence: END and all words but the last
FLOOR = math.log(len(SENTENCES)) / LENGTH  # nats per prediction: all are equally likely


def encode(sentence: str) -> list[int]:
    """The ids of words with a space between; raises ValueError for an unknown word."""
    words = sentence.split()
    for word in words:
        if word not in WORDS:
            raise ValueError(f"the museum does not know the word {word!r}. {nearest(word, WORDS)}")
    return [WORDS.index(word) for word in words]


def decode(ids: Iterable[int]) -> str:
    """Words for ids."""
    return " ".join(WORDS[i] for i in ids)


# Two ENDs, so that there are targets two places ahead: (24, LENGTH + 2).
TEXTS = torch.tensor([encode(f"{END} {sentence} {END} {END}") for sentence in SENTENCES])


STEPS = 300  # of training
EVALUATIONS = 30  # of the loss after training
SAMPLES = 100  # texts


def untrained_model() -> GPT2:
    """The museum's small model before training: one block of four heads. Always the same."""
    config = GPT2Config(
        vocab_size=len(WORDS),
        block_size=12,
        n_layer=1,
        n_head=4,
        n_embd=32,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        initializer_range=0.1,
    )
    with torch.random.fork_rng(devices=[]):  # the reader's random numbers stay as they are
        torch.default_generator.manual_seed(0)
        return GPT2(config)


def train(model: GPT2, shift: int = 1, steps: int = STEPS) -> tuple[float, ...]:
    """Train on all sentences at once, with targets ``shift`` places ahead; returns the losses."""
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
    """A small model with a bug: how it learned, and what it does afterwards.

    ``losses`` has one for each step of training; ``eval_losses`` are measured after it, all on
    the same sentences. ``weights`` (H, LENGTH, LENGTH) are attention's in "A crane beside a bat
    ate fish .". ``texts`` are drawn from the model.
    """

    losses: tuple[float, ...]
    eval_losses: tuple[float, ...]
    weights: Tensor
    texts: tuple[str, ...]

    @property
    def correct(self) -> int:
        """How many of the texts are sentences of the language."""
        return sum(text in SENTENCES for text in self.texts)

    @property
    def distinct(self) -> int:
        """How many of the language's 24 sentences are among the texts."""
        return len({*self.texts} & {*SENTENCES})


def case(name: str) -> Case:
    """What a bug does to the small model; takes about a second. Raises as ``broken`` does."""
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
    """A case without its name: ``guess("…")`` answers."""

    def __init__(self, bug: Bug) -> None:
        self._bug, self.case = bug, case(bug.name)

    def guess(self, name: str) -> str:
        """Whether this is the bug, in words; never an error."""
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
    """A bug drawn by seed from those that show."""
    return Mystery(random.Random(seed).choice([bug for bug in BUGS.values() if bug.shows]))
