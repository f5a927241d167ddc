"""Which exercises are done: one small file beside the notebook, and a table of it.

The file holds, for each exercise that was passed, the time and the source of the function, so
that later exercises can build on it. Nothing leaves the machine. A file that cannot be read is
renamed and never overwritten.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import time
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from ..machine.display import Exhibit, text_table
from ..machine.files import write_text
from .exercise import exercises

FILE = "progress.json"  # in the notebook's folder
FORMAT, VERSION = "gpt2-edu progress", 1
_LOCK_TIMEOUT = 5.0  # seconds; an older lock was left by a process that died

Passed = dict[str, dict[str, Any]]  # name → {"on": time, "source": text or None}


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
    passed, problem = _read(Path(FILE))
    if problem:
        print(problem)
    return Progress(passed)


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
    passed, problem = _read(Path(FILE))
    write_text(target, _text(passed))
    print(f"{problem}\n" if problem else "", f"{len(passed)} exercises: {target}", sep="")


def merge(path: str | PathLike[str]) -> Progress:
    """Add what another progress file holds; of two answers to one exercise the later is kept.

    The answers in it are code, which ``own`` runs: merge files only from people that you trust.
    Raises FileNotFoundError, ValueError for a file that is not a progress file, or OSError.
    """
    other = Path(path).expanduser()
    if not other.is_file():
        raise FileNotFoundError(f"there is no file {str(other)!r} to merge")
    try:
        theirs = _parse(other.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{other} is no progress file: {error}") from error
    with _locked(Path(FILE)):
        mine, problem = _read(Path(FILE))
        if problem:
            print(problem)
        for name, entry in theirs.items():
            if name not in mine or entry["on"] > mine[name]["on"]:
                mine[name] = entry
        write_text(Path(FILE), _text(mine))
    return Progress(mine)


def mark_passed(name: str, source: str | None) -> str:
    """Record an exercise as passed; returns a message for the reader, or an empty string.

    While the book is made nothing is written: its pages do not depend on what is solved.
    """
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return ""
    file = Path(FILE)
    try:
        with _locked(file):
            passed, problem = _read(file)
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            # A right answer that cannot be built on does not replace one that can.
            source = source or passed.get(name, {}).get("source")
            passed[name] = {"on": now, "source": source}
            write_text(file, _text(passed))
    except OSError as error:
        return f"  (Not recorded: {FILE} cannot be written in this folder, {error.strerror}.)\n"
    return f"  {problem}\n" if problem else ""


def sources() -> dict[str, str]:
    """The source of every function that passed, by the exercise's name."""
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return {}
    passed, problem = _read(Path(FILE))
    if problem:
        print(problem)
    return {name: entry["source"] for name, entry in passed.items() if entry["source"]}


# ---- The file


def _text(passed: Passed) -> str:
    stored = {"format": FORMAT, "version": VERSION, "passed": passed}
    return json.dumps(stored, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _parse(text: str) -> Passed:
    stored = json.loads(text)
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}")
    if stored.get("version") != VERSION:
        raise ValueError(f"its version is {stored.get('version')!r}; this program reads {VERSION}")
    passed = stored.get("passed")
    if not isinstance(passed, dict) or not all(
        isinstance(entry, dict)
        and isinstance(entry.get("on"), str)
        and isinstance(entry.get("source"), str | None)
        for entry in passed.values()
    ):
        raise ValueError("its list of exercises is damaged")
    return passed


def _read(file: Path) -> tuple[Passed, str]:
    """What the file holds, and a message if it could not be read."""
    try:
        return _parse(file.read_text(encoding="utf-8")), ""
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"{file} cannot be read: {error.strerror}."
    except ValueError as error:  # JSON and UTF-8 errors are ValueErrors
        aside = file.with_name(f"{file.stem}-damaged-{time.time_ns()}{file.suffix}")
        with contextlib.suppress(OSError):
            os.replace(file, aside)
            return {}, (
                f"{file} could not be read ({error}). It was kept as {aside.name}, and a new file "
                "is started; merge(…) adds what a copy has."
            )
        return {}, f"{file} could not be read ({error}), nor renamed. It is left as it is."


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """One notebook at a time: the other one waits."""
    lock = file.with_name(file.name + ".lock")
    deadline = time.monotonic() + 2 * _LOCK_TIMEOUT
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                stale = time.time() - lock.stat().st_mtime > _LOCK_TIMEOUT
                if stale or time.monotonic() > deadline:
                    lock.unlink(missing_ok=True)
            time.sleep(0.02)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
