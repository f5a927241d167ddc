"""Random states: restored exactly, and the caller's kept apart from the run's."""

from __future__ import annotations

import json
import random

import numpy as np
import torch

from gpt2_edu.trainer import Trainer
from gpt2_edu.training.random_state import random_state, set_random_state
from tests.campaigns.small_run import result, small_config


def test_every_generator_goes_on_where_it_stood():
    def draw():
        normal = random.gauss(0, 1), np.random.normal(), torch.randn(3).tolist()
        return normal, random.random(), np.random.rand(5).tolist(), torch.rand(5).tolist()

    random.gauss(0, 1), np.random.normal()  # each keeps a second normal number for the next call
    state = json.loads(json.dumps(random_state(torch.device("cpu"))))
    first = draw()
    assert draw() != first
    set_random_state(state, torch.device("cpu"))
    assert draw() == first


def test_the_random_state_of_the_caller_does_not_leak_into_a_run(data, finished, tmp_path):
    torch.manual_seed(99)
    Trainer(small_config(data, tmp_path / "run")).train()
    assert result(tmp_path / "run") == result(finished)
