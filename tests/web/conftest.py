"""What the tests of the browser's half share."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.chromium import served

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def address():
    """A server of the repository's files on loopback."""
    with served(ROOT) as address:
        yield address
