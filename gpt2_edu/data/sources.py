"""Sources of text: files, folders, JSONL and named datasets, read piece by piece."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..crane import story
from ..machine.messages import escape_control, join_some, short_repr

BLOCK_BYTES = 1 << 20  # read at a time from a text file
LONGEST_LINE = 1 << 28  # bytes of a JSONL line, all of which is in memory
LONGEST_WORD = 1 << 20  # characters without a space; a longer run is cut, at the cost of a token
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
    else is text. Raises FileNotFoundError for a missing source and
    ValueError for one that is empty or cannot be read.
    """
    found = []
    for name in names:
        if name.startswith(DATASET):
            found.append(_dataset_source(name, options))
        elif name.startswith(CRANE):
            found.append(_crane_source(name))
        else:
            found += [_file_source(path, options) for path in _files(Path(name).expanduser())]
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
    if not files:
        raise ValueError(f"the folder {path} holds no files")
    return sorted(files, key=lambda file: file.relative_to(path).as_posix())


def _file_source(path: Path, options: ReadOptions) -> Source:
    size = path.stat().st_size
    if size == 0:
        raise ValueError(f"{path} is empty: remove it, or leave it out of the sources")
    if path.suffix.lower() == ".parquet":
        raise ValueError(
            f"{path} is Parquet: name its folder as {DATASET}{path.parent}, which Hugging Face's "
            "datasets reads, or save it as JSONL"
        )
    is_jsonl = path.suffix.lower() in (".jsonl", ".ndjson", ".json")
    return Source(size, partial(_read_jsonl if is_jsonl else _read_text, path, options))


def _read_text(path: Path, options: ReadOptions) -> Iterator[Piece]:
    """One document. A byte order mark at its start is dropped, line ends stay as they are."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(options.errors)
    starts_document, text, block = True, "", b" "
    with path.open("rb") as file:
        while block:
            block = file.read(BLOCK_BYTES)
            if b"\0" in block:
                raise _binary(path, file.tell() - len(block) + block.index(b"\0"))
            try:
                text += decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise _not_utf8(path, file.tell() - len(error.object) + error.start) from error
            cut = last_cut(text) if block else len(text)
            if not cut and len(text) >= LONGEST_WORD:
                cut = len(text)
            if cut:
                yield Piece(text[:cut], starts_document, cut)
                starts_document, text = False, text[cut:]


def last_cut(text: str) -> int:
    """The last place where a text can be cut without changing its tokens: 0 if there is none.

    GPT-2's pattern has no match in which white space follows another character, and no lookbehind.
    So the ids of "one" and of " two" together are those of "one two".
    """
    match = re.search(r"[ \n]\S", text[::-1])
    return len(text) - 1 - match.start() if match else 0


def _read_jsonl(path: Path, options: ReadOptions) -> Iterator[Piece]:
    """One document a line; blank lines and empty texts are left out."""
    with path.open("rb") as file:
        progress = 0
        for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), start=1):
            if len(line) == LONGEST_LINE:
                raise ValueError(f"{path}:{number} is longer than {LONGEST_LINE:,} bytes: no JSONL")
            if b"\0" in line:
                raise _binary(path, file.tell() - len(line) + line.index(b"\0"))
            progress += len(line)
            if text := _json_text(line, f"{path}:{number}", options):
                yield Piece(text, True, progress)
                progress = 0


def _json_text(line: bytes, place: str, options: ReadOptions) -> str:
    try:
        decoded = line.decode("utf-8-sig", options.errors).strip()
    except UnicodeDecodeError as error:
        raise _not_utf8(place, error.start) from error
    if not decoded:
        return ""
    try:
        entry = json.loads(decoded)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{place} is not JSON ({escape_control(str(error))}). Each line must be an object "
            f"such as "
            f'{{"{options.text_field}": "Once upon a time"}}; it begins {decoded[:40]!r}.'
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
    try:
        value.encode()
    except UnicodeEncodeError as error:
        if options.errors == "strict":
            raise ValueError(
                f"{place} holds an unpaired surrogate at character {error.start}, which is not "
                "text. To put � in its place use errors='replace'."
            ) from error
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _dataset_source(name: str, options: ReadOptions) -> Source:
    """A dataset for Hugging Face's library: on the hub, a folder of data, or one saved to disk."""
    try:
        import datasets
    except ImportError as error:
        raise ValueError(f"to read {name} install datasets: pip install datasets") from error
    path, settings, split = (name.removeprefix(DATASET).split(":") + ["", ""])[:3]
    split = split or "train"
    folder = Path(path).expanduser()
    try:
        if (folder / "dataset_dict.json").is_file():
            data = datasets.load_from_disk(str(folder))[split]
        elif (folder / "dataset_info.json").is_file() and (folder / "state.json").is_file():
            data = datasets.load_from_disk(str(folder))
        else:
            place = str(folder) if folder.is_dir() else path
            data = datasets.load_dataset(place, settings or None, split=split)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{name}: the dataset cannot be opened ({error}). The form is "
            f"{DATASET}NAME[:CONFIG[:SPLIT]]: NAME is a dataset of the hub or a local folder, "
            "SPLIT is train by default."
        ) from error
    if options.text_field not in data.column_names:
        raise _missing("column", options.text_field, name, data.column_names)
    return Source(data.num_rows, partial(_read_dataset, name, data, options))


def _read_dataset(name: str, data: Any, options: ReadOptions) -> Iterator[Piece]:
    row = 0
    for batch in data.select_columns([options.text_field]).iter(batch_size=256):
        for value in batch[options.text_field]:
            row += 1
            if text := _text(value, f"{name}, row {row}", options):
                yield Piece(text, True, 1)


def _crane_source(name: str) -> Source:
    """Stories of Crane World: seeds 0 … COUNT - 1."""
    count = name.removeprefix(CRANE)
    if not count.isdecimal() or int(count) < 1:
        raise ValueError(f"{name}: the form is {CRANE}COUNT, such as {CRANE}100000 stories")
    seeds = range(int(count))
    return Source(len(seeds), lambda: (Piece(story(seed), True, 1) for seed in seeds))


def _missing(kind: str, name: str, place: Path | str, known: Iterable[str]) -> ValueError:
    return ValueError(
        f"{place} has no {kind} {name!r}. It has: {join_some(known) or 'none'}. Name the {kind} "
        "that holds the text with text_field."
    )


def _binary(path: Path, offset: int) -> ValueError:
    return ValueError(
        f"{path} is not text: byte {offset} is NUL. Pictures, archives and UTF-16 look like this. "
        "Leave the file out, unpack it, or save it as UTF-8."
    )


def _not_utf8(place: Path | str, offset: int) -> ValueError:
    return ValueError(
        f"{place} is not UTF-8: byte {offset} begins no valid character. Convert it to UTF-8, or "
        "put � in place of such bytes with errors='replace'."
    )
