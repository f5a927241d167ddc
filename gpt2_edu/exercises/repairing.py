"""Which one change to a wrong answer's own code makes it right."""

from __future__ import annotations

import ast
import linecache
import math
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from .changes import POWER, Change, changes, parsed
from .source import definitions, source_of
from .step import Using

SECONDS = 2.0  # of computing that the search may take
OUTSIDE = {"open", "os", "shutil", "subprocess", "Path", "input", "exec", "eval"}


def repaired(
    answer: Callable[..., Any], is_right: Callable[[Any], bool], parts: Collection[str] = ()
) -> str | None:
    """The change in a sentence, or None. ``is_right`` says whether an answer passes.

    Only these ``parts`` of a step are changed, or all if there are none.
    """
    begun = time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function, change, where in _variants(answer, parts):
            if is_right(function):
                return f"One change makes it right: {change.said(where)}."
            if time.thread_time() - begun > SECONDS:
                return None
    return None


def _variants(
    answer: Callable[..., Any], parts: Collection[str]
) -> Iterator[tuple[Any, Change, ast.AST]]:
    """The answer with each change, and the function in which it is."""
    if isinstance(answer, Using):
        yield from _of_step(answer, parts or answer.step.parts)
        return
    try:
        source = source_of(answer)
        space = {**answer.__globals__, POWER: power}
    except (ValueError, AttributeError):  # no source, no function
        return
    space = {"math": math, "torch": torch, "nn": nn, "F": F, **space}
    for definition, change, where in _changed(source):
        exec(definition, space)
        yield space[answer.__name__], change, where


def _of_step(answer: Using, parts: Collection[str]) -> Iterator[tuple[Any, Change, ast.AST]]:
    """A step with each change to one of its parts."""
    space = vars(answer.mine)
    space[POWER] = power
    books = definitions(answer.step.solution)
    own: dict[str, str] = {}
    for file in vars(answer.mine)["__files__"]:
        own |= definitions("".join(linecache.getlines(file)))
    for name in parts:
        if name in answer.left or ast.dump(ast.parse(own[name])) == ast.dump(
            ast.parse(books[name])
        ):
            continue
        before = space[name]
        try:
            for definition, change, where in _changed(own[name]):
                exec(definition, space)
                yield answer, change, where
        finally:
            space[name] = before


def _changed(source: str) -> Iterator[tuple[Any, Change, ast.AST]]:
    """The compiled definition with each change."""
    tree = parsed(source)
    if OUTSIDE & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
        return
    (where,) = tree.body
    for change in changes(tree):
        try:
            definition = compile(tree, "<changed>", "exec")
        except (SyntaxError, ValueError, TypeError):
            continue
        yield definition, change, where


def power(base: Any, exponent: Any) -> Any:
    """A power. Raises OverflowError for one of whole numbers with thousands of digits."""
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * exponent > 10_000:
        raise OverflowError("a power that is too large")
    return base**exponent
