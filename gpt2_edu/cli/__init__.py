"""The command line: ``gpt2-edu prepare | train | generate | tokenize | inspect | export | …``.

Each command has a file here that is named after it and holds its options, its function and its
examples. A new file is a new command. Only the file of the given command is imported, so that
tokenizing does not wait for the trainer.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules

from .. import __version__
from .command import COMMANDS, Command

# In --help; a command that is not named here comes after these.
ORDER = "prepare train generate tokenize inspect export crane bench doctor".split()


def find_commands(word: str | None = None) -> dict[str, Command]:
    """The commands in the order of ``--help``; at least the one of this name if it exists."""
    files = [module.name for module in iter_modules(__path__)]
    if word in files:
        import_module(f".{word}", __name__)
    if word not in COMMANDS:
        for name in files:
            import_module(f".{name}", __name__)
    rank = {name: i for i, name in enumerate(ORDER)}
    return {name: COMMANDS[name] for name in sorted(COMMANDS, key=lambda n: rank.get(n, len(rank)))}


def build_parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of these commands."""
    parser = argparse.ArgumentParser(
        prog="gpt2-edu",
        description="GPT-2, built to be read: prepare text, train, generate, look inside.",
        epilog="Each command has its own --help with examples.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpt2-edu {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, command in commands.items():
        command.add_arguments(
            subparsers.add_parser(
                name,
                help=command.summary,
                description=command.summary,
                epilog="examples:\n" + "\n".join(f"  {line}" for line in command.examples),
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
        )
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command. A user's error is printed as one sentence, and the exit status is 1."""
    words = sys.argv[1:] if argv is None else argv
    commands = find_commands(next((word for word in words if not word.startswith("-")), None))
    values = vars(build_parser(commands).parse_args(words))
    name, traceback = values.pop("command"), values.pop("traceback")
    try:
        commands[name].run(values)
    except KeyboardInterrupt:
        print(f"\ngpt2-edu {name}: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # as in `gpt2-edu tokenize … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, TypeError, OSError, ArithmeticError, RuntimeError, ImportError) as error:
        if traceback:
            raise
        print(f"gpt2-edu {name}: {error}", file=sys.stderr)
        sys.exit(1)
