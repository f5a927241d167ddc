"""What an exercise is, and where they all are: one file each in the folder ``tasks``.

A file's name is the exercise's name, and the name of what the reader writes. Its docstring is the
title; PLACE is (chapter, number). What a file may hold is written at ``Exercise``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional as F

from ..machine.messages import did_you_mean

Kind = Literal["recall", "paper", "write", "repair", "explore", "stretch"]


@dataclass(frozen=True)
class Case:
    """What an answer is called with, and a word for readers about it."""

    label: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that many give: what to say of it, and its code."""

    says: str
    code: str


@dataclass(frozen=True)
class Exercise:
    """One exercise, as its file describes it.

    ``start``, ``solution`` and each mistake are code that sets the variable called ``name``: a
    function, or a value worked out on paper. ``right`` is the package's own: the function that
    ``cases`` are given to, or the value. Without ``start`` there is nothing to check, and the
    solution is prose.
    """

    name: str
    title: str
    place: tuple[int, int]
    kind: Kind
    level: int  # 1, 2 or 3
    minutes: int
    task: str  # Markdown
    hints: tuple[str, ...]
    start: str | None
    solution: str
    right: Any
    cases: Callable[[], list[Case]] | None  # new arguments on every call, always the same
    mistakes: tuple[Mistake, ...]
    tolerance: float  # how far a number may lie from the right one, absolutely and relatively
    after: Callable[[Any], str] | None  # what a right answer can do, as text

    @property
    def chapter(self) -> int:
        return self.place[0]

    @property
    def checked(self) -> bool:
        return self.start is not None

    @property
    def preamble(self) -> str:
        """The lines of ``start`` before the function: the parts that it builds on."""
        return (self.start or "").partition(f"def {self.name}(")[0]

    def answer(self, code: str, own: Callable[..., Any] | None = None) -> Any:
        """What ``code`` sets the variable called ``name`` to."""
        space = {"math": math, "torch": torch, "nn": nn, "F": F, "own": own}
        exec(compile(code, f"<{self.name}>", "exec"), space)
        if self.name not in space:
            raise ValueError(f"the code sets no variable {self.name!r}")
        return space[self.name]


@cache
def _modules() -> dict[str, str]:
    """The module of every exercise by its name: the files of tasks/ch01, tasks/ch02 …"""
    found: dict[str, str] = {}
    for file in sorted((Path(__file__).parent / "tasks").glob("ch*/*.py")):
        if file.stem in found:
            raise ValueError(f"two exercises are called {file.stem!r}")
        found[file.stem] = f"{__package__}.tasks.{file.parent.name}.{file.stem}"
    return found


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name, in the order of the chapters. Reads every file: half a second."""
    found = [_read(name) for name in _modules()]
    return {exercise.name: exercise for exercise in sorted(found, key=lambda e: e.place)}


def find(name: str) -> Exercise:
    """One exercise. Raises ValueError, with the nearest name, if there is none of that name."""
    if not isinstance(name, str):
        raise ValueError('the name comes first, in quotes: check("layer_norm", layer_norm)')
    if name not in _modules():
        raise ValueError(
            f"there is no exercise {name!r}. {did_you_mean(name, _modules())}"
            "progress() lists all of them."
        )
    return _read(name)


@cache
def _read(name: str) -> Exercise:
    file = import_module(_modules()[name])
    given = vars(file)
    return Exercise(
        name=name,
        title=(file.__doc__ or name).strip().rstrip("."),
        place=given["PLACE"],
        kind=given["KIND"],
        level=given["LEVEL"],
        minutes=given["MINUTES"],
        task=given["TASK"].strip(),
        hints=tuple(given.get("HINTS", ())),
        start=given["START"].strip("\n") if "START" in given else None,
        solution=given["SOLUTION"].strip("\n"),
        right=given.get("right"),
        cases=given.get("cases"),
        mistakes=tuple(given.get("MISTAKES", ())),
        tolerance=given.get("TOLERANCE", 1e-5),
        after=given.get("after"),
    )
