"""What comes from outside: files that others made, names, answers of servers.

It is read here, and shown here: a file may be cut off, huge, of another kind or made to do harm,
and what stands in it may hold signs that a terminal obeys.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LARGEST = 64 << 20  # bytes of a JSON file; ours have kilobytes
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 80
_short.maxlevel = 3


def shown(value: object) -> str:
    """A value for a message: as Python writes it, in plain signs, and not long."""
    try:
        return _short.repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits
        return f"a {type(value).__name__} too long to show"


def printable(text: str) -> str:
    """A text for a terminal: signs that it would obey are written as their escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def listed(items: Iterable[object], most: int = 8, separator: str = ", ") -> str:
    """The first few of many, and how many more there are."""
    items = list(items)
    more = [f"and {len(items) - most:,} more"] if len(items) > most else []
    return separator.join([*(printable(str(item))[:200] for item in items[:most]), *more])


def read_json(path: Path) -> Any:
    """What a JSON file holds.

    Raises OSError if it cannot be read, and ValueError, which names the file, if it is not JSON in
    UTF-8, is nested without end, or larger than ``LARGEST``.
    """
    if (size := path.stat().st_size) > LARGEST:
        raise ValueError(f"{path} is not what its name says: {size:,} bytes are too many")
    return parse_json(path.read_bytes(), str(path))


def parse_json(text: bytes, place: str) -> Any:
    """What a text in JSON holds; ``place`` says in messages where it stands."""
    try:
        return json.loads(text.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError(f"{place} is not valid JSON (nested too deeply)") from error
    except ValueError as error:  # also of bytes that are not UTF-8, and of endless integers
        raise ValueError(f"{place} is not valid JSON ({error}). Was it cut off?") from error
