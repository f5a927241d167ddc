"""What readers saved with version 0.1 opens, and continues: files, runs, progress.

The files in tests/saved were written by that version: ``end.safetensors`` has the weights with
which the run in ``run`` ended when it was not interrupted.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gpt2_edu import GPT2, generate
from gpt2_edu.exercises import my_gpt2, progress
from gpt2_edu.trainer import Trainer

SAVED = Path(__file__).parent / "saved"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A copy of what was saved, as the current folder."""
    shutil.copytree(SAVED, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)
    return tmp_path


def test_a_stopped_run_is_resumed_and_ends_as_it_would_have(folder):
    summary = Trainer.resume("run").train()
    assert (summary.step, summary.finished) == (12, True)
    expected = load_file("end.safetensors")
    found = load_file(summary.checkpoint / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, weights in found.items():
        # Within rounding: the processor may differ from the one that wrote them.
        torch.testing.assert_close(weights, expected[name], atol=1e-5, rtol=1e-4)


def test_a_checkpoint_of_a_run_is_a_model(folder):
    model = GPT2.from_pretrained("run/checkpoints/step-00000007")
    assert generate(model, torch.tensor([[1, 2]]), 3).shape == (1, 5)


def test_a_readers_own_model_opens_and_writes(folder, capsys):
    text = Path("my_gpt2.py").read_text()
    mine = my_gpt2("bugs")
    assert "book" not in capsys.readouterr().out  # every part is the reader's
    model = mine.GPT2(50, 9, 2, 2, 8).eval()
    idx = torch.tensor([[1, 2, 3]])
    assert model(idx).shape == (1, 3, 50)
    assert mine.generate(model, idx, 12).shape == (1, 15)
    assert generate(model, idx, 12, overflow="crop").shape == (1, 15)
    assert Path("my_gpt2.py").read_text() == text


def test_the_record_of_solved_exercises_opens(folder):
    assert set(progress().passed) == {"gelu", "head_size", "layer_norm"}
