"""Executing answers, also those that later exercises build on: the reader's, or else the book's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .exercise import Exercise, find
from .record import FILE, sources
from .source import definitions
from .step import Using, book_parts, make_module, steps_until


def execute(exercise: Exercise, code: str, own: Callable[..., Any] | None = None) -> Any:
    """The variable that ``code`` sets for an exercise; for a step, its parts as a function.

    The parts are put together with the book's of earlier steps. ``own`` is what the code calls for
    answers of earlier exercises. Raises ValueError if the variable is not set.
    """
    if exercise.parts:
        earlier = {part: source for part, (_, source) in book_parts(exercise.name).items()}
        parts = earlier | definitions(code)
        return Using(exercise, make_module(steps_until(exercise.name), parts))
    space = {"math": math, "torch": torch, "nn": nn, "F": F, "own": own}
    exec(compile(code, f"<{exercise.name}>", "exec"), space)
    if exercise.name not in space:
        raise ValueError(f"the code sets no variable {exercise.name!r}")
    return space[exercise.name]


def own(*names: str) -> Any:
    """The functions of earlier exercises: the reader's if they passed here, else the book's.

    Prints the names of the book's. Returns a function for one name, a list for several. Raises
    ValueError for an unknown name.
    """
    passed, found, ours = sources(), [], []
    for name in names:
        try:
            found.append(assemble(name, passed[name]))
        except KeyError:
            found.append(solutions(name))
            ours.append(name)
        except Exception as error:
            found.append(solutions(name))
            ours.append(f"{name} (the one in {FILE} does not run: {error})")
    if ours:
        print("The book's own:", ", ".join(ours))
    return found[0] if len(found) == 1 else found


def assemble(name: str, source: str) -> Any:
    """A reader's function, made from its source and the functions that it builds on."""
    exercise = find(name)
    return execute(exercise, f"{exercise.preamble}\n{source}", own)


def solutions(*names: str) -> Any:
    """The book's solutions: what ``own`` returns where nothing has passed, without printing."""
    found = [execute(find(name), find(name).solution, solutions) for name in names]
    return found[0] if len(found) == 1 else found
