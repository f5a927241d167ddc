"""The command line: ``gpt2-edu prepare | train | generate | score | tokenize | inspect | …``.

A command is a line in SUMMARIES and a file of its name with a function of its name:

    @command('gpt2-edu greet "A crane"', positional="name")
    def greet(options: GreetOptions) -> None: ...

Its options are a dataclass whose fields are made by ``machine.options.option``. argparse gets their
names, types, defaults and help: ``n_layer`` becomes ``--n-layer``. Only the file of the given
command is imported, so that tokenizing does not wait for the trainer.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from .. import __version__
from ..machine.messages import escape_control

Run = TypeVar("Run", bound=Callable[[Any], None])

SUMMARIES = {  # not docstrings, which python -OO removes
    "prepare": "Turn text files, folders, JSONL or a named dataset into token shards.",
    "train": "Train a model on token shards, on one device or, under torchrun, on many.",
    "generate": "Continue a text. One sample is shown as it is generated.",
    "score": "Print the log-probability of each token of a text, and their sum.",
    "tokenize": "Show how a text is cut into tokens, or turn ids into text.",
    "inspect": "Print a model's sizes, parameters, cost and, for a text, its shape ledger.",
    "export": "Write a trained model as a folder that transformers and from_pretrained load.",
    "crane": "Train a model on Crane World from nothing, and mark what it writes.",
    "bench": "Measure tokens/s, utilisation and the share of this machine's bandwidth.",
    "doctor": "Print versions, device, fast paths and caches, and what is missing.",
}
STOPPED = 130  # the exit status of what Ctrl-C ended
EXPECTED = (ValueError, TypeError, OSError, ArithmeticError, RuntimeError, ImportError)


class Command(NamedTuple):
    """A function, the dataclass of its options, and what ``--help`` adds to them."""

    run: Callable[[Any], None]
    options: Any
    make: Callable[..., Any]  # makes the options from those that were given
    examples: tuple[str, ...]
    positional: str  # the field that is given without its name, if any


COMMANDS: dict[str, Command] = {}  # those whose files have been imported


def command(
    *examples: str,
    positional: str = "",
    options: Any = None,
    make: Callable[..., Any] | None = None,
) -> Callable[[Run], Run]:
    """Register a function as the command of its name.

    Its only parameter is annotated with the dataclass of its options, which ``make`` builds from
    the values that were given on the command line (default: the dataclass itself). ``options`` is
    another dataclass, whose options ``make`` takes.
    """

    def register(run: Run) -> Run:
        hint = options or next(iter(get_type_hints(run).values()))
        COMMANDS[run.__name__] = Command(run, hint, make or hint, examples, positional)
        return run

    return register


class Parser(argparse.ArgumentParser):
    """An argparse parser whose messages are safe for a terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(for_terminal(message))


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands, with the options of those that have been imported."""
    parser = Parser(
        prog="gpt2-edu",
        description="GPT-2, built to be read: prepare text, train, generate, look inside.",
        epilog="Each command has its own --help with examples.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpt2-edu {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, summary in SUMMARIES.items():
        command = COMMANDS.get(name)
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=summary,
            epilog="\n  ".join(["examples:", *command.examples]) if command else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if command:
            add_options(subparser, command.options, command.positional)
    return parser


def add_options(parser: argparse.ArgumentParser, options: Any, positional: str) -> None:
    """Add an option for each field of a dataclass. What is not given is left to its defaults."""
    hints = get_type_hints(options)
    for field in fields(options):
        hint, required = hints[field.name], field.default is MISSING
        kind = next(iter(get_args(hint)), hint)  # of int | None and tuple[str, ...] the first
        help = field.metadata["help"].replace("%", "%%")
        if field.default not in (MISSING, None, "", ()):
            default = {True: "on", False: "off"}[field.default] if kind is bool else field.default
            help += f" (default: {default})"
        settings: dict[str, Any] = {"default": argparse.SUPPRESS, "help": help}
        if get_origin(hint) is Literal:
            settings |= {"choices": get_args(hint), "metavar": "|".join(get_args(hint))}
        elif kind is bool:
            settings["action"] = argparse.BooleanOptionalAction
        else:
            settings["type"] = kind
        if get_origin(hint) is tuple:
            settings["nargs"] = "+"
        if field.name != positional:
            name = "--" + field.name.replace("_", "-")
            parser.add_argument(name, required=required, **settings)
        else:
            parser.add_argument(field.name, **({} if required else {"nargs": "?"}) | settings)


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command. A user's error is printed as one message, and the exit status is 1.

    It is 130 after Ctrl-C, also where a run was saved and can be resumed.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as by `>&-`
            setattr(sys, name, open(os.devnull, "w"))
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # an ASCII terminal gets escapes
    try:
        try:
            status = run(list(sys.argv[1:] if argv is None else argv))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # as in `gpt2-edu tokenize … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    if status:
        sys.exit(status)


def run(words: list[str]) -> int:
    """Run the command that these words name; returns its exit status."""
    name = next((word for word in words if not word.startswith("-")), "")
    try:
        if name in SUMMARIES:
            import_module(f".{name}", __name__)
        given = vars(build_parser().parse_args(words))
        command = COMMANDS[given.pop("command")]
        del given["traceback"]
        values = {field: tuple(v) if isinstance(v, list) else v for field, v in given.items()}
        command.run(command.make(**values))
    except KeyboardInterrupt:
        print(f"\ngpt2-edu {name}: stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--traceback" in words:
            raise
        print(f"gpt2-edu {name}: {message_for(error)}", file=sys.stderr)
        return 1
    return 0


def message_for(error: Exception) -> str:
    """An error's message for a terminal."""
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    elif isinstance(error, MemoryError):
        said = f"not enough memory{f': {said}' if said else ''}. Ask for less at once"
    elif isinstance(error, ModuleNotFoundError) and error.name:
        said = f"{said}. {how_to_repair(error.name.partition('.')[0])}"
    elif not isinstance(error, EXPECTED):
        said = f"{type(error).__name__}: {said}. This is a bug: --traceback shows where"
    return for_terminal(said)


def how_to_repair(package: str) -> str:
    """What to do about a missing package."""
    return (
        f"{sys.executable} lacks it. In the book's folder, make lab repairs .venv; elsewhere: "
        f"{sys.executable} -m pip install --force-reinstall {package}"
    )


def for_terminal(message: str) -> str:
    """A message with control characters escaped and very long words, such as paths, cut."""
    return escape_control(re.sub(r"(\S{200})\S{200,}(\S{100})", r"\1…\2", message))


def standard_input() -> str:
    """All of it as text. Raises ValueError if it is closed or not text."""
    if sys.stdin is None:
        raise ValueError("standard input is closed: give the text itself in place of -")
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input is not UTF-8 ({error.reason})") from error
