"""The checkpoint that the tests of the weights start from."""

from __future__ import annotations

import pytest


@pytest.fixture
def folder(model, tmp_path):
    """A checkpoint that save_pretrained wrote."""
    model.save_pretrained(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture(autouse=True, scope="module")
def no_progress_bars():
    from transformers.utils import logging

    logging.disable_progress_bar()
