"""Losses of runs and what the package fits to them, for web/test."""

from __future__ import annotations

from typing import Any

from gpt2_edu.analysis.scaling import fit, subsets
from tests.exhibits.test_scaling import made

CHOICES = ("all", "without the smallest size", "without the shortest runs")


def scaling() -> list[dict[str, Any]]:
    """All of some runs and a part of them, with E free; and all, with E known."""
    some = subsets(made(noise=0.005))
    cases = [(some[name], None) for name in CHOICES] + [(some["all"], 0.4)]
    found = []
    for runs, floor in cases:
        best = fit(runs, floor)
        case: dict[str, Any] = {"runs": [[run.n, run.d, run.loss] for run in runs], "floor": floor}
        found.append(case | {key: getattr(best, key) for key in ("E", "alpha", "beta", "error")})
    return found
