"""Data and runs that the tests of training share."""

from __future__ import annotations

import pytest

from gpt2_edu.trainer import Trainer
from gpt2_edu.training.config import LOG
from gpt2_edu.training.run_log import read_log
from tests.training.small_run import small_config, write_shards


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    return write_shards(tmp_path_factory.mktemp("data") / "shards")


@pytest.fixture(scope="session")
def finished(data, tmp_path_factory):
    """The folder of an undisturbed run of 12 steps. Tests must not change it."""
    out = tmp_path_factory.mktemp("finished") / "run"
    Trainer(small_config(data, out)).train()
    return out


@pytest.fixture
def train(data, tmp_path):
    """Train with some settings changed, in tmp_path / name; returns the rows of the log."""

    def train(name="run", **changed):
        Trainer(small_config(data, tmp_path / name, **changed)).train()
        return read_log(tmp_path / name / LOG)

    return train
