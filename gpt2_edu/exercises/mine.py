"""The reader's own GPT-2, which grows chapter by chapter: ``build`` and ``my_gpt2``.

``build("mlp", MLP)`` checks a part and writes it into my_gpt2.py, beside the notebook. Each part in
that file stands under a line that says from which chapter it is, and who wrote it:

    # from chapter 7: mlp
    # from chapter 6: heads (the book's answer)

Everything else in the file is the reader's, and stays.
"""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..machine.files import write_text
from .checking import Report, examine_with
from .source import definitions, source_of
from .step import (
    CHAPTERS,
    Step,
    Using,
    book_parts,
    find_step,
    imports_of,
    in_order,
    make_module,
    names_in,
    steps,
    steps_until,
)

FILE = "my_gpt2.py"  # in the notebook's folder
PREVIOUS = "my_gpt2.previous.py"  # the file before the last change
BOOK = " (the book's answer)"
# Another chapter's name, written by hand, makes no mark: the line is then a comment.
MARK = re.compile(rf"^# from chapter \d+: ({'|'.join(CHAPTERS)})( \(the book's answer\))?$", re.M)
HEAD = '"""My own GPT-2, written chapter by chapter."""\n'


def build(name: str, *parts: Any) -> bool:
    """Check a part of the reader's GPT-2; if it is right, write it into my_gpt2.py.

    name: the chapter, as in its file's name. parts: the functions or classes that it asks for.
    Returns whether they are right. Parts of earlier chapters that are not in the file are the
    book's, and the file says so. Raises ValueError for an unknown chapter; nothing else, whatever
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
    report = _examine(step, sources, kept)
    print(report)
    if problem:
        print(f"  {problem}")
    if report.passed and os.environ.get("GPT2_EDU_BOOK") != "1" and not problem:
        print(_write(step, sources, kept))
        if step.after:
            print(step.after(my_gpt2(name)))
    return report.passed


def my_gpt2(name: str) -> ModuleType:
    """The reader's own GPT-2 with all parts up to a chapter, as a module.

    Where a part is not in my_gpt2.py the book's stands in; what is printed says which. While the
    book is made, all are the book's. Raises ValueError for an unknown chapter.
    """
    step = find_step(name)
    kept, problem = _read()
    parts, ours = _combine(step, kept)
    if problem:
        print(problem)
    if not problem and not ours:
        text = _text(step, parts, ours)
        try:
            return make_module(steps_until(name), {}, str(Path(FILE).absolute()), text)
        except Exception as error:
            print(f"{FILE} does not run: {_told(error)}. The book's own parts stand in for all.")
    elif len(ours) < len(parts):
        print(f"From {FILE}, except what the book adds: {', '.join(ours)}.")
        try:
            return make_module(steps_until(name), {}, "<my_gpt2>", _text(step, parts, ours))
        except Exception as error:
            print(f"{FILE} does not run: {_told(error)}. The book's own parts stand in for all.")
    else:
        print(f"All {len(parts)} parts are the book's: {FILE} has none of them yet.")
    return make_module(
        steps_until(name), {part: source for part, (_, source) in book_parts(name).items()}
    )


# ---- Checking


def _sources(step: Step, parts: tuple[Any, ...]) -> dict[str, str]:
    """The source of each part. Raises ValueError if they are not those that are asked for."""
    names = [getattr(part, "__name__", repr(part)) for part in parts]
    if sorted(names) != sorted(step.defines):
        wanted = ", ".join(step.defines)
        raise ValueError(
            f"this chapter asks for {wanted}, and got {', '.join(names) or 'nothing'}: "
            f'build("{step.name}", {wanted})'
        )
    return {name: source_of(part) for name, part in zip(names, parts, strict=True)}


def _same(sources: dict[str, str], others: dict[str, str]) -> bool:
    """Whether two answers differ in layout and comments at most."""
    return {name: ast.dump(ast.parse(text)) for name, text in sources.items()} == {
        name: ast.dump(ast.parse(text)) for name, text in others.items()
    }


def _examine(step: Step, sources: dict[str, str], kept: dict[str, Part]) -> Report:
    """Check the new parts on top of those that are there."""
    parts = {name: part.source for name, part in _combine(step, kept)[0].items()} | sources
    try:
        mine = make_module(steps_until(step.name), parts)
    except Exception as error:
        return Report(step.name, (f"no   Defining it stops with {_told(error)}.",))
    return examine_with(step, Using(step, mine))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


# ---- The file


@dataclass(frozen=True)
class Part:
    """A part of the file: from which step, whether it is the book's, and its text."""

    step: str
    book: bool
    source: str


def _read() -> tuple[dict[str, Part], str]:
    """The parts of the reader's file, and what is wrong with the file."""
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return {}, ""
    try:
        text = Path(FILE).read_text(encoding="utf-8")
        ast.parse(text)
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as error:
        return {}, f"{FILE} cannot be read ({error}), and is left as it is."
    except (SyntaxError, ValueError) as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        return {}, (
            f"{FILE} has an error{line}: {error.args[0]}. It is left as it is; mend it, or give it "
            "another name, and run this cell again."
        )
    _, *pieces = MARK.split(text)
    found: dict[str, Part] = {}
    for name, book, source in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        for part in definitions(source):
            found.setdefault(part, Part(name, bool(book), source.strip("\n")))
    return found, ""


def _combine(step: Step, kept: dict[str, Part]) -> tuple[dict[str, Part], list[str]]:
    """What stands in the file up to a step, and which of it is the book's."""
    parts, ours = {}, []
    for name, (giver, source) in book_parts(step.name).items():
        mine = kept.get(name)
        if mine and not mine.book and mine.step in _good_forms(name, step):
            parts[name] = mine
        else:
            parts[name] = Part(giver.name, True, source)
            ours.append(name)
    return parts, ours


def _good_forms(name: str, step: Step) -> list[str]:
    """The steps whose form of a part does in a file up to ``step``, the newest first.

    An older form is good as long as nothing asks for a newer one: neither ``step`` itself, nor
    what came after the newer one and calls it.
    """
    found: list[str] = []
    called = False
    for before in reversed(steps_until(step.name)):
        called = called or name in names_in(before.solution)
        if name in before.defines:
            found.append(before.name)
            if called or before is step:
                break
    return found


def _text(step: Step, parts: dict[str, Part], ours: list[str], head: str = HEAD) -> str:
    """The file: what stands before the first part, the imports that are needed, the parts."""
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


def _write(step: Step, sources: dict[str, str], kept: dict[str, Part]) -> str:
    """Put the new parts into the file; returns what to tell the reader."""
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
    path = Path(FILE)
    try:
        head = HEAD
        if path.is_file():
            old = path.read_text(encoding="utf-8")
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
    """Lines of code: neither empty, nor a comment, nor of a docstring."""
    tree, skipped = ast.parse(text), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            doc = node.body[0]
            skipped |= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in skipped
        for number, line in enumerate(text.splitlines(), 1)
    )
