"""In a notebook, an error as a sentence and the line of the cell, instead of frames of code.

``%tb`` shows the frames. Nothing is swallowed: the cell still fails, and so does what runs all
cells. Errors that are not understood here are shown as IPython shows them.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import traceback
from types import FrameType, TracebackType
from typing import Any

from .messages import did_you_mean

KNOWN = (NameError, AssertionError, RuntimeError, ValueError, TypeError, LookupError, OSError)
FRAMES = "(%tb shows where it comes from.)"


def explain(error: BaseException, line: str, space: dict[str, Any], cells: list[str]) -> str:
    """What to tell a reader about an error in a line of a cell; empty where nothing is known.

    space: the names that the cells have made. cells: the text of the cells that were run.
    """
    message = str(error).strip()
    if isinstance(error, NameError):
        name = getattr(error, "name", None) or (re.findall(r"'(\w+)'", message) or [""])[0]
        return _unknown_name(name, message, space, cells)
    if isinstance(error, AssertionError):
        why = f" It says: {message}" if message else ""
        return (
            "This line checks one of the book's numbers, and it no longer holds: something above "
            f"was changed, or has not been run.{why}\nIf you changed it on purpose, that is fine: "
            "go on with the next cell. Else run the cells from the top."
        )
    if isinstance(error, RuntimeError) and type(error) is RuntimeError and "Error" not in message:
        shapes = _shapes(line, space)
        return message.splitlines()[0] + (f"\nThe shapes there: {shapes}." if shapes else "")
    if type(error) in (ValueError, TypeError, FileNotFoundError, IndexError, KeyError) and message:
        return f"{type(error).__name__}: {message}"
    return ""


def _unknown_name(name: str, message: str, space: dict[str, Any], cells: list[str]) -> str:
    told = f"{message[:1].upper()}{message[1:]}. {did_you_mean(name, space, cutoff=0.8)}".rstrip()
    if any(name in _names_made(cell) for cell in cells):
        return f"{told} A cell that was run makes it, but stopped before: run that cell again."
    return (
        f"{told} If a cell above makes it, that cell has not been run yet: run the cells from the "
        "top (in the menu: Run, Run All Above Selected Cell; on Colab: Runtime, Run before)."
    )


def _names_made(cell: str) -> set[str]:
    """The names that a cell gives to something, if it runs to its end."""
    try:
        tree = ast.parse(cell)
    except SyntaxError:  # a magic command: the name can only be looked for
        return set(re.findall(r"^([A-Za-z_]\w*) *=(?!=)", cell, re.M))
    made = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
    return made


def _shapes(line: str, space: dict[str, Any]) -> str:
    """The shapes of the tensors that a line names."""
    try:
        tree = ast.parse(line.strip())
    except SyntaxError:
        names = re.findall(r"\b[A-Za-z_]\w*", line)
    else:
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    tensors = {name: space[name] for name in names if hasattr(space.get(name), "shape")}
    return " · ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())


def install(shell: Any) -> None:
    """Let this IPython shell show errors so."""
    shell.set_custom_exc(KNOWN, _show)


def _show(
    shell: Any, kind: type, error: BaseException, trace: TracebackType, tb_offset: Any = None
) -> list[str] | None:
    """IPython's hook: show the error; returns the lines that were shown."""
    try:
        places = _in_cells(trace)
        frame, line = places[-1][0], places[-1][2]
        space = frame.f_globals | frame.f_locals
        told = explain(error, line, space, list(shell.user_ns.get("In", [])))
    except Exception:  # this is a comfort: it must not hide the error that it explains
        told = ""
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace  # for %tb
    if not told:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
    else:
        lines = [told, *_where(places), FRAMES]
    shell._showtraceback(kind, error, lines)
    return list(lines)


def _in_cells(trace: TracebackType | None) -> list[tuple[FrameType, int, str]]:
    """The frames whose code stands in cells, the innermost last, each with its line."""
    return [
        (frame, number, linecache.getline(frame.f_code.co_filename, number).strip())
        for frame, number in traceback.walk_tb(trace)
        if frame.f_globals.get("__name__") == "__main__"
    ]


def _where(places: list[tuple[FrameType, int, str]]) -> list[str]:
    """The line of this cell, and the line of an earlier one whose function it called."""

    def cell(place: tuple[FrameType, int, str]) -> str:
        return place[0].f_code.co_filename

    here = [place for place in places if cell(place) == cell(places[0])][-1]
    said = [f"Line {here[1]} of the cell: {here[2]}"]
    if cell(places[-1]) != cell(here):
        said.append(f"It calls a function of an earlier cell, whose line is: {places[-1][2]}")
    return said
