"""The source of functions and classes: from a text, from a notebook's cell."""

from __future__ import annotations

import ast
import inspect
import linecache
from typing import Any


def definitions(code: str) -> dict[str, str]:
    """The functions and classes at the top level of a text, each with its source."""
    lines, found = code.splitlines(), {}
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[node.name] = "\n".join(lines[first - 1 : node.end_lineno])
    return found


def source_of(thing: Any) -> str:
    """The source of a function or class, also of one that a notebook's cell defines.

    (``inspect.getsource`` finds no class of a notebook before Python 3.13.) Raises ValueError where
    there is none.
    """
    name = getattr(thing, "__name__", None)
    methods = vars(thing).values() if inspect.isclass(thing) else [thing]
    for method in methods:
        code = getattr(inspect.unwrap(method) if callable(method) else None, "__code__", None)
        if code is None:
            continue
        text = "".join(linecache.getlines(code.co_filename))
        if text and name in (found := definitions(text)):
            return found[name]
    raise ValueError(f"the source of {name or thing!r} cannot be found: define it in a cell")
