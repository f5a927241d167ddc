"""The source of functions and classes: from a text, from a notebook's cell."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from typing import Any


def definitions(code: str) -> dict[str, str]:
    """The functions and classes at the top level of a text, each with its source.

    Of two with the same name it is the last.
    """
    lines = code.splitlines()
    return {name: "\n".join(lines[first - 1 : last]) for name, first, last in _places(code)}


def _places(code: str) -> Iterator[tuple[str, int, int]]:
    """Each definition's name, first line (with its decorators) and last."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield node.name, first, node.end_lineno or first


def source_of(thing: Any) -> str:
    """The source of a function or class, also of one that a notebook's cell defines.

    (``inspect.getsource`` finds no class of a notebook before Python 3.13.) Where one text defines
    a name twice, the line of the thing's own code decides. Raises ValueError where there is none.
    """
    name = getattr(thing, "__name__", None)
    methods = vars(thing).values() if inspect.isclass(thing) else [thing]
    for method in methods:
        code = getattr(inspect.unwrap(method) if callable(method) else None, "__code__", None)
        if code is None:
            continue
        text = "".join(linecache.getlines(code.co_filename))
        for found, first, last in _places(text):
            if found == name and first <= code.co_firstlineno <= last:
                return "\n".join(text.splitlines()[first - 1 : last])
    raise ValueError(f"the source of {name or thing!r} cannot be found: define it in a cell")
