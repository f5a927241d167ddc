"""Crane World from nothing to a trained model: the settings of two runs, and one call for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..data.prepare import PrepareConfig, prepare
from ..data.shards import HEADER, read_header
from ..machine.files import named_path
from ..machine.messages import join_some, nearest, short_repr
from .config import TrainConfig
from .run_log import Row
from .trainer import Summary, Trainer


@dataclass(frozen=True)
class Recipe:
    """How many stories to write, and how to train on them."""

    stories: int
    settings: dict[str, Any]  # of TrainConfig, but for data, out, seed and where it runs


# Settings of both runs. Every sequence begins with a story, so that no context is missing. Narrow
# models learn best at a high learning rate from large initial weights (see "crane" among the
# presets). Weight decay is low, since no story is repeated.
_COMMON = {"model": "crane", "block_size": 128, "align": True, "batch_size": 16, "keep": 1}
_COMMON |= {"warmup_steps": 50, "weight_decay": 0.01, "beta2": 0.98}

RECIPES = {
    # About three minutes on two cores: one block fewer, and windows just long enough for a story.
    "laptop": Recipe(
        56_000,
        _COMMON
        | {"n_layer": 2, "block_size": 112, "steps": 3400, "lr": 6e-3, "min_lr": 6e-5}
        | {"eval_every": 680, "eval_batches": 5, "sample_every": 680, "save_every": 3400},
    ),
    # The model that ships with this package.
    "shipped": Recipe(
        200_000,
        _COMMON
        | {"steps": 10_000, "lr": 4e-3, "min_lr": 4e-5}
        | {"eval_every": 500, "eval_batches": 20, "sample_every": 500, "save_every": 2000},
    ),
}


def train_crane(
    recipe: str,
    out: str,
    *,
    on_log: Callable[[Row, Trainer], object] | None = None,
    **settings: Any,
) -> Summary:
    """Write stories to ``out/data`` and train on them in ``out/run``.

    ``settings`` of TrainConfig take the place of the recipe's, such as ``seed=1``.
    ``on_log`` is called with each row of the log and the trainer. Raises ValueError for an unknown
    recipe, and what ``prepare`` and ``Trainer.train`` raise.
    """
    if recipe not in RECIPES:
        raise ValueError(f"unknown recipe {recipe!r}. {nearest(recipe, RECIPES)}")
    place = named_path(out)
    data, run = place / "data", place / "run"
    config = TrainConfig(data=str(data), out=str(run), **(RECIPES[recipe].settings | settings))
    if held := [path.name for path in place.glob("*") if path != data]:
        raise ValueError(
            f"{place} is not empty: it holds {join_some(held)}. Choose another folder. To continue "
            f"a run that is there: gpt2-edu train --out {run} --resume."
        )
    stories = f"crane:{RECIPES[recipe].stories}"
    if not (data / HEADER).is_file():
        prepare(
            PrepareConfig(sources=(stories,), out=str(data), tokenizer="crane", val_fraction=0.02)
        )
    elif (found := read_header(data).made.get("sources")) != [stories]:
        raise ValueError(f"{data} holds shards of {short_repr(found)}: choose another folder")
    trainer = Trainer(config, on_log=lambda row: on_log and on_log(row, trainer))
    return trainer.train()
