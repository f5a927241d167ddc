"""Folders and files that the tests of the data start from."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import gpt2_edu.data.prepare
import gpt2_edu.data.sources
from tests.data.helpers import SIZES, STORIES, write_shards


@pytest.fixture
def folder(tmp_path):
    """Token number i of the training split is i, so a batch shows where it comes from."""
    starts = np.cumsum([0, *SIZES])
    files = {
        f"train-{i:05d}.bin": range(start, start + n)
        for i, (start, n) in enumerate(zip(starts, SIZES))
    }
    write_shards(tmp_path / "shards", files | {"val-00000.bin": range(1000, 1053)})
    return tmp_path / "shards"


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_text("".join(json.dumps({"id": 1, "text": text}) + "\n" for text in STORIES))
    return path


@pytest.fixture
def small_pieces(monkeypatch):
    """Many pieces and batches out of little text; the disk can be slow."""
    monkeypatch.setattr(gpt2_edu.data.sources, "BLOCK", 101)
    monkeypatch.setattr(gpt2_edu.data.prepare, "BATCH", 3)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
