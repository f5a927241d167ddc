"""What a command is: a function of its options, with examples.

    @command('gpt2-edu greet "A crane"', positional="name")
    def greet(options: GreetOptions) -> None:
        \"\"\"Say hello.\"\"\"

The options are a dataclass whose fields are made by ``machine.options.option``. The command line
takes names, types, defaults and help from these fields: ``n_layer`` becomes ``--n-layer``.
"""

from __future__ import annotations

import argparse
import types
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Run = TypeVar("Run", bound=Callable[[Any], None])


@dataclass(frozen=True)
class Command:
    """A function, the dataclass of its options, and examples for ``--help``."""

    function: Callable[[Any], None]
    options: Any
    examples: tuple[str, ...]
    positional: str  # the field that is given without its name; "" if none is
    make: Callable[..., Any]  # makes the options from those that were given

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").splitlines()[0]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add one argument for each field of the options."""
        hints = get_type_hints(self.options)
        for field in fields(self.options):
            _add_argument(parser, field, hints[field.name], field.name == self.positional)

    def run(self, values: dict[str, Any]) -> None:
        """Call the function with options made from parsed values."""
        given = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        self.function(self.make(**given))


COMMANDS: dict[str, Command] = {}  # those whose files have been imported


def command(
    *examples: str, positional: str = "", make: Callable[..., Any] | None = None
) -> Callable[[Run], Run]:
    """Register a function as the command of its name.

    Its only parameter is annotated with the dataclass of its options, which ``make`` builds from
    the values that were given on the command line (default: the dataclass itself).
    """

    def register(run: Run) -> Run:
        options = next(iter(get_type_hints(run).values()))
        COMMANDS[run.__name__] = Command(run, options, examples, positional, make or options)
        return run

    return register


def _add_argument(
    parser: argparse.ArgumentParser, field: Field[Any], hint: Any, positional: bool
) -> None:
    kind, count = _kind(hint)
    # The dataclass fills in what is not given, so its defaults are not repeated here.
    settings: dict[str, Any] = {"default": argparse.SUPPRESS}
    settings["help"] = field.metadata["help"].replace("%", "%%")
    if field.default not in (MISSING, None, ""):
        shown = ("off", "on")[field.default] if kind is bool else field.default
        settings["help"] += f" (default: {shown})"
    if get_origin(kind) is Literal:
        settings["choices"] = get_args(kind)
    elif kind is bool:
        settings["action"] = argparse.BooleanOptionalAction
    else:
        settings["type"] = kind
    if count:
        settings["nargs"] = count
    if positional:
        if field.default is not MISSING:
            settings["nargs"] = "?"
        parser.add_argument(field.name, **settings)
        return
    if kind is not bool:
        settings["metavar"] = "|".join(settings.get("choices", ())) or None
    required = field.default is MISSING
    parser.add_argument("--" + field.name.replace("_", "-"), required=required, **settings)


def _kind(hint: Any) -> tuple[Any, str | int | None]:
    """The type of one value, and how many of them: (int, None), (str, "+") or (float, 2)."""
    if get_origin(hint) in (Union, types.UnionType):  # X | None
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        return inner[0], "+" if inner[-1] is Ellipsis else len(inner)
    return hint, None
