"""Parts that error messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


def did_you_mean(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """The known names closest to a mistyped one, as a question and a space; "" if none is close."""
    close = difflib.get_close_matches(name, list(known), most, cutoff)
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
