"""What error messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name closest to a mistyped one, as a question and a space; or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"Did you mean {close[0]!r}? " if close else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """All known names, and the one closest to a mistyped one."""
    known = list(known)
    return f"Known: {', '.join(known)}. {did_you_mean(name, known)}".rstrip()
