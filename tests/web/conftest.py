"""What the tests of the browser's half share."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.chromium import served
from gpt2_edu import GPT2
from tests.node import ask

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def node():
    """Run a script of this folder under node with a JSON request; returns its JSON answer."""
    return ask


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a model was saved; one folder for each."""
    made = {}

    def save(model: GPT2) -> str:
        if id(model) not in made:
            path = tmp_path_factory.mktemp("model") / "saved"
            model.save_pretrained(path)
            made[id(model)] = (model, str(path))
        return made[id(model)][1]

    return save


@pytest.fixture(scope="module")
def address():
    """A server of the repository's files on loopback."""
    with served(ROOT) as address:
        yield address
