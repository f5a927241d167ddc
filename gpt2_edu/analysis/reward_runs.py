"""What a reward gives and what it costs, measured where the truth is known.

A novice, a small model of Crane World of whose stories one in eight is right, is rewarded for
right stories in several ways. ``measure`` says how many are right afterwards, and the price: how
diverse they still are beside the language's own, and the loss on true stories. ``make reward`` runs
all of it and stores the results, ``stored()`` reads them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from .. import crane
from ..crane.grammar import EVERYTHING, crane_world
from ..crane.parsing import initial_state, next_steps, scan_words
from ..crane.surprisal import mean_and_error
from ..language_model import LanguageModel
from ..model import GPT2
from ..tokenizer import load_tokenizer
from ..tuning.preferences import imitate, join, pair, prefer
from ..tuning.reward import (
    Reward,
    Texts,
    decode,
    entropy,
    learn,
    log_probs,
    mark,
    write,
)
from ..weights import BUNDLED
from .since import Recipe, Truth, excess, held_out

ASSETS = Path(str(files("gpt2_edu") / "assets"))
FILE = ASSETS / "reward.json"
NOVICE = BUNDLED["novice"]
SAMPLES_SEED = 99
PLOTS = ("lost", "gift", "chores", "flight", "errand")  # a fifth of the language each

# How the novice was trained: plainly, with some steps more until one story in eight was right. No
# story is longer than the window.
RECIPE = Recipe(
    steps=2200, batch_size=8, T=112, lr=6e-3, n_head=2, n_embd=64, stories=6000, whole=True
)
MORE = replace(RECIPE, steps=300, lr=3e-3)


def novice() -> GPT2:
    """The model that is rewarded, of which about one story in eight is right."""
    return GPT2.from_pretrained("novice")


# ---- Rewards ------------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def plot(text: str) -> str | None:
    """The plot of a right story, one of PLOTS; None for a text that is no story.

    Stories are what ``crane.judge`` calls so. This parse ends at the first word that cannot follow.
    """
    grammar = crane_world()
    states = {initial_state(grammar, "story")}
    for word, _ in scan_words(text):
        states = {
            after
            for state in states
            for candidate, after, _ in next_steps(grammar, state, EVERYTHING)
            if candidate == word
        }
    at = list(grammar.variables).index("plot")
    chosen = {value[1] for state in states if (value := state.memory[at])}
    return PLOTS[chosen.pop()] if chosen else None


def right(text: str) -> float:
    """1 for a right story, else 0."""
    return float(plot(text) is not None)


def cranes(text: str) -> float:
    """How many cranes there are: a reward that is easy to get otherwise than meant."""
    return float(text.count("crane"))


class Shared:
    """1 / (5 · share) for a right story, with the share that its plot had among the right ones.

    The share is that of the last few hundred; a plot of which hardly any story is right counts
    five times.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(PLOTS, 1.0)

    def __call__(self, text: str) -> float:
        found = plot(text)
        if found is None:
            return 0.0
        for name in PLOTS:
            self.counts[name] *= 0.995
        self.counts[found] += 1
        share = self.counts[found] / sum(self.counts.values())
        return min(1 / (len(PLOTS) * share), 5.0)


# ---- Measures -----------------------------------------------------------------------------------


def measure(model: LanguageModel, n: int = 1000, truth: Truth | None = None) -> dict[str, Any]:
    """What n texts of the model and its loss on true stories say.

    ``right`` of them are stories, their ``plots`` in the order of PLOTS; ``distinct`` counts
    different texts; ``length`` is in tokens, ``entropy`` that of the model's own predictions per
    token, which is 0.44 nats for the language. ``nats`` is the loss on true stories above the
    floor, an estimate of KL(language, model) per token, with its standard error.
    """
    start = torch.full((1, 1), load_tokenizer("crane").eot_token)
    generator = torch.Generator().manual_seed(SAMPLES_SEED)
    texts: list[str] = []
    spread: list[Tensor] = []
    while len(texts) < n:
        batch = write(model, start.expand(min(100, n - len(texts)), 1), generator)
        with torch.no_grad():
            spread.append(entropy(log_probs(model, batch))[batch.drawn])
        texts += decode(batch)
    plots = Counter(map(plot, texts))
    above = [row.tolist() for row in excess(model, truth or held_out())]
    nats, error = mean_and_error(above)
    return {
        "right": n - plots[None],
        "of": n,
        "plots": [plots[name] for name in PLOTS],
        "distinct": len(set(texts)),
        "length": sum(map(len, spread)) / n,
        "entropy": torch.cat(spread).mean().item(),
        "nats": nats,
        "error": error,
    }


def some_texts(model: LanguageModel, n: int = 10) -> list[str]:
    """Texts of the model, to be read."""
    start = torch.full((n, 1), load_tokenizer("crane").eot_token)
    return decode(write(model, start, torch.Generator().manual_seed(SAMPLES_SEED)))


def few() -> Truth:
    """A third of the true stories, for the points of a curve."""
    return Truth(held_out().rows[:100], held_out().surprisals[:100])


class Curve:
    """Measures on the way, in columns: step, what ``measure`` says, and means since the last."""

    def __init__(self, model: LanguageModel, every: int = 20, n: int = 100) -> None:
        self.model, self.every, self.n = model, every, n
        self.columns: dict[str, list[Any]] = defaultdict(list)
        self.seen: dict[str, list[float]] = defaultdict(list)
        self.steps = 0
        self.look()

    def __call__(self, **seen: float) -> None:
        """What a step has seen; after each ``every``-th one the model is measured."""
        for name, value in seen.items():
            self.seen[name].append(value)
        self.steps += 1
        if self.steps % self.every == 0:
            self.look()

    def look(self) -> None:
        found = measure(self.model, self.n, few())
        del found["error"], found["of"]
        found["text"] = some_texts(self.model, 1)[0]
        for name, value in {"step": self.steps, **found}.items():
            self.columns[name].append(value)
        for name, values in self.seen.items():
            self.columns[name].append(fmean(values))
        self.seen.clear()


# ---- Ways to change the novice ------------------------------------------------------------------


@cache
def training_stories() -> list[list[int]]:
    """The stories that the novice was trained on, as ids after an <|endoftext|>."""
    encoding = load_tokenizer("crane")
    texts = [crane.story(seed) for seed in range(RECIPE.stories)]
    return [[encoding.eot_token, *row] for row in encoding.encode_ordinary_batch(texts)]


def begin(groups: int, generator: torch.Generator, earliest: int = 1) -> Tensor:
    """Beginnings (groups, S) of different stories, cut after equally many tokens.

    After 32 tokens, 19 of 20 stories have told which plot theirs is.
    """
    S = int(torch.randint(earliest, earliest + 49, (), generator=generator))
    rows = [row for row in training_stories() if len(row) > S + 1]
    chosen = torch.randint(len(rows), (groups,), generator=generator).tolist()
    return torch.tensor([rows[i][:S] for i in chosen])


def true_loss(model: LanguageModel, generator: torch.Generator, weight: float) -> Tensor:
    """The loss on 16 stories of the novice's training."""
    rows = training_stories()
    chosen = torch.randint(len(rows), (16,), generator=generator).tolist()
    end, longest = rows[0][0], max(len(rows[i]) for i in chosen)
    idx = torch.full((16, longest + 1), end)
    targets = torch.full((16, longest), -100)
    for row, i in enumerate(chosen):
        idx[row, : len(rows[i])] = torch.tensor(rows[i])
        targets[row, : len(rows[i])] = idx[row, 1 : len(rows[i]) + 1]
    return weight * model(idx[:, :-1], targets)[1]


def rewarded(
    model: LanguageModel,
    seed: int,
    *,
    reward: str = "right",
    steps: int = 100,
    lr: float = 6e-4,
    groups: int = 0,
    earliest: int = 1,
    truth: float = 0.0,
    every: int = 20,
    **settings: Any,
) -> Curve:
    """Policy gradients; with ``groups``, of that many beginnings from true stories."""
    generator = torch.Generator().manual_seed(seed)
    curve = Curve(model, every)
    rewards: dict[str, Reward] = {"right": right, "cranes": cranes, "shared": Shared()}
    learn(
        model,
        rewards[reward],
        steps,
        lr=lr,
        beginnings=partial(begin, groups, generator, earliest) if groups else None,
        also=partial(true_loss, model, generator, truth) if truth else None,
        generator=generator,
        on_step=lambda step: curve(reward=step.rewards.mean().item(), kl=step.divergence),
        **settings,
    )
    return curve


def own_texts(
    model: LanguageModel, n: int, groups: int, generator: torch.Generator
) -> Iterator[tuple[Texts, Tensor]]:
    """About n texts and their rewards: from nothing, or continuing beginnings, eight of each."""
    nothing = torch.full((1, 1), load_tokenizer("crane").eot_token)
    for _ in range(0, n, 128):
        starts = begin(16, generator) if groups else nothing
        size = 128 // len(starts)
        texts = write(model, starts.repeat_interleave(size, dim=0), generator)
        yield texts, mark(decode(texts), right).view(-1, size)


def imitated(
    model: LanguageModel,
    seed: int,
    *,
    rounds: int = 1,
    steps: int = 100,
    texts: int = 1536,
    even: int = 1,
    once: bool = False,
    lr: float = 3e-4,
    every: int = 20,
) -> Curve:
    """Fine-tuning on its own right stories, those of all rounds so far.

    ``even`` lets the stories of a rare plot come up to so many times as often as those of the
    commonest, so that all plots have the same share; ``once`` leaves out copies.
    """
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    curve = Curve(model, every)
    kept: list[Texts] = []
    for _ in range(rounds):
        for some, rewards in own_texts(model, texts, 0, generator):
            kept.append(some[rewards.flatten() > 0])
        found = join(kept)
        shown = decode(found)
        if once:
            rows = sorted({text: row for row, text in enumerate(shown)}.values())
            found, shown = found[torch.tensor(rows)], [shown[row] for row in rows]
        if even > 1:
            found = found[evenly([plot(text) for text in shown], even, generator)]
        imitate(model, found, steps, lr=lr, on_step=lambda loss: curve(loss=loss))
    return curve


def evenly(plots: Sequence[str | None], most: int, generator: torch.Generator) -> Tensor:
    """As many rows, drawn with weights that make the plots' shares equal, the largest ``most``."""
    counts = Counter(plots)
    commonest = max(counts.values())
    weights = torch.tensor([min(commonest / counts[name], float(most)) for name in plots])
    return torch.multinomial(weights, len(plots), replacement=True, generator=generator)


def preferred(
    model: LanguageModel,
    seed: int,
    *,
    steps: int = 100,
    texts: int = 1536,
    groups: int = 0,
    every: int = 20,
    **settings: Any,
) -> Curve:
    """DPO on pairs of its own texts, right and wrong; with ``groups``, from the same beginning."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    curve = Curve(model, every)
    chosen, rejected = [], []
    for some, rewards in own_texts(model, texts, groups, generator):
        if rewards.max() > rewards.min():
            pairs = pair(rewards, generator)
            chosen.append(some[pairs[:, 0]])
            rejected.append(some[pairs[:, 1]])
    prefer(
        model,
        join(chosen),
        join(rejected),
        steps,
        on_step=lambda loss, up, down: curve(loss=loss, chosen=up, rejected=down),
        **settings,
    )
    return curve


# Each is called with a novice, which it changes, and a seed.
WAYS: dict[str, partial[Curve]] = {
    "reward": partial(rewarded),
    "rein": partial(rewarded, rein=0.05),
    "cranes": partial(rewarded, reward="cranes", steps=60, every=10),
    "own": partial(imitated),
    "pairs": partial(preferred),
    "pairs fast": partial(preferred, lr=5e-4),
    "rounds": partial(imitated, rounds=5, even=100, every=100),
    "more rounds": partial(imitated, rounds=8, steps=30, lr=6e-4, even=4, once=True, every=30),
    "beginnings": partial(rewarded, groups=8, n=8, rein=0.02),
    "plots begun": partial(rewarded, groups=8, n=8, rein=0.02, earliest=32),
    "no baseline": partial(rewarded, baseline=False),
    "grpo": partial(rewarded, divide=True, by_length=True),
    "shared": partial(rewarded, reward="shared", rein=0.02),
    "pairs of a beginning": partial(preferred, groups=16),
    "bonus": partial(rewarded, bonus=0.01),
    "truth": partial(rewarded, truth=1.0),
    "some truth": partial(rewarded, truth=0.1),
}


# ---- What is stored -----------------------------------------------------------------------------


@cache
def stored(path: Path = FILE) -> dict[str, Any]:
    """What ``make reward`` found.

    "language" has the entropy of the true stories, "novice" what ``measure`` says of the novice,
    and ten of its texts. "tuned" has the settings of the ``ways`` and a row for each of the
    ``runs``: ``variant`` and ``seed``, what ``measure`` says at the end, ten ``texts`` where the
    seed is 0, and a ``curve`` in columns. Its points are of 100 texts and 100 true stories each:
    ``step``, what ``measure`` says, of some a ``text``, and from the second on means since the
    last: ``reward``, and ``kl`` from the novice in nats per token; or the ``loss`` and, of pairs,
    the nats that ``chosen`` and ``rejected`` texts have gained.
    """
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
