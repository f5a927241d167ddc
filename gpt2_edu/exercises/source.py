"""The source code of functions and classes, in a text or in a notebook's cell."""

from __future__ import annotations

import ast
import inspect
import linecache
from functools import lru_cache
from typing import Any


def definitions(code: str) -> dict[str, str]:
    """The source of each function and class at the top level of ``code``, by name.

    If a name is defined twice, the last definition counts.
    """
    lines = code.splitlines()
    return {name: "\n".join(lines[first - 1 : last]) for name, first, last in _places(code)}


@lru_cache(maxsize=256)
def _places(code: str) -> list[tuple[str, int, int]]:
    """The name, the first line (decorators included) and the last line of each definition."""
    return [
        (
            node.name,
            min([node.lineno, *(d.lineno for d in node.decorator_list)]),
            node.end_lineno or 0,
        )
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


NOT_WRITTEN = "not written: "  # begins the message of what an unfinished part raises


def unfinished(source: str, start: str) -> str:
    """A part's source, where each function that is as in ``start``, or empty, raises when called.

    Its message is NOT_WRITTEN and the part's name, or "Head.forward" if only that is unfinished.
    """
    tree, given = ast.parse(source), _functions(ast.parse(start))
    left = {
        name: function
        for name, function in _functions(tree).items()
        if name in given
        and any(ast.unparse(node) == "..." for node in ast.walk(given[name]))
        and (ast.unparse(function) == ast.unparse(given[name]) or _does_nothing(function))
    }
    for name, function in left.items():
        said = name.split(".")[0] if len(left) == len(given) else name
        function.body = ast.parse(f"raise NotImplementedError({NOT_WRITTEN + said!r})").body
    return ast.unparse(tree) if left else source


def _does_nothing(function: ast.FunctionDef) -> bool:
    """Whether a function has no code of the reader's: a docstring, `pass`, `super().__init__()`."""
    empty = "pass", "...", "super().__init__()"
    return all(
        ast.unparse(line) in empty
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
        for line in function.body
    )


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """A part's functions by name: "attention", or "Head.__init__" and "Head.forward"."""
    (part,) = tree.body
    if isinstance(part, ast.FunctionDef):
        return {part.name: part}
    assert isinstance(part, ast.ClassDef)
    methods = [node for node in part.body if isinstance(node, ast.FunctionDef)]
    return {f"{part.name}.{method.name}": method for method in methods}


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
    if inspect.isclass(thing) and thing.__module__ == "__main__":  # it has no method of its own
        for entry in reversed(list(linecache.cache.values())):
            text = "".join(entry[2]) if len(entry) > 1 else ""
            if f"class {name}" in text and name in (of_cell := definitions(text)):
                return of_cell[name]
    raise ValueError(f"the source of {name or thing!r} cannot be found: define it in a cell")
