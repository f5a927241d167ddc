"""What nobody should give the page: damaged checkpoints."""

from __future__ import annotations

from tests.fuzz.pages import damaged, problems


def test_damaged_checkpoint_is_refused_or_loads_as_in_python():
    """The long version is: python -m tests.fuzz --only pages"""
    assert list(problems([damaged(seed) for seed in range(200)])) == []
