"""What tests of commands share: to run one as a user types it, and a small model in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpt2_edu import GPT2Config
from gpt2_edu.cli import main
from gpt2_edu.training import proposal


@pytest.fixture(autouse=True)
def no_device_is_measured(monkeypatch):
    """By commands that train: it takes seconds, and test_proposal.py does it."""
    monkeypatch.setattr(proposal, "training_rate", lambda *device: 1e9)


@pytest.fixture
def small() -> GPT2Config:
    """GPT-2's vocabulary and hardly anything else."""
    return GPT2Config(vocab_size=50257, block_size=31, n_layer=1, n_head=3, n_embd=15)


@pytest.fixture
def folder(tmp_path, make_model, small) -> Path:
    """A folder with a small model."""
    make_model(small).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def run(capsys):
    """Run a command that succeeds and return what it printed."""

    def run(*words: object) -> str:
        main([str(word) for word in words])
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(capsys):
    """Run a command that fails and return its message, which is never a traceback."""

    def refused(*words: object, status: int = 1) -> str:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        assert stop.value.code == status
        message = capsys.readouterr().err
        assert "Traceback" not in message
        return message

    return refused
