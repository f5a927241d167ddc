"""``graded``: visible and hidden tests for the assignments of site/gpt2_site/make_assignment.py.

Students can run the visible test. The hidden test uses other inputs, so that hard-coding the
expected results of the visible one gains nothing.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .checking import examine
from .comparing import difference
from .exercise import Case, Exercise, find
from .redrawing import redrawn

ANY_DRAW = 1  # to detect whether an exercise's cases are random


def graded(name: str, answer: Any, draw: int | None = None) -> bool:
    """Test an answer, print the report, and return whether it is right.

    Without ``draw`` this is the visible test; with it the hidden one, with ``draw`` as an offset
    of its random seeds. Records nothing. Raises ValueError for an unknown exercise, or one without
    a check.
    """
    exercise = find(name)
    if not exercise.checked:
        raise ValueError(f"{name!r} has no check: its answer is a text")
    variant = visible(exercise) if draw is None else hidden(exercise, draw)
    with contextlib.redirect_stderr(sys.stdout):  # a warning costs no points
        report = examine(variant, answer)
        print(report if draw is None or report.passed else f"With other inputs: {report}")
    return report.passed


def visible(exercise: Exercise) -> Exercise:
    """The exercise of the visible test: half of the cases if they are not random, else all."""
    if exercise.cases is None or draws(exercise):
        return exercise
    cases = exercise.cases
    return replace(exercise, cases=lambda: cases()[: (len(cases()) + 1) // 2])


def hidden(exercise: Exercise, draw: int) -> Exercise:
    """The exercise of the hidden test: all cases, with other random numbers."""
    if exercise.cases is None:
        return exercise
    return replace(exercise, cases=redrawn(exercise.cases, draw))


def draws(exercise: Exercise) -> bool:
    """Whether the exercise's cases contain random numbers."""
    assert exercise.cases is not None
    return differ(exercise.cases(), redrawn(exercise.cases, ANY_DRAW)())


def differ(cases: Sequence[Case], others: Sequence[Case]) -> bool:
    """Whether any argument differs between two lists of cases."""
    pairs = zip(cases, others, strict=True)
    return any(difference(list(b.args), list(a.args), 0.0) is not None for a, b in pairs)
