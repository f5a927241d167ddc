"""The source code of functions and classes, in a text or in a notebook's cell."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from typing import Any


def definitions(code: str) -> dict[str, str]:
    """The source of each function and class at the top level of ``code``, by name.

    If a name is defined twice, the last definition counts.
    """
    lines = code.splitlines()
    return {name: "\n".join(lines[first - 1 : last]) for name, first, last in _places(code)}


def _places(code: str) -> Iterator[tuple[str, int, int]]:
    """The name, the first line (decorators included) and the last line of each definition."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield node.name, first, node.end_lineno or first


def source_of(thing: Any) -> str:
    """The source of a function or class, also if it was defined in a notebook's cell.

    (Before Python 3.13 ``inspect.getsource`` does not find a notebook's classes.) If a cell defines
    a name twice, the line numbers of the code tell which is meant. Raises ValueError if the source
    is not found.
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
