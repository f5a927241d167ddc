"""``gpt2-edu train``: from token shards to a model."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

from ..training.config import TrainConfig, read_train_config
from ..training.trainer import Trainer
from . import STOPPED, command


def train_config(**given: Any) -> TrainConfig:
    """The settings of a run; a resumed run keeps those that it started with."""
    if given.get("resume") and "out" in given:
        return replace(read_train_config(given["out"]), **given)
    return TrainConfig(**given)


@command(
    "gpt2-edu train --data data/shakespeare --out runs/first --n-layer 6 --n-head 6 "
    "--n-embd 192 --block-size 128 --batch-size 16 --steps 2000",
    "gpt2-edu train --out runs/first --resume",
    "gpt2-edu train --data data/shakespeare --out runs/tuned --init-from gpt2 --lr 3e-5 "
    "--min-lr 3e-6",
    "torchrun --nproc-per-node=8 -m gpt2_edu train --data data/books --out runs/large",
    make=train_config,
)
def train(config: TrainConfig) -> None:
    """Train a model on token shards, on one device or, under torchrun, on many."""
    done = Trainer(config).train()
    if not done.finished and "RANK" not in os.environ:  # torchrun would take it for a failure
        sys.exit(STOPPED)
    if config.quiet or int(os.environ.get("RANK", "0")) or not done.finished:
        return
    best = done.best_checkpoint or done.checkpoint
    loss = "" if done.best_val_loss is None else f", validation loss {done.best_val_loss:.4f}"
    print(f"{done.step} steps in {done.seconds:,.0f} s{loss}. The best weights: {best}")
    print(f'Let it write: gpt2-edu generate "Once" --model {config.out}')
