"""Fields of settings that say what they mean: the command line's options are made from them."""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Any


def option(help: str, default: Any = MISSING) -> Any:
    """A dataclass field with its line of help. Without a default it must be given."""
    return field(default=default, metadata={"help": help})
