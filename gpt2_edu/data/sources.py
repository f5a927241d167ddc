"""Sources of text: files, folders, JSONL and named datasets, read piece by piece."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ..crane import story
from ..machine.files import named_path
from ..machine.messages import escape_control, join_some, short_repr

BLOCK = 1 << 16  # characters read at a time from a text file
DATASET = "dataset:"
CRANE = "crane:"


class ReadOptions(NamedTuple):
    """How text is read from a source."""

    text_field: str  # the field or column that holds it
    errors: str  # for bytes that are not UTF-8: "strict" or "replace"


class Piece(NamedTuple):
    """Text that can be encoded on its own."""

    text: str
    starts_document: bool
    progress: int  # the share of its source's size, for the progress bar


class Source(NamedTuple):
    """One file or dataset."""

    size: int  # about the sum of its pieces' progress
    pieces: Callable[[], Iterator[Piece]]


def find_sources(names: Iterable[str], options: ReadOptions) -> list[Source]:
    """Every file and dataset, in the order in which they are read: as named, folders sorted.

    In folders, names that begin with a dot are skipped. .jsonl, .ndjson and .json are JSONL, all
    else is text. Raises FileNotFoundError for a missing source and ValueError for one that cannot
    be read.
    """
    found = []
    for name in names:
        if name.startswith(DATASET):
            found.append(_dataset_source(name, options))
        elif name.startswith(CRANE):
            found.append(_crane_source(name))
        else:
            found += [_file_source(path, options) for path in _files(named_path(name))]
    return found


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(
            f"there is no file or folder {str(path)!r}. Give the path of a text file, a folder, a "
            f".jsonl file, or {DATASET}NAME for a named dataset."
        )
    files = [
        file
        for file in path.rglob("*")
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]
    return sorted(files, key=lambda file: file.relative_to(path).as_posix())


def _file_source(path: Path, options: ReadOptions) -> Source:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        raise ValueError(
            f"{path} is Parquet: name its folder as {DATASET}{path.parent}, which Hugging Face's "
            "datasets reads, or save it as JSONL"
        )
    read = _read_jsonl if suffix in (".jsonl", ".ndjson", ".json") else _read_text
    return Source(path.stat().st_size, partial(read, path, options))


@contextmanager
def _open_text(path: Path, options: ReadOptions) -> Iterator[TextIO]:
    """A file as UTF-8, or as UTF-16 if its byte order mark says so. Line ends stay as they are."""
    with path.open("rb") as raw:
        marked = raw.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    kind, encoding = ("UTF-16", "utf-16") if marked else ("UTF-8", "utf-8-sig")  # without the mark
    try:
        with path.open(encoding=encoding, errors=options.errors, newline="\n") as file:
            yield file
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not {kind}. If it is text, convert it, or put � in place of bytes that are "
            f"not {kind} with errors='replace'."
        ) from error


def _read_text(path: Path, options: ReadOptions) -> Iterator[Piece]:
    """One document."""
    starts_document, rest = True, ""
    with _open_text(path, options) as file:
        while block := file.read(BLOCK):
            if "\0" in block:
                raise ValueError(
                    f"{path} is not text: it has a NUL character, as pictures and archives have, "
                    "and UTF-16 without a byte order mark. Leave the file out, unpack it, or save "
                    "it as UTF-8."
                )
            text = rest + block
            cut = last_cut(text) or len(text)
            yield Piece(text[:cut], starts_document, cut)
            starts_document, rest = False, text[cut:]
    if rest:
        yield Piece(rest, False, len(rest))


def last_cut(text: str) -> int:
    """The last place where a text can be cut without changing its tokens: 0 if there is none.

    GPT-2's pattern has no match in which white space follows another character, and no lookbehind.
    So the ids of "one" and of " two" together are those of "one two".
    """
    match = re.search(r"[ \n]\S", text[::-1])
    return len(text) - 1 - match.start() if match else 0


def in_parts(text: str, longest: int) -> Iterator[str]:
    """A text in parts of at most so many characters, each cut at its ``last_cut`` if it has one."""
    start = 0
    while len(text) - start > longest:
        part = text[start : start + longest]
        cut = last_cut(part) or longest
        yield part[:cut]
        start += cut
    yield text[start:]


def _read_jsonl(path: Path, options: ReadOptions) -> Iterator[Piece]:
    """One document a line; blank lines and empty texts are left out."""
    with _open_text(path, options) as file:
        for number, line in enumerate(file, start=1):
            if line.strip() and (text := _json_text(line, f"{path}:{number}", options)):
                yield Piece(text, True, len(line))


def _json_text(line: str, place: str, options: ReadOptions) -> str:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{place} is not JSON ({escape_control(str(error))}). Each line must be an object such "
            f'as {{"{options.text_field}": "Once upon a time"}}; it begins {line[:40]!r}.'
        ) from error
    if not isinstance(entry, dict):
        raise ValueError(f"{place} is a JSON {type(entry).__name__}, not an object with fields")
    if options.text_field not in entry:
        raise _missing("field", options.text_field, place, entry)
    return _text(entry[options.text_field], place, options)


def _text(value: object, place: str, options: ReadOptions) -> str:
    """The text of a field: "" for null. JSON can hold unpaired surrogates, which are not text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{place}: {options.text_field!r} is {short_repr(value)}, not a string")
    repaired = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if repaired != value and options.errors == "strict":
        raise ValueError(
            f"{place} holds an unpaired surrogate, which is not text. To put � in its place use "
            "errors='replace'."
        )
    return repaired


def _dataset_source(name: str, options: ReadOptions) -> Source:
    """A dataset for Hugging Face's library: on the hub, or a folder of data."""
    try:
        import datasets
    except ImportError as error:
        raise ValueError(f"to read {name} install datasets: pip install datasets") from error
    path, settings, split = (name.removeprefix(DATASET).split(":") + ["", ""])[:3]
    folder = named_path(path)
    try:
        place = str(folder) if folder.is_dir() else path
        data = datasets.load_dataset(place, settings or None, split=split or "train")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{name}: the dataset cannot be opened ({error}). The form is "
            f"{DATASET}NAME[:CONFIG[:SPLIT]]: NAME is a dataset of the hub or a local folder, "
            "SPLIT is train by default."
        ) from error
    if options.text_field not in data.column_names:
        raise _missing("column", options.text_field, name, data.column_names)
    return Source(data.num_rows, partial(_read_dataset, name, data, options))


def _read_dataset(name: str, data: Any, options: ReadOptions) -> Iterator[Piece]:
    rows = data.select_columns([options.text_field])
    for number, row in enumerate(rows, start=1):
        if text := _text(row[options.text_field], f"{name}, row {number}", options):
            yield Piece(text, True, 1)


def _crane_source(name: str) -> Source:
    """Stories of Crane World: seeds 0 … COUNT - 1."""
    count = name.removeprefix(CRANE)
    if not count.isdecimal() or int(count) < 1:
        raise ValueError(f"{name}: the form is {CRANE}COUNT, such as {CRANE}100000 stories")
    seeds = range(int(count))
    return Source(len(seeds), lambda: (Piece(story(seed), True, 1) for seed in seeds))


def _missing(kind: str, name: str, place: str, known: Iterable[str]) -> ValueError:
    return ValueError(
        f"{place} has no {kind} {name!r}. It has: {join_some(known) or 'none'}. Name the {kind} "
        "that holds the text with text_field."
    )
