"""Which change to a wrong answer's own code makes it right, or which two."""

from __future__ import annotations

import ast
import contextlib
import itertools
import linecache
import math
import time
import warnings
from collections.abc import Callable, Collection, Generator, Iterator
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from .borrowing import Borrowed, borrowed
from .changes import POWER, Change, Several, changes, lines_of, parsed, quick_changes
from .source import definitions, source_of
from .step import Using

TRIES = 3000  # of one change, which are as many on a slow machine
FOR_TWO = 1500  # and of a second one after it
SECONDS = 6.0  # of computing, after which a search ends in any case
WAITING = 30.0  # and of the clock, for code that waits
FIRST = 12  # changes that bring an answer nearer, with which a second one is tried
OUTSIDE = {"open", "os", "shutil", "subprocess", "Path", "input", "exec", "eval"}


class Code(NamedTuple):
    """A definition whose code is changed, and what runs the compiled code with each change."""

    tree: ast.Module
    borrowed: Borrowed
    run: Callable[[CodeType], Any]  # returns the answer
    undo: Callable[[], None]


def repaired(
    answer: Callable[..., Any],
    nearness: Callable[[Any], float],
    solution: str,
    parts: Collection[str] = (),
) -> str | None:
    """The change in a sentence, or None.

    ``nearness`` says how near an answer is to a right one, for which it is 1. Only these ``parts``
    of a step are changed, or all if there are none.
    """
    end = time.thread_time() + SECONDS, time.monotonic() + WAITING
    before = nearness(answer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code in _codes(answer, solution, parts):
            found: list[tuple[float, Change | Several]] = []
            try:
                for change in _in_time(changes(code.tree, code.borrowed), TRIES, end):
                    near = _nearness(code, nearness)
                    if near == 1:
                        return f"One change makes it right: {change.said(code.tree.body[0])}."
                    if near > before:
                        found.append((near, change))
                found.sort(key=lambda pair: -pair[0])
                if said := _second([change for _, change in found[:FIRST]], code, nearness, end):
                    return said
            finally:
                code.undo()
    return None


def _in_time(found: Generator[Any, None, None], tries: int, end: tuple[float, float]) -> Any:
    """The first of what is found, before the end of computing or of the clock."""
    with contextlib.closing(found):
        for one in itertools.islice(found, tries):
            yield one
            if time.thread_time() > end[0] or time.monotonic() > end[1]:
                return


def _second(
    firsts: list[Change | Several], code: Code, nearness: Callable[[Any], float], end: Any
) -> str | None:
    """One of these changes together with another, in a sentence."""
    top = code.tree.body[0]
    lines = lines_of(top)
    for said, other in _in_time(_pairs(firsts, code), FOR_TWO, end):
        if _nearness(code, nearness) == 1:
            return f"Two changes make it right: {_both(lines, top, said, other)}."
    return None


def _pairs(firsts: list[Change | Several], code: Code) -> Generator[Any, None, None]:
    """Each of these changes in words, and another, while the tree has both."""
    for first in firsts:
        first.apply()
        try:
            _move(first)
            said = first.said(code.tree.body[0])
            yield from ((said, other) for other in quick_changes(code.tree, code.borrowed))
        finally:
            first.undo()


def _nearness(code: Code, nearness: Callable[[Any], float]) -> float:
    try:
        return nearness(code.run(compile(code.tree, "<changed>", "exec")))
    except Exception:  # the code may be anything
        return -1.0


def _both(lines: dict[int, str], top: ast.stmt, first: str, second: Change | Several) -> str:
    """Two changes in words, while the tree has them; ``lines`` are those before."""
    after = lines_of(top)
    apart = [n for n in lines if lines[n] != after.get(n)]
    if len(apart) == 1 and lines.keys() == after.keys() and isinstance(top, ast.FunctionDef):
        (n,) = apart
        return f"in line {n}, `{after[n]}` in place of `{lines[n]}`"
    return f"{first}; and {second.said(top)}"


def _move(change: Change | Several) -> None:
    """Give new code the number of the line in which it is."""
    for part in change.changes if isinstance(change, Several) else [change]:
        nodes: list[Any] = [*ast.walk(part.new)] if part.new else []
        for node in nodes:
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = part.old.lineno


def _codes(answer: Callable[..., Any], solution: str, parts: Collection[str]) -> Iterator[Code]:
    """What can be changed: the function, or each of a step's parts."""
    if isinstance(answer, Using):
        yield from _of_step(answer, parts or answer.step.parts)
        return
    try:
        source = source_of(answer)
        space = {**answer.__globals__, POWER: power}
    except (ValueError, AttributeError):  # no source, no function
        return
    space = {"math": math, "torch": torch, "nn": nn, "F": F, **space}

    def run(definition: CodeType) -> Any:
        exec(definition, space)
        return space[answer.__name__]

    if tree := _tree(source):
        yield Code(tree, borrowed(solution), run, lambda: None)


def _of_step(answer: Using, parts: Collection[str]) -> Iterator[Code]:
    space = vars(answer.mine)
    space[POWER] = power
    books = definitions(answer.step.solution)
    own: dict[str, str] = {}
    for file in vars(answer.mine)["__files__"]:
        own |= definitions("".join(linecache.getlines(file)))

    def run(definition: CodeType) -> Using:
        exec(definition, space)
        return answer

    for name in parts:
        is_books = ast.dump(ast.parse(own[name])) == ast.dump(ast.parse(books[name]))
        if name not in answer.left and not is_books and (tree := _tree(own[name])):
            yield Code(tree, borrowed(books[name]), run, partial(space.update, {name: space[name]}))


def _tree(source: str) -> ast.Module | None:
    tree = parsed(source)
    outside = OUTSIDE & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return None if outside else tree


def power(base: Any, exponent: Any) -> Any:
    """A power. Raises OverflowError for one of whole numbers with thousands of digits."""
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * exponent > 10_000:
        raise OverflowError("a power that is too large")
    return base**exponent
