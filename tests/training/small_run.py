"""A folder of shards and the settings of a run so small that it takes a second."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from gpt2_edu.training.checkpoint import OPTIMIZER, WEIGHTS, checkpoints
from gpt2_edu.training.config import LOG
from gpt2_edu.training.run_log import TIMINGS, Row, read_log
from gpt2_edu.training.trainer import TrainConfig, Trainer
from tests.data import helpers

VOCAB = 97  # of GPT-2's tokenizer, whose first ids are single characters


def write_shards(folder: Path, train: int = 4999, val: int = 499) -> Path:
    """Ids that a model can learn to predict: each is the one before plus 0, 1, 2 or 3."""
    random, ids = np.random.RandomState(0), {}
    for split, count in (("train", train), ("val", val)):
        ids[f"{split}-00000.bin"] = np.cumsum(random.randint(0, 4, count)) % VOCAB
    helpers.write_shards(folder, ids, vocab_size=VOCAB)
    return folder


def small_config(data: Path, out: Path, **changed: Any) -> TrainConfig:
    """With dropout, validation, samples and checkpoints: what a resumed run can get wrong."""
    settings: dict[str, Any] = {
        "data": str(data),
        "out": str(out),
        "n_layer": 2,
        "n_head": 3,
        "n_embd": 21,
        "block_size": 13,
        "dropout": 0.1,
        "steps": 12,
        "batch_size": 4,
        "lr": 1e-2,
        "min_lr": 1e-3,
        "warmup_steps": 3,
        "device": "cpu",
        "precision": "float32",
        "eval_every": 4,
        "eval_batches": 3,
        "sample_every": 5,
        "prompt": "a",
        "sample_tokens": 7,
        "save_every": 3,
        "log_every": 1,
        "quiet": True,
    }
    return TrainConfig(**(settings | changed))


@contextmanager
def before_each_step(act: Callable[[Trainer], object]) -> Iterator[None]:
    """Runs that are trained inside the block call ``act`` before each of their steps."""
    train_step = Trainer.train_step

    def step(trainer: Trainer) -> Row:
        act(trainer)
        return train_step(trainer)

    with mock.patch.object(Trainer, "train_step", step):
        yield


def press_ctrl_c(step: int) -> Callable[[Row], object]:
    """An ``on_log`` that presses Ctrl-C once, after this step."""
    return lambda row: row["step"] == step and os.kill(os.getpid(), signal.SIGINT)


def story(run: Path) -> list[dict[str, Any]]:
    """The log without what two identical runs log differently."""
    rows = read_log(run / LOG)
    return [{name: row[name] for name in row if name not in TIMINGS} for row in rows]


def result(run: Path) -> tuple[bytes, bytes, str]:
    """What a run leaves: the bytes of its last weights and optimiser, and its log."""
    last = checkpoints(run)[-1]
    return (
        (last / WEIGHTS).read_bytes(),
        (last / OPTIMIZER).read_bytes(),
        json.dumps(story(run), indent=1),
    )
