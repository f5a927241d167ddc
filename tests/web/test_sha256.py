"""The browser's half computes SHA-256 piece by piece, as hashlib does."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

ROUND = (np.arange(2**20, dtype=np.uint64) ** 2 >> 8).astype(np.uint8).tobytes()


@pytest.mark.parametrize(
    ("lengths", "pieces"),
    [
        (list(range(201)), [200]),
        (list(range(201)), [1]),
        (list(range(201)), [7, 64, 0, 57, 65]),
        ([80_000_001], [70_000, 1, 2**20 - 3]),
        ([2**29 + 1], [2**20]),  # 2³² + 8 bits; GPT-2's file is that long
    ],
)
def test_the_digest_is_that_of_hashlib(node, lengths, pieces):
    found = node("run_sha256.mjs", {"lengths": lengths, "pieces": pieces})
    for length, digest in zip(lengths, found, strict=True):
        expected = hashlib.sha256()
        for _ in range(length // len(ROUND)):
            expected.update(ROUND)
        expected.update(ROUND[: length % len(ROUND)])
        assert digest == expected.hexdigest(), length
