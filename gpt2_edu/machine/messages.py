"""Parts of error messages: values and names made short, and safe for a terminal."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 80
_short.maxlevel = 3


def short_repr(value: object) -> str:
    """The repr of a value for a message: short, and all of it printable."""
    try:
        return _short.repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits
        return f"a {type(value).__name__} too long to show"


def escape_control(text: str) -> str:
    """A text for a terminal, with control characters written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def join_some(items: Iterable[object], most: int = 8, separator: str = ", ") -> str:
    """The first items as text, and how many more there are."""
    items = list(items)
    more = [f"and {len(items) - most:,} more"] if len(items) > most else []
    return separator.join([*(escape_control(str(item))[:200] for item in items[:most]), *more])


def closest(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names that are spelled most like another, upper and lower case alike."""
    folded = {other.lower(): other for other in reversed(list(known))}
    return [folded[c] for c in difflib.get_close_matches(name.lower(), folded, most, cutoff)]


def did_you_mean(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """The known names closest to a mistyped one, as a question and a space; "" if none is close."""
    close = closest(name, known, most, cutoff)
    return f"Did you mean {' or '.join(map(repr, close))}? " if close else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """All known names, and the one closest to a mistyped one."""
    known = list(known)
    return f"Known: {', '.join(known)}. {did_you_mean(name, known)}".rstrip()


def changes(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """What differs between two groups of settings: ["seed was 0, is now 7"], sorted by name."""
    return [
        f"{name} was {before.get(name)!r}, is now {now.get(name)!r}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]
