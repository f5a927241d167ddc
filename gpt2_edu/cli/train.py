"""``gpt2-edu train``: from token shards to a model."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from ..machine.options import option
from ..models import load_config
from ..tokenizer import load_encoding
from ..training.config import TrainConfig, read_train_config
from ..training.proposal import propose
from ..training.trainer import Trainer
from ..tuning.conversations import SUFFIX, read_conversations
from ..tuning.messages import role_encoding
from ..weights import locate
from . import STOPPED, command


@dataclass(frozen=True, kw_only=True)
class TrainOptions(TrainConfig):
    """The settings of a run, and what they are chosen by where they are not given."""

    minutes: float = option("without model and init_from: choose settings for so long a run", 10.0)


def train_config(*, minutes: float | None = None, **given: Any) -> TrainConfig:
    """The settings of a run: those given, and for the rest what ``propose`` says.

    A resumed run keeps those that it started with. A preset and weights to start from have their
    own sizes, the latter a window too, and under torchrun every process needs the same. Rows of
    conversations are as long as the longest.
    """
    data = given.get("data", TrainConfig.data)
    conversations = data.endswith(SUFFIX)
    own = [name for name in ("resume", "model", "init_from") if given.get(name)]
    own += ["torchrun"] * ("RANK" in os.environ)
    if own and minutes is not None:
        raise ValueError(f"--minutes is for choosing sizes, which {own[0]} has: leave it out")
    if given.get("resume") and "out" in given:
        return replace(read_train_config(given["out"]), **given)
    if base := given.get("init_from"):
        window = load_config(base).block_size  # a Llama's may be of 100,000 tokens
        needed = TrainConfig.block_size
        if conversations and "block_size" not in given:
            examples = read_conversations(data, role_encoding(load_encoding(locate(base))))
            needed = max(len(example.ids) for example in examples.values()) - 1
        given = {"block_size": min(window, needed)} | given
    if own or conversations:
        return TrainConfig(**given)
    names = ("device", "precision", "n_embd", "steps", "family")
    known = {name: given[name] for name in names if name in given}
    proposed = propose(data, minutes=minutes or 10.0, **known)
    return TrainConfig(**proposed | given)


@command(
    "gpt2-edu train --data data/shakespeare --out runs/first",
    "gpt2-edu train --data data/shakespeare --out runs/longer --minutes 60",
    "gpt2-edu train --data data/shakespeare --out runs/llama --family llama --n-kv-head 2",
    "gpt2-edu train --out runs/first --resume",
    "gpt2-edu train --data data/shakespeare --out runs/tuned --init-from gpt2 --lr 3e-5",
    "gpt2-edu train --data chat.jsonl --out runs/ask --init-from crane --lora-rank 4 --lr 3e-3",
    "torchrun --nproc-per-node=8 -m gpt2_edu train --data data/books --out runs/large",
    options=TrainOptions,
    make=train_config,
)
def train(config: TrainConfig) -> None:
    """Train a model on token shards, on one device or, under torchrun, on many.

    Settings that are not given are chosen for the text and the device.
    """
    done = Trainer(config).train()
    if not done.finished and "RANK" not in os.environ:  # torchrun would take it for a failure
        sys.exit(STOPPED)
    if config.quiet or int(os.environ.get("RANK", "0")) or not done.finished:
        return
    best = done.best_checkpoint or done.checkpoint
    loss = "" if done.best_val_loss is None else f", validation loss {done.best_val_loss:.4f}"
    print(f"{done.step} steps in {done.seconds:,.0f} s{loss}. The best weights: {best}")
    what = '--ask "Who?"' if config.has_conversations else '"Once"'
    print(f"Let it write: gpt2-edu generate {what} --model {config.out}")
