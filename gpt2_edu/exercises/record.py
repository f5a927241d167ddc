"""The reader's progress: a JSON file beside the notebook, and a table of it.

For each passed exercise the file stores the time and the source of the function, which later
exercises can use. The site's pages write the same format and add the questions answered there,
which are preserved. Nothing is sent over the network. A file that cannot be read is renamed, never
overwritten.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import time
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from ..machine.display import Exhibit, text_table
from ..machine.files import locked, named_path, read_json, write_text
from ..machine.messages import short_repr
from .exercise import exercises

FILE = "progress.json"  # in the notebook's folder
FORMAT, VERSION = "gpt2-edu progress", 1
_LOCK_TIMEOUT = 60.0  # seconds to wait for the lock while another notebook writes

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

Passed = dict[str, dict[str, Any]]  # name → {"on": time, "source": text or None}
Questions = dict[str, dict[str, Any]]  # id → {"on": time, "first": bool, "right": bool}


class StoredProgress(NamedTuple):
    """The content of a progress file."""

    passed: Passed
    questions: Questions


class Progress(Exhibit):
    """A table of all exercises that shows which ones are done."""

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
    """The table of exercises done according to the progress file in this folder."""
    kept, problem = _read(Path(FILE))
    if problem:
        print(problem)
    return Progress(kept.passed)


def export(path: str | PathLike[str]) -> None:
    """Copy the progress to a file, as a backup or to merge it elsewhere.

    Raises FileNotFoundError if there is no such folder, IsADirectoryError for a folder, and other
    OSErrors if the file cannot be written.
    """
    target = named_path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: name a file in it, such as progress.json")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to")
    kept, problem = _read(Path(FILE))
    write_text(target, _to_json(kept))
    print(f"{problem}\n" if problem else "", f"{len(kept.passed)} exercises: {target}", sep="")


def merge(path: str | PathLike[str]) -> Progress:
    """Merge another progress file into this folder's; the later answer to an exercise wins.

    Answers are code, which ``own`` executes: merge only files that you trust. Raises
    FileNotFoundError, ValueError for a file that is not a progress file, or OSError.
    """
    other = named_path(path)
    if not other.is_file():
        raise FileNotFoundError(f"there is no file {str(other)!r} to merge")
    try:
        theirs = _parse(read_json(other))
    except ValueError as error:
        raise ValueError(f"{other} is no progress file: {error}") from error
    with locked(Path(FILE).parent, wait=_LOCK_TIMEOUT):
        mine, problem = _read(Path(FILE))
        if problem:
            print(problem)
        for own, new in zip(mine, theirs, strict=True):
            for name, entry in new.items():
                if name not in own or entry["on"] > own[name]["on"]:
                    own[name] = {**entry, **_sticky_fields(own.get(name, {}), entry)}
        write_text(Path(FILE), _to_json(mine))
    return Progress(mine.passed)


def _sticky_fields(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Fields that a later entry does not clear: an exercise's source, a question's ``right``."""
    return {key: after[key] or before.get(key) for key in ("source", "right") if key in after}


def mark_passed(name: str, source: str | None) -> str:
    """Record an exercise as passed; return a message for the reader, or an empty string.

    Writes nothing if GPT2_EDU_BOOK=1, so that the book's pages do not depend on progress.
    """
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return ""
    file = Path(FILE)
    try:
        with locked(file.parent, wait=_LOCK_TIMEOUT):
            kept, problem = _read(file)
            passed = kept.passed
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            # An answer without source does not replace one with source.
            source = source or passed.get(name, {}).get("source")
            passed[name] = {"on": now, "source": source}
            write_text(file, _to_json(kept))
    except OSError as error:
        return f"  (Not recorded: {FILE} cannot be written in this folder, {error.strerror}.)\n"
    return f"  {problem}\n" if problem else ""


def sources() -> dict[str, str]:
    """The source of each passed function, by exercise name."""
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return {}
    kept, problem = _read(Path(FILE))
    if problem:
        print(problem)
    return {name: entry["source"] for name, entry in kept.passed.items() if entry["source"]}


# ---- The file


def _to_json(kept: StoredProgress) -> str:
    stored = {"format": FORMAT, "version": VERSION, **kept._asdict()}
    return json.dumps(stored, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _parse(stored: Any) -> StoredProgress:
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"it does not say that its format is {FORMAT!r}")
    if stored.get("version") != VERSION:
        raise ValueError(
            f"its version is {short_repr(stored.get('version'))}; this program reads {VERSION}"
        )
    passed: Any = stored.get("passed")
    questions: Any = stored.get("questions", {})
    if not _are_valid(passed, on=str, source=str | None):
        raise ValueError("its list of exercises is damaged")
    if not _are_valid(questions, on=str, first=bool, right=bool):
        raise ValueError("its list of questions is damaged")
    passed = {name: {"source": None} | entry for name, entry in passed.items()}
    return StoredProgress(passed, questions)


def _are_valid(entries: Any, **types: Any) -> bool:
    """Whether entries is a dict of dicts with fields of these types and a valid date ``on``."""
    return isinstance(entries, dict) and all(
        isinstance(entry, dict)
        and all(isinstance(entry.get(name), of) for name, of in types.items())
        and _DATE.match(entry["on"])
        for entry in entries.values()
    )


def _read(file: Path) -> tuple[StoredProgress, str]:
    """The file's content, and a message if it cannot be read (otherwise empty)."""
    try:
        return _parse(read_json(file)), ""
    except FileNotFoundError:
        return StoredProgress({}, {}), ""
    except OSError as error:
        return StoredProgress({}, {}), f"{file} cannot be read: {error.strerror}."
    except ValueError as error:
        aside = file.with_name(f"{file.stem}-damaged-{time.time_ns()}{file.suffix}")
        try:
            os.replace(file, aside)
        except OSError:
            outcome = "It cannot be renamed and is left as it is."
        else:
            outcome = (
                f"It was kept as {aside.name}, and a new file is started; merge(…) adds what a "
                "copy has."
            )
        return StoredProgress({}, {}), f"{file} could not be read ({error}). {outcome}"
