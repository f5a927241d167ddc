"""The fixtures of web/test are what the package gives today."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tests.web.fixtures import FOLDER, all_fixtures


def differences(stored: Any, made: Any, path: str = "") -> list[str]:
    """Where two fixtures differ; numbers that processors round otherwise are the same."""
    if isinstance(stored, dict) and isinstance(made, dict) and list(stored) == list(made):
        return [d for key in stored for d in differences(stored[key], made[key], f"{path}.{key}")]
    if isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        pairs = enumerate(zip(stored, made, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}[{i}]")]
    if isinstance(stored, float) and isinstance(made, int | float):
        return [] if math.isclose(stored, made, rel_tol=1e-4, abs_tol=2e-5) else [path]
    return [] if stored == made else [path]


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return all_fixtures()


@pytest.mark.parametrize("name", ["model", "host", "text", "answers"])
def test_fixture_is_fresh(made, name):
    stored = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    fresh = json.loads(json.dumps(made[name]))
    assert differences(stored, fresh)[:5] == [], "run: python -m tests.web.fixtures"
