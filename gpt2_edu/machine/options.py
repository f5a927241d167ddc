"""Dataclass fields with a help text, from which the command line's options are made."""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, field
from typing import Any, Literal

from .messages import short_repr


def option(help: str, default: Any = MISSING) -> Any:
    """A dataclass field with its line of help. Without a default it must be given."""
    return field(default=default, metadata={"help": help})


def check_type(name: str, value: object, hint: Any) -> None:
    """Raise TypeError for a value of another type, ValueError for one that a Literal lacks."""
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {short_repr(value)}")
        return
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    fits = allowed + (int,) if float in allowed else allowed  # 1 is a float as well
    if not isinstance(value, fits) or (isinstance(value, bool) and bool not in allowed):
        words = " or ".join("None" if kind is types.NoneType else kind.__name__ for kind in allowed)
        raise TypeError(f"{name} must be {words}, got {short_repr(value)}")
