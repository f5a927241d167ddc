"""The command line: ``gpt2-edu prepare | train | generate | score | tokenize | inspect | …``.

Each command has a file here that is named after it, and a new file is a new command:

    @command('gpt2-edu greet "A crane"', positional="name")
    def greet(options: GreetOptions) -> None:
        \"\"\"Say hello.\"\"\"

Its options are a dataclass whose fields are made by ``machine.options.option``. The command line
takes names, types, defaults and help from these fields: ``n_layer`` becomes ``--n-layer``. Only
the file of the given command is imported, so that tokenizing does not wait for the trainer.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from .. import __version__
from ..machine.messages import escape_control

Run = TypeVar("Run", bound=Callable[[Any], None])

# In --help; a command that is not named here comes after these.
ORDER = "prepare train generate score tokenize inspect export crane bench doctor".split()


class Command(NamedTuple):
    """A function, the dataclass of its options, and examples for ``--help``."""

    function: Callable[[Any], None]
    options: Any
    examples: tuple[str, ...]
    positional: str  # the field that is given without its name; "" if none is
    make: Callable[..., Any]  # makes the options from those that were given


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


def find_commands(word: str | None = None) -> dict[str, Command]:
    """The commands in the order of ``--help``; at least the one of this name if it exists."""
    files = [module.name for module in iter_modules(__path__)]
    for name in [word] if word in files else files:
        import_module(f".{name}", __name__)
    return {name: COMMANDS[name] for name in sorted(COMMANDS, key=[*ORDER, *COMMANDS].index)}


class Parser(argparse.ArgumentParser):
    """An argparse parser whose messages are safe for a terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(for_terminal(message))


def build_parser(commands: dict[str, Command]) -> argparse.ArgumentParser:
    """The parser of these commands."""
    parser = Parser(
        prog="gpt2-edu",
        description="GPT-2, built to be read: prepare text, train, generate, look inside.",
        epilog="Each command has its own --help with examples.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpt2-edu {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, command in commands.items():
        summary = (command.function.__doc__ or "").partition("\n")[0]  # -OO strips docstrings
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=summary,
            epilog="examples:\n" + "\n".join(f"  {line}" for line in command.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        hints = get_type_hints(command.options)
        for field in fields(command.options):
            _add_option(subparser, field, hints[field.name], field.name == command.positional)
    return parser


def _add_option(
    parser: argparse.ArgumentParser, field: Field[Any], hint: Any, positional: bool
) -> None:
    kind = next(iter(get_args(hint)), hint)  # of int | None and tuple[str, ...] the first
    help = field.metadata["help"].replace("%", "%%")
    if field.default not in (MISSING, None, "", ()):
        help += f" (default: {('off', 'on')[field.default] if kind is bool else field.default})"
    # The dataclass fills in what is not given, so its defaults are not repeated here.
    settings: dict[str, Any] = {"default": argparse.SUPPRESS, "help": help}
    if get_origin(hint) is Literal:
        settings |= {"choices": get_args(hint), "metavar": "|".join(get_args(hint))}
    elif kind is bool:
        settings["action"] = argparse.BooleanOptionalAction
    else:
        settings["type"] = kind
    if get_origin(hint) is tuple:
        settings["nargs"] = "+"
    if not positional:
        required = field.default is MISSING
        parser.add_argument("--" + field.name.replace("_", "-"), required=required, **settings)
        return
    if field.default is not MISSING:
        settings["nargs"] = "?"
    parser.add_argument(field.name, **settings)


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command. A user's error is printed as one message, and the exit status is 1.

    It is 130 after Ctrl-C, also where a run was saved and can be resumed.
    """
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # an ASCII terminal gets escapes
    words = sys.argv[1:] if argv is None else argv
    try:
        with quiet_ctrl_c():  # while torch is imported
            commands = find_commands(next((w for w in words if not w.startswith("-")), None))
    except ImportError as error:
        print_note(f"gpt2-edu: {error}. {how_to_repair((error.name or '').partition('.')[0])}")
        sys.exit(1)
    values = vars(build_parser(commands).parse_args(words))
    name, traceback = values.pop("command"), values.pop("traceback")
    given = {field: tuple(v) if isinstance(v, list) else v for field, v in values.items()}
    try:
        commands[name].function(commands[name].make(**given))
    except KeyboardInterrupt:
        print_note(f"\ngpt2-edu {name}: stopped")
        sys.exit(STOPPED)
    except BrokenPipeError:  # as in `gpt2-edu tokenize … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        if traceback:
            raise
        print_note(f"gpt2-edu {name}: {message_for(error, commands[name].options)}")
        sys.exit(1)


def print_note(text: str) -> None:
    """Print to standard error, if it is open; stdout has only what was asked for."""
    if sys.stderr is not None:
        print(text, file=sys.stderr)


STOPPED = 130  # the exit status of what Ctrl-C ended
EXPECTED = (ValueError, TypeError, OSError, ArithmeticError, RuntimeError, ImportError)


@contextmanager
def quiet_ctrl_c() -> Iterator[None]:
    """Inside, Ctrl-C ends the process at once, because an import cannot be interrupted safely."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def how_to_repair(package: str) -> str:
    """What to do about a missing package: in the book's repository, and elsewhere."""
    ours = Path(__file__).resolve().parents[2] / ".venv"
    if not ours.is_dir():
        command = f"{sys.executable} -m pip install --force-reinstall --no-deps {package}"
        return f"This installation is incomplete; reinstall the package: {command}"
    if Path(sys.prefix).resolve() == ours:
        return "This environment is incomplete: make lab, or make book, creates it again"
    return f"This is not the book's environment: source {ours}/bin/activate"


def message_for(error: Exception, options: Any) -> str:
    """An error's message for a terminal, with options as they are typed there."""
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        said = f"not enough memory{f': {said}' if said else ''}. Ask for less at once"
    elif not isinstance(error, EXPECTED):
        said = f"{type(error).__name__}: {said}. This is a bug: --traceback shows where"
    names = {field.name for field in fields(options)}

    def typed(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("'\"")
        if name not in names:
            return found[0]
        option = "--" + name.replace("_", "-")
        return option if value == "True" else f"{option} {value}"

    said = re.sub(r"\b([a-z_]+)=('[^']*'|\"[^\"]*\"|[\w.+-]*\w)", typed, said)
    return for_terminal(said)


def for_terminal(message: str) -> str:
    """A message with control characters escaped and very long words, such as paths, cut."""
    return escape_control(re.sub(r"(\S{200})\S{200,}(\S{100})", r"\1…\2", message))


def standard_input() -> str:
    """All of it as text. Raises ValueError if it is closed or not text."""
    if sys.stdin is None:
        raise ValueError("standard input is closed: give the text itself in place of -")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input is not UTF-8 ({error.reason})") from error
