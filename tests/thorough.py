"""Cases that only `make thorough` tries, beside others of the same test that `make test` does."""

from __future__ import annotations

from typing import Any

import pytest


def thorough(*values: Any) -> Any:
    """One more case of ``pytest.mark.parametrize``."""
    return pytest.param(*values, marks=pytest.mark.thorough)
