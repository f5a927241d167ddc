"""The settings of a run: what is refused, and by which name."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest

from gpt2_edu.trainer import TrainConfig


@pytest.mark.parametrize(
    "changed, error, message",
    [
        ({"steps": 0}, ValueError, "steps must be at least 1, got 0"),
        ({"batch_size": 2.5}, TypeError, "batch_size must be int, got 2.5"),
        ({"steps": True}, TypeError, "steps must be int, got True"),
        ({"n_layer": "2"}, TypeError, "n_layer must be int or None, got '2'"),
        ({"lr": math.nan}, ValueError, "lr must be above 0, got nan"),
        ({"lr": "1e-3"}, TypeError, "lr must be float, got '1e-3'"),
        ({"min_lr": 1.0}, ValueError, "min_lr=1.0 is above lr"),
        ({"beta2": 1.0}, ValueError, "beta2 must be at least 0.0 and below 1.0"),
        ({"weight_decay": -1}, ValueError, "weight_decay must be at least 0"),
        ({"warmup_steps": 1000}, ValueError, "warmup_steps=1000 must be below steps=1000"),
        ({"precision": "int8"}, ValueError, "one of auto, float32, bf16, fp16, got 'int8'"),
        ({"model": "gpt3"}, ValueError, "unknown preset 'gpt3'"),
        ({"n_head": 5}, ValueError, "n_embd=768 is not divisible by n_head=5"),
        ({"init_from": "x", "n_layer": 2}, ValueError, "has its own family and sizes"),
        ({"prompt": ""}, ValueError, "prompt is empty"),
        ({"seed": 2**32}, ValueError, "seed must be below"),
        ({"keep": 0}, ValueError, "keep must be at least 1"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(changed, error, message):
    with pytest.raises(error, match=message):
        TrainConfig(**changed)


def test_a_short_run_and_a_low_rate_need_no_other_setting():
    """The warm-up is a tenth of the steps, the last rate a tenth of the first."""
    found = TrainConfig(steps=20, lr=3e-5)
    assert (found.warmup_steps, found.min_lr) == (2, 3e-6)
    assert (TrainConfig().warmup_steps, TrainConfig().min_lr) == (100, 6e-5)
    assert TrainConfig(steps=1).warmup_steps == 0
    given = TrainConfig(steps=20, warmup_steps=7, min_lr=0.0)
    assert (given.warmup_steps, given.min_lr) == (7, 0.0)
    assert TrainConfig(**asdict(given)) == given, "as a run is resumed"
