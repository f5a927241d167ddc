"""The checkpoint that the tests of the weights start from."""

from __future__ import annotations

import time

import pytest
from huggingface_hub import constants

from tests.stand_in_hub import StandInHub
from tests.weights.helpers import point_at


@pytest.fixture
def folder(model, tmp_path):
    """A checkpoint that save_pretrained wrote."""
    model.save_pretrained(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture(autouse=True, scope="module")
def no_progress_bars():
    from transformers.utils import logging

    logging.disable_progress_bar()


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A stand-in as this process's hub, with an empty cache and no long waits."""
    with StandInHub() as hub:
        point_at(hub.url, monkeypatch)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.setattr(time, "sleep", lambda seconds: None)
        yield hub
