"""The reader's own GPT-2, which grows chapter by chapter: ``build`` and ``my_gpt2``.

``build("mlp", MLP)`` checks a part and writes it into my_gpt2.py, in the notebook's folder. A
comment above each part names the chapter that asked for it, and says who wrote it:

    # from chapter 7: mlp
    # from chapter 6: heads (the book's answer)

Everything else in the file is the reader's and is kept. The book's parts call ``note`` with the
names of model.py, so that ``trace`` and what uses it work on the reader's model, too; a part
without ``note`` is as right.
"""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from ..machine.files import write_text
from .checking import Report, examine_with, shown_at_work
from .exercise import CHAPTERS, Exercise, find_step, steps
from .source import definitions, source_of, unfinished
from .step import (
    Using,
    book_parts,
    imports_of,
    in_order,
    lacking,
    make_module,
    names_in,
    steps_until,
)

FILE = "my_gpt2.py"  # in the notebook's folder
PREVIOUS = "my_gpt2.previous.py"  # the file before the last change
BOOK = " (the book's answer)"
# With a name that is not a chapter's, the line is an ordinary comment.
MARK = re.compile(rf"^# from chapter \d+: ({'|'.join(CHAPTERS)})( \(the book's answer\))?$", re.M)
HEAD = '"""My own GPT-2, written chapter by chapter."""\n'


def build(name: str, *parts: Any) -> bool:
    """Check a part of the reader's GPT-2, and write it into my_gpt2.py if it is right.

    name: the chapter, as in its file's name. parts: the functions or classes that it asks for.
    Returns whether they are right, and if so prints what they make of the trained model, where the
    chapter has a sentence for it. Missing parts of earlier chapters are filled in with the book's,
    and marked so in the file. Raises ValueError for an unknown chapter, and nothing else, whatever
    the parts do.
    """
    step = find_step(name)
    try:
        sources = _sources(step, parts)
    except ValueError as error:
        print(f"{name}\n  no   {error}.")
        return False
    if _same(sources, definitions(step.start or "")):
        print(f"{name}\n  Not yet: fill in the cell, then run it again.")
        return False
    kept, problem = _read()
    report, mine = _examine(step, sources, kept)
    print(report)
    if problem:
        print(f"  {problem}")
    if report.passed and os.environ.get("GPT2_EDU_BOOK") != "1" and not problem:
        print(_write(step, sources, kept))
    if report.passed and (shown := shown_at_work(step, mine)):
        print(f"  {shown}")
    return report.passed


def my_gpt2(name: str) -> ModuleType:
    """The reader's own GPT-2 with all parts up to a chapter, as a module.

    Parts that are missing in my_gpt2.py are replaced by the book's, which prints their names. With
    GPT2_EDU_BOOK=1 all are the book's. Raises ValueError for an unknown chapter.
    """
    step = find_step(name)
    kept, problem = _read()
    parts, ours = _combine(step, kept)
    if len(ours) < len(parts):
        if ours:
            print(f"From {FILE}, except what the book adds: {', '.join(ours)}.")
        file = "<my_gpt2>" if ours else str(Path(FILE).absolute())
        try:
            return make_module(steps_until(name), {}, file, _text(step, parts, ours))
        except Exception as error:
            problem = f"{FILE} does not run: {_told(error)}."
    if problem:
        print(f"{problem} The book's own parts stand in for all.")
    else:
        count = "Both" if len(parts) == 2 else f"All {len(parts)}"
        print(f"{count} parts are the book's: {FILE} has none of them yet.")
    until = steps_until(name)
    books = [source for _, source in book_parts(name).values()]
    text = "\n\n\n".join(["\n".join(imports_of(until)), *books]) + "\n"
    return make_module(until, {}, text=text)


# ---- Checking


def _sources(step: Exercise, parts: tuple[Any, ...]) -> dict[str, str]:
    """The source of each part. Raises ValueError if they are not what the step asks for."""
    names = [getattr(part, "__name__", repr(part)) for part in parts]
    if sorted(names) != sorted(step.parts):
        wanted = ", ".join(step.parts)
        raise ValueError(
            f"this chapter asks for {wanted}, and got {', '.join(names) or 'nothing'}: "
            f'build("{step.name}", {wanted})'
        )
    return {name: source_of(part) for name, part in zip(names, parts, strict=True)}


def _same(sources: dict[str, str], others: dict[str, str]) -> bool:
    """Whether two answers are equal up to layout and comments."""
    plain = ({k: ast.dump(ast.parse(v)) for k, v in parts.items()} for parts in (sources, others))
    return next(plain) == next(plain)


def _examine(
    step: Exercise, sources: dict[str, str], kept: dict[str, Part]
) -> tuple[Report, ModuleType | None]:
    """Check the new parts together with those in the file. Returns the module of all, too."""
    starts = definitions(step.start or "")
    new = {name: unfinished(source, starts[name]) for name, source in sources.items()}
    kept_parts = {name: part.source for name, part in _combine(step, kept)[0].items()}
    books = definitions(step.solution)
    left = [name for name in new if new[name] != sources[name]]  # unfinished

    def module(parts: dict[str, str]) -> ModuleType:
        return make_module(steps_until(step.name), kept_parts | books | parts)

    try:
        mine = module(new)
    except Exception as error:
        told = f"{_told(error)}{lacking(step, error)}"
        return Report(step.name, (f"no   Defining it stops with {told}.",)), None

    def apart() -> dict[str, Using]:
        several = len(new) > 1 and not left
        if not several:
            return {}
        others = {name: [other for other in new if other != name] for name in new}
        return {n: Using(step, module({n: new[n]}), left=others[n]) for n in new}

    absent = [name for name in left if new[name] == unfinished(starts[name], starts[name])]
    some = {name: new[name] for name in new if name not in absent}
    whole = module(some) if absent and some else None
    report = examine_with(step, Using(step, mine, apart, whole, absent))
    if left and report.passed:
        line = f"Not yet: write {', '.join(left)}, then run the cell again."
        report = replace(report, passed=False, lines=(*report.lines, line))
    return report, mine


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


# ---- The file


@dataclass(frozen=True)
class Part:
    """A part of the file: its step, whether the book wrote it, and its source."""

    step: str
    book: bool
    source: str


def _read() -> tuple[dict[str, Part], str]:
    """The parts in the reader's file, and an error message, empty if the file can be read."""
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return {}, ""
    try:
        text = Path(FILE).read_text(encoding="utf-8-sig")  # editors on Windows write a mark
        ast.parse(text)
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as error:
        return {}, f"{FILE} cannot be read ({error}), and is left as it is."
    except (SyntaxError, ValueError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        return {}, (
            f"{FILE} has an error{line}: {error.args[0]}. It is left as it is; fix it, or give it "
            "another name, and run this cell again."
        )
    _, *pieces = MARK.split(text)
    found: dict[str, Part] = {}
    for name, book, source in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        for part in definitions(source):
            found.setdefault(part, Part(name, bool(book), source.strip("\n")))
    return found, ""


def _combine(step: Exercise, kept: dict[str, Part]) -> tuple[dict[str, Part], list[str]]:
    """The parts of a file up to a step, and the names of those that the book fills in."""
    parts, ours = {}, []
    for name, (giver, source) in book_parts(step.name).items():
        mine = kept.get(name)
        if mine and not mine.book and mine.step in _good_forms(name, step):
            parts[name] = mine
        else:
            parts[name] = Part(giver.name, True, source)
            ours.append(name)
    return parts, ours


def _good_forms(name: str, step: Exercise) -> list[str]:
    """The steps whose version of a part is valid in a file up to ``step``, the newest first.

    An older version is valid until a newer one is needed: by ``step`` itself, or by a later part
    that calls it.
    """
    found: list[str] = []
    called = False
    for before in reversed(steps_until(step.name)):
        called = called or name in names_in(before.solution)
        if name in before.parts:
            found.append(before.name)
            if called or before is step:
                break
    return found


def _text(step: Exercise, parts: dict[str, Part], ours: list[str], head: str = HEAD) -> str:
    """The text of the file: what precedes the first part, the needed imports, the parts."""
    needed = imports_of(steps_until(step.name))
    known = set(imports_of(steps().values()))
    own = "\n".join(line for line in head.split("\n") if line not in known or not line)
    text = "\n".join([own.rstrip("\n"), "", *needed]).strip("\n")
    for name in in_order({name: part.source for name, part in parts.items()}):
        part = parts[name]
        chapter = find_step(part.step).chapter
        mark = f"# from chapter {chapter}: {part.step}{BOOK if name in ours else ''}"
        text += f"\n\n\n{mark}\n{part.source}"
    return re.sub(r"\n{4,}", "\n\n\n", text) + "\n"


def _write(step: Exercise, sources: dict[str, str], kept: dict[str, Part]) -> str:
    """Write the new parts into the file; returns a message for the reader."""
    last = find_step(max([step.name, *(part.step for part in kept.values())], key=_place))
    new = {name: Part(step.name, False, source) for name, source in sources.items()}
    own_later = {
        name: part
        for name, part in kept.items()
        if not part.book and _place(part.step) > _place(step.name)
    }
    parts, ours = _combine(last, kept | new | own_later)
    gone = [name for name, part in new.items() if parts.get(name) is not part]
    later = f"a later chapter has taken the place of {', '.join(gone)}."
    if len(gone) == len(new):
        return f"  {FILE} stays as it is: {later}"
    path = Path(FILE).resolve()  # it may be a link
    try:
        head = HEAD
        if path.is_file():
            old = path.read_text(encoding="utf-8-sig")
            head = MARK.split(old)[0]
            write_text(Path(PREVIOUS), old)
        text = _text(last, parts, ours, head)
        write_text(path, text)
    except OSError as error:
        return f"  (Not written: {FILE} cannot be changed in this folder, {error.strerror}.)"
    told = f"  {FILE}: {count_lines(text)} lines of code, with {', '.join(definitions(text))}."
    told += f" Not written: {later}" if gone else ""
    return told + (f" The book's: {', '.join(ours)}." if ours else "")


def _place(name: str) -> int:
    return len(steps_until(name))


def count_lines(text: str) -> int:
    """The number of lines that are neither empty nor a comment."""
    return sum(not line.strip().startswith("#") for line in text.splitlines() if line.strip())
