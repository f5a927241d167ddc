"""Which exercises are done: one small file beside the notebook, and a table of it.

The file holds, for each exercise that was passed, the time and the source of the function, so
that later exercises can build on it. The site's pages write the same format, and add which of
their questions were answered; these are kept here, and handed on. Nothing leaves the machine. A
file that cannot be read is renamed and never overwritten.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import time
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from ..machine.display import Exhibit, text_table
from ..machine.files import locked, write_text
from ..machine.outside import read_json, shown
from .exercise import exercises

FILE = "progress.json"  # in the notebook's folder
FORMAT, VERSION = "gpt2-edu progress", 1
_PATIENCE = 60.0  # seconds to wait for another notebook that writes

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

Passed = dict[str, dict[str, Any]]  # name → {"on": time, "source": text or None}
Questions = dict[str, dict[str, Any]]  # id → {"on": time, "first": bool, "right": bool}


class Kept(NamedTuple):
    """What a progress file holds."""

    passed: Passed
    questions: Questions


class Progress(Exhibit):
    """All exercises and which of them are done, as a table."""

    def __init__(self, passed: Passed) -> None:
        self.passed = passed

    @classmethod
    def example(cls) -> Progress:
        return cls({"row_by_hand": {"on": "2026-01-01", "source": None}})

    def __repr__(self) -> str:
        lines, chapter = [], 0
        for exercise in exercises().values():
            if not exercise.checked:
                continue
            if exercise.chapter != chapter:
                chapter = exercise.chapter
                lines.append(f"Chapter {chapter}")
            mark = "x" if exercise.name in self.passed else " "
            lines.append(f"  [{mark}] {exercise.title}  check({exercise.name!r}, …)")
        return "\n".join([*lines, self._summary()])

    def html(self) -> str:
        days = {name: f"✓ {entry['on'][:10]}" for name, entry in self.passed.items()}
        rows = (
            (exercise.name, str(exercise.chapter), exercise.title, days.get(exercise.name, ""))
            for exercise in exercises().values()
            if exercise.checked
        )
        return text_table(
            "progress", self._summary(), ("name", "chapter", "exercise", "done"), rows
        )

    def _summary(self) -> str:
        checked = [e.name for e in exercises().values() if e.checked]
        return f"{sum(name in self.passed for name in checked)} of {len(checked)} exercises done"


def progress() -> Progress:
    """The exercises that the progress file in this folder lists as done."""
    kept, problem = _read(Path(FILE))
    if problem:
        print(problem)
    return Progress(kept.passed)


def export(path: str | PathLike[str]) -> None:
    """Copy the progress to a file, to keep it or to merge it elsewhere.

    Raises FileNotFoundError for an unknown folder, IsADirectoryError for a path that is a folder,
    and other OSErrors if it cannot be written there.
    """
    target = Path(path).expanduser()
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: name a file in it, such as progress.json")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to")
    kept, problem = _read(Path(FILE))
    write_text(target, _text(kept))
    print(f"{problem}\n" if problem else "", f"{len(kept.passed)} exercises: {target}", sep="")


def merge(path: str | PathLike[str]) -> Progress:
    """Add what another progress file holds; of two answers to one exercise the later is kept.

    The answers in it are code, which ``own`` runs: merge files only from people that you trust.
    Raises FileNotFoundError, ValueError for a file that is not a progress file, or OSError.
    """
    other = Path(path).expanduser()
    if not other.is_file():
        raise FileNotFoundError(f"there is no file {str(other)!r} to merge")
    try:
        theirs = _parse(read_json(other))
    except ValueError as error:
        raise ValueError(f"{other} is no progress file: {error}") from error
    with locked(Path(FILE).parent, wait=_PATIENCE):
        mine, problem = _read(Path(FILE))
        if problem:
            print(problem)
        for own, new in zip(mine, theirs, strict=True):
            for name, entry in new.items():
                if name not in own or entry["on"] > own[name]["on"]:
                    own[name] = {**entry, **_lasting(own.get(name, {}), entry)}
        write_text(Path(FILE), _text(mine))
    return Progress(mine.passed)


def _lasting(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What a later entry does not undo: code to build on, and that a question was once right."""
    return {key: after[key] or before.get(key) for key in ("source", "right") if key in after}


def mark_passed(name: str, source: str | None) -> str:
    """Record an exercise as passed; returns a message for the reader, or an empty string.

    While the book is made nothing is written: its pages do not depend on what is solved.
    """
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return ""
    file = Path(FILE)
    try:
        with locked(file.parent, wait=_PATIENCE):
            kept, problem = _read(file)
            passed = kept.passed
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            # A right answer that cannot be built on does not replace one that can.
            source = source or passed.get(name, {}).get("source")
            passed[name] = {"on": now, "source": source}
            write_text(file, _text(kept))
    except OSError as error:
        return f"  (Not recorded: {FILE} cannot be written in this folder, {error.strerror}.)\n"
    return f"  {problem}\n" if problem else ""


def sources() -> dict[str, str]:
    """The source of every function that passed, by the exercise's name."""
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return {}
    kept, problem = _read(Path(FILE))
    if problem:
        print(problem)
    return {name: entry["source"] for name, entry in kept.passed.items() if entry["source"]}


# ---- The file


def _text(kept: Kept) -> str:
    stored = {"format": FORMAT, "version": VERSION, **kept._asdict()}
    return json.dumps(stored, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _parse(stored: Any) -> Kept:
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}")
    if stored.get("version") != VERSION:
        raise ValueError(
            f"its version is {shown(stored.get('version'))}; this program reads {VERSION}"
        )
    passed: Any = stored.get("passed")
    if not _all(passed, on=str, source=str | None):
        raise ValueError("its list of exercises is damaged")
    questions: Any = stored.get("questions", {})
    if not _all(questions, on=str, first=bool, right=bool):
        raise ValueError("its list of questions is damaged")
    return Kept({name: {"source": None} | entry for name, entry in passed.items()}, questions)


def _all(entries: Any, **types: Any) -> bool:
    """Whether it is a table whose entries have fields of these types, and a date."""
    return isinstance(entries, dict) and all(
        isinstance(entry, dict)
        and all(isinstance(entry.get(name), of) for name, of in types.items())
        and _DATE.match(entry["on"])
        for entry in entries.values()
    )


def _read(file: Path) -> tuple[Kept, str]:
    """What the file holds, and a message if it could not be read."""
    try:
        return _parse(read_json(file)), ""
    except FileNotFoundError:
        return Kept({}, {}), ""
    except OSError as error:
        return Kept({}, {}), f"{file} cannot be read: {error.strerror}."
    except ValueError as error:
        aside = file.with_name(f"{file.stem}-damaged-{time.time_ns()}{file.suffix}")
        with contextlib.suppress(OSError):
            os.replace(file, aside)
            return Kept({}, {}), (
                f"{file} could not be read ({error}). It was kept as {aside.name}, and a new file "
                "is started; merge(…) adds what a copy has."
            )
        left = f"{file} could not be read ({error}), nor renamed. It is left as it is."
        return Kept({}, {}), left
