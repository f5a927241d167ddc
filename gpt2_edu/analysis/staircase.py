"""One loss for all ideas: models that each have one part more, trained on the same text.

Every model with parameters is a ``GPT2`` whose modules are replaced until only ``parts`` are left,
or at the end a ``Llama``. They share size, steps, batches and seeds, and their loss is measured on
the same new stories. ``make staircase`` trains them and stores what came out; ``stored()`` reads
it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from .. import crane
from ..config import GPT2Config
from ..language_model import eval_mode
from ..llama import Llama
from ..model import GPT2, Block, UpdateKV
from ..quantize import quantize
from ..tokenizer import load_tokenizer
from ..training.plain import crane_ids, train, write
from .evals import grade
from .scoring import Bigram, LogProbs, model_log_probs, score_tokens
from .variants import variant

FILE = Path(str(files("gpt2_edu") / "assets" / "staircase.json"))


@dataclass(frozen=True)
class Recipe:
    """How every model of the staircase is trained and measured."""

    stories: int = 2000  # that are trained on and counted, the seeds 0, 1, 2 …
    steps: int = 600
    batch_size: int = 12
    T: int = 96  # tokens of a window; the longest story has 88
    lr: float = 3e-3
    n_embd: int = 64
    std: float = 0.1  # of the first weights: without norms, GPT-2's 0.02 is lost on the way
    seeds: int = 3
    checked: int = 200  # new stories
    written: int = 20


@dataclass(frozen=True)
class Step:
    """One step: what it adds, and the chapter that does so, by its name in chapters.txt."""

    name: str
    says: str
    chapter: str | None = None

    @property
    def part(self) -> str | None:
        """The part of the model that the step adds; None for steps that count or guess."""
        return self.name.removeprefix("+ ") if self.name.startswith("+ ") else None


# In the order of the chapters, but for the positions of chapter 2: before the residual stream they
# raise the loss. A step of a later chapter is a line here, and one where its part is put into the
# model.
STEPS = (
    Step("guess", "Every token of the vocabulary is equally likely."),
    Step("frequencies", "How often each token occurs is counted."),
    Step("pairs", "How often each token follows each other one is counted."),
    Step(
        "+ attention",
        "One head looks at the whole window, and what comes next is in it.",
        "attention",
    ),
    Step("+ mask", "Training no longer shows what is to be predicted.", "mask"),
    Step("+ heads", "Four heads look at four things at a time.", "heads"),
    Step("+ MLP", "The MLP works on what the heads found, token by token.", "mlp"),
    Step("+ residual", "Results are added, so the token itself is kept.", "residual"),
    Step("+ positions", "Heads know the position of every token."),
    Step("+ norm", "Every layer reads the stream at the same size.", "layernorm"),
    Step("+ depth", "Three blocks instead of one. So few steps show no gain.", "block"),
    Step("+ Llama", "Llama's parts instead of GPT-2's, and two key heads.", "llama"),
    Step("+ 8 bits", "Every weight of a matrix is rounded to a byte after training.", "bits"),
)


def parts_of(step: Step) -> frozenset[str]:
    """The parts of the model at a step: what it and the steps before it add."""
    so_far = STEPS[: STEPS.index(step) + 1]
    return frozenset(one.part for one in so_far if one.part)


# ---- The models ---------------------------------------------------------------------------------


class PartialBlock(Block):
    """A block that has only some of its parts."""

    def __init__(self, config: GPT2Config, parts: Collection[str]) -> None:
        super().__init__(config)
        self.masked, self.adds = "mask" in parts, "residual" in parts
        if "norm" not in parts:
            self.ln_1 = self.ln_2 = nn.Identity()  # type: ignore[assignment]
        self.bends = "MLP" in parts
        if not self.bends:
            del self.mlp

    def forward(
        self, x: Tensor, visible: Tensor | None = None, update_kv: UpdateKV | None = None
    ) -> Tensor:  # (B, T, C) → (B, T, C)
        if not self.masked:
            visible = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device)
        out = self.attn(self.ln_1(x), visible, update_kv)
        x = x + out if self.adds else out
        if not self.bends:
            return x
        out = self.mlp(self.ln_2(x))
        return x + out if self.adds else out


class NoPositions(nn.Embedding):
    """Zeros for every position."""

    def forward(self, positions: Tensor) -> Tensor:
        return torch.zeros_like(super().forward(positions))


def model_with(parts: Collection[str], recipe: Recipe) -> GPT2 | Llama:
    """An untrained model that has only these parts. Without a mask it takes no cache."""
    config = GPT2Config(
        vocab_size=load_tokenizer("crane").n_vocab,
        block_size=recipe.T,
        n_layer=3 if "depth" in parts else 1,
        n_head=4 if "heads" in parts else 1,
        n_embd=recipe.n_embd,
        initializer_range=recipe.std,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
    )
    if "Llama" in parts:
        return variant("all", config)
    model = GPT2(config)
    model.transformer.h = nn.ModuleList(PartialBlock(config, parts) for _ in range(config.n_layer))
    if "positions" not in parts:
        model.transformer.wpe = NoPositions(config.block_size, config.n_embd)
    if "norm" not in parts:
        model.transformer.ln_f = nn.Identity()
    model.init_weights()
    return model


class Logits(nn.Module):
    """A model that returns logits and nothing else, as the plain loop has it."""

    def __init__(self, model: GPT2 | Llama) -> None:
        super().__init__()
        self.model = model

    def forward(self, idx: Tensor) -> Tensor:  # (B, T) → (B, T, V)
        logits: Tensor = self.model(idx)[0]
        return logits


def by_prefix(model: GPT2 | Llama) -> LogProbs:
    """What a model predicts where it can see no later token: each beginning of a text by itself.

    For a causal model that is what it predicts anyway.
    """

    def log_probs(ids: Tensor) -> Tensor:
        with eval_mode(model), torch.inference_mode():
            ends = [model(ids[:, : t + 1], last_only=True)[0] for t in range(ids.size(1))]
        return torch.cat(ends, dim=1).log_softmax(dim=-1)

    return log_probs


# ---- Training and measuring ---------------------------------------------------------------------


def counted(name: str, ids: Tensor, V: int) -> LogProbs:
    """The predictions of a step that guesses or counts."""
    if name == "pairs":
        return Bigram(ids, V)
    counts = torch.ones(V) if name == "guess" else torch.bincount(ids, minlength=V) + 0.01
    row = (counts / counts.sum()).log()  # (V,)
    return lambda ids: row.expand(*ids.shape, V)


def trained(step: Step, seed: int, recipe: Recipe) -> tuple[LogProbs, float]:
    """The predictions of a step's model after training, and its mean loss in the last 20 steps."""
    parts = parts_of(step)
    torch.manual_seed(seed)
    model = model_with(parts, recipe)
    torch.manual_seed(seed)  # for all steps the same batches
    ids = crane_ids(recipe.stories)
    losses = train(Logits(model), ids, recipe.steps, recipe.batch_size, recipe.T, recipe.lr)
    if "8 bits" in parts:
        model = quantize(model, bits=8)
    predict = model_log_probs(model) if "mask" in parts else by_prefix(model)
    return predict, fmean(losses[-20:])


def new_stories(recipe: Recipe) -> list[str]:
    """The stories that losses are measured on; their random seeds are none of training's."""
    return [crane.story(seed) for seed in crane.random_seeds(recipe.checked)]


def floor(recipe: Recipe) -> float:
    """The mean exact surprisal of these stories' tokens: what a perfect model would have."""
    return fmean(chain.from_iterable(crane.surprisals(story) for story in new_stories(recipe)))


def measure(step: Step, recipe: Recipe) -> dict[str, Any]:
    """A step's losses on new stories and in training, a story, and how many of them are right."""
    encoding = load_tokenizer("crane")
    end = encoding.eot_token
    rows = [[end, *encoding.encode_ordinary(story), end] for story in new_stories(recipe)]
    found: dict[str, Any] = {"name": step.name, "losses": [], "training": []}
    for seed in range(recipe.seeds if step.part else 1):
        if step.part:
            predict, seen = trained(step, seed, recipe)
            found["training"].append(seen)
        else:
            predict = counted(step.name, crane_ids(recipe.stories), encoding.n_vocab)
        found["losses"].append(-torch.cat(score_tokens(predict, rows)).mean().item())
        if seed == 0:
            torch.manual_seed(0)
            n, T = recipe.T - 1, recipe.T
            stories = [write(predict, "", n, T) for _ in range(recipe.written)]
            found |= {"story": stories[0], "right": grade(stories).stories.share}
    return found


def climb(recipe: Recipe) -> dict[str, Any]:
    """All steps, as JSON."""
    steps = [measure(step, recipe) for step in STEPS]
    return {"recipe": asdict(recipe), "floor": floor(recipe), "steps": steps}


# ---- What is stored -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What came out of a step: mean losses in nats per token, and what its first model writes."""

    step: Step
    losses: list[float]  # on new stories; one for each seed
    training: list[float]  # at the end of training, on its windows; empty if nothing trains
    story: str
    right: float  # the share of its stories that are grammatical from beginning to end

    @property
    def loss(self) -> float:
        return fmean(self.losses)

    def excerpt(self, most: int = 96) -> tuple[str, str]:
        """The beginning of the story: up to where it leaves the language, and from there on."""
        shown = self.story
        if len(shown) > most:
            shown = shown[:most].rpartition(" ")[0] + " …"
        at = crane.judge(self.story).fails_at
        at = len(shown) if at is None else at
        return shown[:at], shown[at:]


@dataclass(frozen=True)
class Staircase:
    """All steps, and the entropy of the language on the same stories: no loss can be below it."""

    recipe: Recipe
    floor: float
    steps: tuple[Measured, ...]


@cache
def stored(path: Path = FILE) -> Staircase:
    """What ``make staircase`` found. Raises ValueError if its steps are not those of ``STEPS``."""
    content = json.loads(path.read_text(encoding="utf-8"))
    by_name = {found.pop("name"): found for found in content["steps"]}
    if list(by_name) != [step.name for step in STEPS]:
        raise ValueError(f"{path.name} has other steps than STEPS: run make staircase")
    steps = tuple(Measured(step, **by_name[step.name]) for step in STEPS)
    return Staircase(Recipe(**content["recipe"]), content["floor"], steps)
