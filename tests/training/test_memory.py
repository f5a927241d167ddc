"""Too little memory: said beforehand on a CPU, in words everywhere."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu.trainer import Trainer
from gpt2_edu.training import memory
from tests.campaigns.small_run import before_each_step, small_config


def fail_with(error):
    def fail(run):
        raise error

    return before_each_step(fail)


def test_memory_is_counted_before_a_cpu_runs_out_of_it(data, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda device: 5_000_000)
    with pytest.raises(ValueError) as caught:
        Trainer(small_config(data, tmp_path / "run", batch_size=1000)).train()
    message = str(caught.value)
    assert "batch_size=1000" in message and "GiB" in message
    fits = int(message.split("batch_size=")[-1].split(" fits")[0])
    assert not (tmp_path / "run").exists()  # nothing in the way of the next attempt
    Trainer(small_config(data, tmp_path / "run", batch_size=fits, steps=4)).train()
    with pytest.raises(ValueError, match=f"batch_size={fits + 1} "):
        Trainer(small_config(data, tmp_path / "more", batch_size=fits + 1)).train()


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory")]
)
def test_running_out_of_memory_is_said_in_words(data, tmp_path, error):
    with fail_with(error), pytest.raises(ValueError, match="not enough memory for batch_size=4"):
        Trainer(small_config(data, tmp_path / "run")).train()


def test_other_errors_are_not_taken_for_it(data, tmp_path):
    error = RuntimeError("something else")
    with fail_with(error), pytest.raises(RuntimeError, match="something else"):
        Trainer(small_config(data, tmp_path / "run")).train()
