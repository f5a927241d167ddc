"""The ``Exercise`` class, and loading exercises from files such as ``tasks/heads/split_heads.py``.

The folder is the chapter. The file's name is the name of the exercise and of the variable that the
reader defines; its docstring is the title. A chapter's exercises are sorted by ORDER, any number.
The file ``build.py`` is the chapter's step towards the reader's own GPT-2: its answer, the
functions or classes in PARTS, goes into my_gpt2.py. ``Exercise`` documents the other variables.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

from ..machine.messages import did_you_mean

TASKS = Path(__file__).parent / "tasks"
BUILD = "build"  # the file of a chapter's step
CHAPTERS = (Path(__file__).parents[1] / "assets" / "chapters.txt").read_text("utf-8").split()

Kind = Literal["recall", "paper", "write", "repair", "explore", "stretch"]
Rank = Literal["core", "good", "extra"]


@dataclass(frozen=True)
class Case:
    """Arguments for a call of the answer, and a label for readers."""

    label: str
    args: tuple[Any, ...]


class Mistake:
    """A common wrong answer: the message to its author, and its code.

    The code is the solution with edits: an old string, which occurs once, and a new one. ``code``
    replaces the whole solution, for an answer that has little in common with it.
    """

    def __init__(self, message: str, *edits: tuple[str, str], code: str | None = None) -> None:
        if bool(edits) == (code is not None):
            raise ValueError(f"a mistake has edits or code, and not both: {message}")
        self.message, self.edits, self.code = message, edits, code


def changed(code: str, *changes: tuple[str, str]) -> str:
    """Code with each old string replaced by a new one, one after another.

    Raises ValueError for an old string that does not occur exactly once.
    """
    for old, new in changes:
        if code.count(old) != 1:
            raise ValueError(f"{old!r} occurs {code.count(old)} times in the code, not once")
        code = code.replace(old, new)
    return code


def fitting(mistakes: Iterable[Mistake], solution: str) -> list[Mistake]:
    """Those of another exercise's mistakes whose edits fit this solution as well.

    An edit that brings in a name of the other solution does not.
    """
    found = []
    known = _names(solution)[0] | {*dir(builtins), "math", "nn", "torch"}
    for mistake in mistakes:
        with contextlib.suppress(ValueError):
            used, bound = _names(changed(solution, *mistake.edits))
            if mistake.edits and used <= known | bound:
                found.append(mistake)
    return found


def _names(code: str) -> tuple[set[str], set[str]]:
    """The names that code reads, and those that it gives a value."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    bound = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes} - bound, bound


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    ``start`` and ``solution`` are code that defines the variable ``name``: a function, or a value
    computed on paper. ``right`` is the reference: a function, called with the arguments of
    ``cases``, or a value. Without ``start`` the exercise is not checked, and the solution is prose.

    With ``parts`` it is a step, named like its chapter, and the code defines these functions or
    classes. It may use what earlier steps define, and redefine it. ``use(mine, *args)`` calls the
    reader's parts with the arguments of a case, where ``mine`` is a module with all parts up to
    this step. ``after(mine)`` says what they make of the trained model (see crane_run.py).
    """

    name: str
    title: str
    chapter: int
    order: float = 0  # within the chapter
    kind: Kind = "write"
    level: int = 2  # 1, 2 or 3
    rank: Rank = "good"  # what to do first: later chapters build on the core
    minutes: int = 15
    task: str = ""  # Markdown
    hints: tuple[str, ...] = ()
    start: str | None = None
    solution: str = ""
    right: Any = None
    cases: Callable[[], list[Case]] | None = None  # equal on every call, in new tensors
    mistakes: tuple[Mistake, ...] = ()
    tolerance: float = 1e-5  # absolute and relative, of numbers
    # Called with a wrong result and the case's arguments: what is wrong in a sentence, or None.
    properties: Callable[..., str | None] | None = None
    after: Callable[[Any], str] | None = None  # returns text to print after a right answer
    parts: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()  # parts of earlier steps that are no longer needed
    imports: tuple[str, ...] = ()  # the import lines that the parts need
    use: Callable[..., Any] | None = None

    @classmethod
    def from_file(cls, chapter: str, file: str) -> Self:
        """The exercise of a file in a chapter's folder: a variable for each field."""
        module = import_module(f"{__package__}.tasks.{chapter}.{file}")
        given: dict[str, Any] = {
            "name": chapter if file == BUILD else file,
            "title": (module.__doc__ or "").strip().rstrip("."),
            "chapter": CHAPTERS.index(chapter) + 1,
        }
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

    def code_of(self, mistake: Mistake) -> str:
        """A mistake's code. Raises ValueError for an edit that does not fit the solution."""
        if mistake.code is not None:
            return mistake.code
        try:
            return changed(self.solution, *mistake.edits)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}, in {mistake.message!r}") from error


@cache
def _chapters() -> dict[str, str]:
    """The chapter of each exercise for ``check``, by the exercise's name."""
    found: dict[str, str] = {}
    for file in sorted(TASKS.glob("*/*.py")):
        if file.stem in found:
            raise ValueError(f"two exercises are called {file.stem!r}")
        if file.stem != BUILD:
            found[file.stem] = file.parent.name
    return found


_read = cache(Exercise.from_file)


@cache
def exercises() -> dict[str, Exercise]:
    """The exercises for ``check`` by name, in the order of the chapters.

    The first call takes half a second.
    """
    read = (_read(chapter, name) for name, chapter in _chapters().items())
    found = sorted(read, key=lambda e: (e.chapter, e.order, e.name))
    return {exercise.name: exercise for exercise in found}


def find(name: str) -> Exercise:
    """The exercise of this name. Raises ValueError with the nearest name if there is none."""
    if not isinstance(name, str):
        raise ValueError('the name comes first, in quotes: check("layer_norm", layer_norm)')
    if name not in _chapters():
        raise ValueError(
            f"there is no exercise {name!r}. {did_you_mean(name, _chapters())}"
            "progress() lists all of them."
        )
    return _read(_chapters()[name], name)


@cache
def steps() -> dict[str, Exercise]:
    """The exercises for ``build``, by the names of their chapters and in that order."""
    files = TASKS.glob(f"*/{BUILD}.py")
    found = sorted((file.parent.name for file in files), key=CHAPTERS.index)
    return {chapter: _read(chapter, BUILD) for chapter in found}


def find_step(name: str) -> Exercise:
    """The step of this name. Raises ValueError with the nearest name for an unknown one."""
    if name not in steps():
        near = did_you_mean(str(name), steps())
        raise ValueError(f"there is no step {name!r}. {near}There are: {', '.join(steps())}")
    return steps()[name]
