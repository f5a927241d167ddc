"""The ``Exercise`` class, and loading exercises from files such as ``tasks/ch06/split_heads.py``.

The folder is the chapter. The file's name is the name of the exercise and of the variable that the
reader defines; its docstring is the title. A chapter's exercises are sorted by ORDER, any number.
``Exercise`` documents the other variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

import torch
from torch import nn
from torch.nn import functional as F

from ..machine.messages import did_you_mean

Kind = Literal["recall", "paper", "write", "repair", "explore", "stretch"]


@dataclass(frozen=True)
class Case:
    """Arguments for a call of the answer, and a label for readers."""

    label: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Mistake:
    """A common wrong answer: the message to its author, and its code."""

    message: str
    code: str


def changed(code: str, *changes: tuple[str, str]) -> str:
    """Code with each old string replaced by a new one, to derive a mistake from a solution.

    Raises ValueError for an old string that does not occur exactly once.
    """
    for old, new in changes:
        if code.count(old) != 1:
            raise ValueError(f"{old!r} occurs {code.count(old)} times in the code, not once")
        code = code.replace(old, new)
    return code


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    ``start``, ``solution`` and each mistake are code that defines the variable ``name``: a
    function, or a value computed on paper. ``right`` is the reference: a function, called with the
    arguments of ``cases``, or a value. Without ``start`` the exercise is not checked, and the
    solution is prose.
    """

    name: str
    title: str
    chapter: int
    order: float = 0  # within the chapter
    kind: Kind = "write"
    level: int = 2  # 1, 2 or 3
    minutes: int = 15
    task: str = ""  # Markdown
    hints: tuple[str, ...] = ()
    start: str | None = None
    solution: str = ""
    right: Any = None
    cases: Callable[[], list[Case]] | None = None  # equal on every call, in new tensors
    mistakes: tuple[Mistake, ...] = ()
    tolerance: float = 1e-5  # absolute and relative, of numbers
    after: Callable[[Any], str] | None = None  # returns text to print after a right answer

    @classmethod
    def from_module(cls, path: str, chapter: int) -> Self:
        """The exercise of a module such as "tasks.ch06.split_heads": a variable for each field."""
        module = import_module(f"{__package__}.{path}")
        name, title = path.rpartition(".")[2], (module.__doc__ or "").strip().rstrip(".")
        given: dict[str, Any] = {"name": name, "title": title, "chapter": chapter}
        for field in fields(cls):
            value = vars(module).get(field.name.upper(), vars(module).get(field.name))
            if value is not None and field.name not in given:
                given[field.name] = value.strip("\n") if isinstance(value, str) else value
        return cls(**given)

    @property
    def checked(self) -> bool:
        return self.start is not None

    @property
    def preamble(self) -> str:
        """The lines of ``start`` before the function: definitions that it uses."""
        return (self.start or "").partition(f"def {self.name}(")[0]

    def answer(self, code: str, own: Callable[..., Any] | None = None) -> Any:
        """Execute ``code`` and return its variable ``name``. Raises ValueError if it is not set."""
        space = {"math": math, "torch": torch, "nn": nn, "F": F, "own": own}
        exec(compile(code, f"<{self.name}>", "exec"), space)
        if self.name not in space:
            raise ValueError(f"the code sets no variable {self.name!r}")
        return space[self.name]


@cache
def _files() -> dict[str, Path]:
    """The file of each exercise, by name."""
    found: dict[str, Path] = {}
    for file in (Path(__file__).parent / "tasks").glob("ch*/*.py"):
        if file.stem in found:
            raise ValueError(f"two exercises are called {file.stem!r}")
        found[file.stem] = file
    return found


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name, in the order of the chapters. The first call takes half a second."""
    found = sorted(map(_read, _files()), key=lambda e: (e.chapter, e.order, e.name))
    return {exercise.name: exercise for exercise in found}


def find(name: str) -> Exercise:
    """The exercise of this name. Raises ValueError with the nearest name if there is none."""
    if not isinstance(name, str):
        raise ValueError('the name comes first, in quotes: check("layer_norm", layer_norm)')
    if name not in _files():
        raise ValueError(
            f"there is no exercise {name!r}. {did_you_mean(name, _files())}"
            "progress() lists all of them."
        )
    return _read(name)


@cache
def _read(name: str) -> Exercise:
    folder = _files()[name].parent.name
    return Exercise.from_module(f"tasks.{folder}.{name}", int(folder.removeprefix("ch")))
