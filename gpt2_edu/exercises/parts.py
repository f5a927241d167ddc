"""Answers that later exercises build on: the reader's own where there is one, else the book's."""

from __future__ import annotations

from typing import Any

from .exercise import Exercise, find
from .record import FILE, sources


def own(*names: str) -> Any:
    """The functions of earlier exercises: the reader's, as they passed here, else the book's.

    Says for which ones the book's stand in. One name gives a function, several a list. Raises
    ValueError for a name that is no exercise.
    """
    kept, found, ours = sources(), [], []
    for name in names:
        try:
            found.append(assemble(name, kept[name]))
        except KeyError:
            found.append(solution(name))
            ours.append(name)
        except Exception as error:
            found.append(solution(name))
            ours.append(f"{name} (the one in {FILE} does not run: {error})")
    if ours:
        print("The book's own:", ", ".join(ours))
    return found[0] if len(found) == 1 else found


def assemble(name: str, source: str) -> Any:
    """A reader's function from its text, with the parts that it builds on."""
    exercise = find(name)
    return exercise.answer(f"{exercise.preamble}\n{source}", own)


def solution(name: str) -> Any:
    """The book's solution of an exercise."""
    exercise = find(name)
    return exercise.answer(exercise.solution, solutions)


def solutions(*names: str) -> Any:
    """What ``own`` gives to one who has solved nothing, without a word."""
    found = [solution(name) for name in names]
    return found[0] if len(found) == 1 else found


def wrong_answer(exercise: Exercise, code: str) -> Any:
    """A wrong answer to an exercise, built on right parts."""
    return exercise.answer(code, solutions)
