"""In a notebook, an error as a sentence and the line of the cell, instead of a traceback.

``%tb`` shows the traceback. The cell still fails, and so does what runs all cells. Errors that are
not understood here are shown as IPython shows them.
"""

from __future__ import annotations

import linecache
import re
import symtable
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
        said = f"{message[:1].upper()}{message[1:]}. "
        said += did_you_mean(error.name or "", space, cutoff=0.8)
        if any(_makes(cell, error.name or "") for cell in cells):
            return f"{said}A cell that was run makes it, but stopped before: run that cell again."
        return (
            f"{said}If a cell above makes it, that cell has not been run yet: run the cells from "
            "the top (in the menu: Run, Run All Above Selected Cell; on Colab: Runtime, "
            "Run before)."
        )
    if isinstance(error, AssertionError):
        why = f" It says: {message}" if message else ""
        return (
            "This line checks one of the book's numbers, and it no longer holds: something above "
            f"was changed, or has not been run.{why}\nIf you changed it on purpose, that is fine: "
            "go on with the next cell. Else run the cells from the top."
        )
    if type(error) is RuntimeError and message and "Error" not in message:
        names = dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*", line))
        shaped = [name for name in names if hasattr(space.get(name), "shape")]
        shapes = " · ".join(f"{name} {tuple(space[name].shape)}" for name in shaped)
        return message.splitlines()[0] + (f"\nThe shapes there: {shapes}." if shapes else "")
    if type(error) in (ValueError, TypeError, FileNotFoundError, IndexError, KeyError) and message:
        return f"{type(error).__name__}: {message}"
    return ""


def _makes(cell: str, name: str) -> bool:
    """Whether a cell gives something this name, if it runs to its end."""
    try:
        return symtable.symtable(cell, "cell", "exec").lookup(name).is_assigned()
    except (KeyError, SyntaxError):  # a magic command is no Python
        return False


def install(shell: Any) -> None:
    """Let this IPython shell show errors so."""
    shell.set_custom_exc(KNOWN, _show)


def _show(
    shell: Any, kind: type, error: BaseException, trace: TracebackType, tb_offset: Any = None
) -> list[str] | None:
    """IPython's hook: show the error; returns the lines that were shown."""
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace  # for %tb
    try:
        frames = [
            (frame, number)
            for frame, number in traceback.walk_tb(trace)
            if frame.f_globals.get("__name__") == "__main__"
        ]
        frame = frames[-1][0]
        space = frame.f_globals | frame.f_locals
        said = explain(error, _line(frames[-1]), space, list(shell.user_ns.get("In", [])))
        lines = [said, *_where(frames), FRAMES] if said else []
    except Exception:  # this is a comfort: it must not hide the error that it explains
        lines = []
    if not lines:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
    shell._showtraceback(kind, error, lines)
    return list(lines)


def _line(place: tuple[FrameType, int]) -> str:
    return linecache.getline(place[0].f_code.co_filename, place[1]).strip()


def _where(frames: list[tuple[FrameType, int]]) -> list[str]:
    """The line of this cell, and the line of an earlier one whose function it called."""
    cells = [frame.f_code.co_filename for frame, _ in frames]
    here = frames[max(i for i, cell in enumerate(cells) if cell == cells[0])]
    said = [f"Line {here[1]} of the cell: {_line(here)}"]
    if cells[-1] != cells[0]:
        said.append(f"It calls a function of an earlier cell, whose line is: {_line(frames[-1])}")
    return said
