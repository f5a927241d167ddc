"""``graded``: the test that gives an assignment's points. book/make_assignment.py writes its cells.

Everyone may try the visible test as often as they like. The hidden one calls the answer with other
inputs, so that nothing is won by returning what the visible one wants to see.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import torch

from .checking import difference, examine
from .exercise import Case, Exercise, find

SOME_DRAW = 1  # any but none, to see whether an exercise draws at all


def graded(name: str, answer: Any, draw: int | None = None) -> bool:
    """Print what the test of an exercise finds in an answer; return whether it is right.

    Without ``draw`` it is the visible test, with it the hidden one: ``draw`` says which numbers.
    Nothing is recorded. Raises ValueError for an unknown exercise, or one without a check.
    """
    exercise = find(name)
    if not exercise.checked:
        raise ValueError(f"{name!r} has no check: its answer is a text")
    chosen = visible(exercise) if draw is None else hidden(exercise, draw)
    with contextlib.redirect_stderr(sys.stdout):  # a warning costs no points
        report = examine(chosen, answer)
        print(report if draw is None or report.passed else f"With other inputs: {report}")
    return report.passed


def visible(exercise: Exercise) -> Exercise:
    """The exercise as everyone may try it: with half of its cases, if these are always the same."""
    if exercise.cases is None or draws(exercise):
        return exercise
    cases = exercise.cases
    return replace(exercise, cases=lambda: cases()[: (len(cases()) + 1) // 2])


def hidden(exercise: Exercise, draw: int) -> Exercise:
    """The exercise with all its cases, and other random numbers in them."""
    if exercise.cases is None:
        return exercise
    return replace(exercise, cases=_redrawn(exercise.cases, draw))


def draws(exercise: Exercise) -> bool:
    """Whether there are random numbers in what it calls an answer with."""
    assert exercise.cases is not None
    return differ(exercise.cases(), _redrawn(exercise.cases, SOME_DRAW)())


def differ(cases: Sequence[Case], others: Sequence[Case]) -> bool:
    """Whether any argument of the cases is another one in the others."""
    pairs = zip(cases, others, strict=True)
    return any(difference(list(b.args), list(a.args), 0.0) is not None for a, b in pairs)


def _redrawn(cases: Callable[[], list[Case]], draw: int) -> Callable[[], list[Case]]:
    def again() -> list[Case]:
        with _other_seeds(draw):
            return cases()

    return again


@contextlib.contextmanager
def _other_seeds(draw: int) -> Iterator[None]:
    """Every seed that is set here is another one: an exercise's cases set theirs themselves."""
    seed = torch.manual_seed

    class Generator(torch.Generator):
        def manual_seed(self, number: int) -> torch.Generator:
            return super().manual_seed(number + draw)

    with (
        mock.patch.object(torch, "Generator", Generator),
        mock.patch.object(torch, "manual_seed", lambda number: seed(number + draw)),
    ):
        yield
