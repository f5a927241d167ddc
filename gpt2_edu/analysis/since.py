"""What each change since GPT-2 buys, measured where the truth is known.

Models are trained on Crane World and compared with its exact surprisal: ``measure`` returns their
loss above that floor, and counts the stories that they write right. ``make since`` runs all of it
and stores the results, ``stored()`` reads them, and ``difference`` says whether two variants can be
told apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import crane
from ..config import GPT2Config, LlamaConfig, RopeScaling
from ..generation import generate
from ..language_model import LanguageModel
from ..tokenizer import load_tokenizer
from ..training.optim import learning_rate, make_optimizer
from ..training.plain import crane_ids
from .evals import grade
from .scoring import score_tokens

FILE = Path(str(files("gpt2_edu") / "assets" / "since_gpt2.json"))
SEEDS = {"held_out": 7, "samples": 99, "calibration": 11}  # of training: 0, 1, 2 …
EDGES = (0, 64, 112, 160, 224, 320, 448)  # of the ranges of positions in long rows
# 97.5 % of Student's distribution lie below it, by the number of values.
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}


@dataclass(frozen=True)
class Recipe:
    """How a variant is trained. Everything else is the same for all."""

    steps: int = 1500
    batch_size: int = 16
    T: int = 64  # tokens of a window
    lr: float = 3e-3
    n_head: int = 4
    n_layer: int = 2
    n_embd: int = 64
    stories: int = 20_000  # that are trained on, the seeds 0, 1, 2 …
    whole: bool = False  # whether windows begin at the <|endoftext|> before a story, or anywhere

    def config(self, block_size: int) -> GPT2Config:
        """The sizes of GPT-2. Positions from T on are never trained."""
        return GPT2Config(
            vocab_size=load_tokenizer("crane").n_vocab,
            block_size=block_size,
            n_layer=self.n_layer,
            n_head=self.n_head,
            n_embd=self.n_embd,
            initializer_range=0.1,  # 0.02 suits OpenAI's widths
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            resid_pdrop=0.0,
        )


def train(model: LanguageModel, recipe: Recipe, seed: int, warmup_steps: int = 50) -> list[float]:
    """Train a model; the seed decides the windows. Returns the loss of every step."""
    ids, T = crane_ids(recipe.stories), recipe.T
    starts = (ids[:-T] == ids[0]).nonzero()[:, 0] if recipe.whole else torch.arange(len(ids) - T)
    torch.manual_seed(1000 + seed)
    optimizer = make_optimizer(model, lr=recipe.lr, betas=(0.9, 0.99), weight_decay=0.01)
    losses = []
    model.train()
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(
                step, steps=recipe.steps, lr=recipe.lr, min_lr=0.0, warmup_steps=warmup_steps
            )
        chosen = starts[torch.randint(len(starts), (recipe.batch_size,))]
        windows = ids[chosen.unsqueeze(1) + torch.arange(T + 1)]
        _, loss = model(windows[:, :-1], windows[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses


# ---- Measuring ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """Texts, each after an <|endoftext|>, and the exact surprisal of each token but that first."""

    rows: Sequence[Sequence[int]]
    surprisals: Sequence[Tensor]


@cache
def held_out(n: int = 300) -> Truth:
    """New stories with the <|endoftext|> after them; their random seeds are none of training's."""
    encoding = load_tokenizer("crane")
    stories = [crane.story(seed) for seed in crane.random_seeds(n, SEEDS["held_out"])]
    end = encoding.eot_token
    return Truth(
        [[end, *encoding.encode_ordinary(story), end] for story in stories],
        [torch.tensor(crane.surprisals(story)) for story in stories],
    )


@cache
def in_a_row(length: int = 448) -> Truth:
    """Rows of the same stories one after the other, longer than any window of training."""
    rows, surprisals = [], []
    ids: list[int] = []
    floor: list[Tensor] = []
    for row, surprisal in zip(held_out().rows, held_out().surprisals, strict=True):
        ids += row[:-1]  # the next story brings the <|endoftext|>
        floor.append(surprisal)
        if len(ids) > length:
            rows.append(ids[: length + 1])
            surprisals.append(torch.cat(floor)[:length])
            ids, floor = [], []
    return Truth(rows, surprisals)


def excess(model: nn.Module, truth: Truth) -> list[Tensor]:
    """Nats above the floor of each token: the model's surprisal less the exact one."""
    scores = score_tokens(model, truth.rows)
    return [-score - exact for score, exact in zip(scores, truth.surprisals, strict=True)]


def by_position(model: nn.Module) -> list[list[float]]:
    """[first, last, nats above the floor] for each range of positions in long rows."""
    above = torch.stack(excess(model, in_a_row()))  # (rows, 448)
    return [[a, b, above[:, a:b].mean().item()] for a, b in pairwise(EDGES)]


def written(model: LanguageModel, n: int) -> list[list[int]]:
    """The ids of n samples at temperature 1, of 111 tokens or up to <|endoftext|>."""
    end = load_tokenizer("crane").eot_token
    start, generator = torch.full((n, 1), end), torch.Generator().manual_seed(SEEDS["samples"])
    drawn = generate(model, start, 111, eos_id=end, generator=generator)[:, 1:].tolist()
    return [row[: row.index(end) + 1] if end in row else row for row in drawn]


def count_right(samples: Iterable[Sequence[int]]) -> int:
    """How many of these samples are complete stories of the language."""
    encoding = load_tokenizer("crane")
    end = encoding.eot_token
    texts = [encoding.decode(row[:-1]) if row[-1] == end else None for row in samples]
    return grade(texts).stories.right


def share_right(samples: Iterable[Sequence[int]]) -> float:
    """The share of tested places that are right, as far as the samples can be read as stories."""
    encoding = load_tokenizer("crane")
    texts = [encoding.decode([i for i in row if i != encoding.eot_token]) for row in samples]
    places = grade(texts).phenomena.values()
    return sum(place.right for place in places) / max(sum(place.chances for place in places), 1)


def measure(model: LanguageModel, T: int, n_samples: int = 200) -> dict[str, Any]:
    """What the table shows of a model that was trained on windows of T tokens."""
    above = excess(model, held_out())
    samples = written(model, n_samples)
    return {
        "nats": torch.cat(above).mean().item(),
        "within": torch.cat([row[:T] for row in above]).mean().item(),  # at trained positions
        "right": count_right(samples),
        "tested_right": share_right([row[: T - 1] for row in samples]),
        "by_position": by_position(model),
    }


# ---- Reading further than was trained -----------------------------------------------------------


def readings(config: LlamaConfig, T: int) -> dict[str, LlamaConfig]:
    """Ways to rotate in a window several times the trained T, without training, by name."""

    def linear(factor: float) -> LlamaConfig:
        # Of a window of one token, every pair counts as slow: all positions are divided.
        return replace(config, rope_scaling=RopeScaling(factor=factor, original_block_size=1))

    factor, D = EDGES[-1] / T, config.head_size
    return {
        "linear 1.75": linear(1.75),
        "linear 7": linear(factor),
        "ntk 7": replace(config, rope_base=config.rope_base * factor ** (D / (D - 2))),
        "base 500000": replace(config, rope_base=500_000.0),
        "llama3 7": replace(config, rope_scaling=RopeScaling(factor=factor, original_block_size=T)),
    }


# ---- What is stored -----------------------------------------------------------------------------


@cache
def stored(path: Path = FILE) -> dict[str, Any]:
    """What ``make since`` found. All nats are per token and above the floor.

    "llama" has, by variant, ``parameters`` (a table of positions is as long as windows of training)
    and ``cache_bytes`` (of a token, in bfloat16); ``runs``, a row for each trained model, where
    ``within`` counts only positions of training, ``nats`` all tokens of the new stories, ``right``
    stories of 200 and ``tested_right`` the share of tested places; and ``positions``, in which
    models read far beyond their window: the way to rotate, the further steps of training with it,
    and nats by position. "long" is the same for longer training. "bits" has the shipped model
    ``intact`` and lists of rounded ones: ``error`` is the standard error of the difference to the
    intact one, ``right`` counts stories of ``of``.
    """
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


class Difference(NamedTuple):
    """The mean of paired differences, and how far its 95 % interval reaches to either side."""

    mean: float
    reach: float

    @property
    def apart(self) -> bool:
        """Whether the interval leaves out 0."""
        return abs(self.mean) > self.reach


def difference(
    runs: Iterable[Mapping[str, Any]], variant: str, base: str, key: str = "within"
) -> Difference:
    """How much higher a variant's figure is than another's with the same seed.

    The interval is Student's, for as many pairs as there are seeds. Raises ValueError for fewer
    than two, or more than five.
    """
    by_seed: dict[int, dict[str, float]] = {}
    for run in runs:
        by_seed.setdefault(run["seed"], {})[run["variant"]] = run[key]
    pairs = [found for found in by_seed.values() if variant in found and base in found]
    if len(pairs) not in STUDENT:
        raise ValueError(f"an interval needs 2 to 5 pairs of runs, got {len(pairs)}")
    gaps = [found[variant] - found[base] for found in pairs]
    reach = STUDENT[len(gaps)] * stdev(gaps) / math.sqrt(len(gaps))
    return Difference(fmean(gaps), reach)
