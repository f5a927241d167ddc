"""What all commands share."""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import gpt2_edu
from gpt2_edu.cli import COMMANDS, SUMMARIES, main

for name in SUMMARIES:
    import_module(f"gpt2_edu.cli.{name}")


def options(command: str) -> list[str]:
    fields = dataclasses.fields(COMMANDS[command].options)
    positional = COMMANDS[command].positional
    return ["--" + f.name.replace("_", "-") for f in fields if f.name != positional]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_option_and_shows_examples(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    for option in options(command):
        assert option in shown
    for example in COMMANDS[command].examples:
        assert example in shown
        assert command in example.split()
    for field in dataclasses.fields(COMMANDS[command].options):
        assert field.metadata["help"], field.name


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_does_not_exist_is_fatal(command, refused):
    needed = ["x"] * bool(COMMANDS[command].positional)
    said = refused(command, *needed, "--does-not-exist", "1", status=2)
    assert "--does-not-exist" in said or "required" in said


def test_an_option_may_not_be_shortened(refused):
    assert "--temp" in refused("generate", "A crane", "--temp", "0", status=2)


def test_without_a_command_the_commands_are_named(refused):
    assert "command" in refused(status=2)
    for wrong in ("tokenise", "__init__"):
        message = refused(wrong, "x", status=2)
        assert f"'{wrong}'" in message
        for command in COMMANDS:
            assert command in message


def test_the_module_and_the_installed_command_are_the_same():
    for program in ([sys.executable, "-m", "gpt2_edu"], [Path(sys.executable).parent / "gpt2-edu"]):
        done = subprocess.run(
            [*program, "tokenize", "A crane ate fish", "--ids"], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (0, "32 41175 15063 5916\n"), done.stderr


def test_the_commands_run_without_docstrings():
    code = (
        "from gpt2_edu.cli import SUMMARIES, main\n"
        "for words in *([name, '--help'] for name in SUMMARIES), 'generate A --model crane "
        "--max-new-tokens 2'.split():\n"
        "    try: main(words)\n"
        "    except SystemExit as stop: assert not stop.code, words"
    )
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert all(summary[:20] in done.stdout for summary in SUMMARIES.values())


@pytest.mark.parametrize("words", [["--help"], ["generate", "--help"], ["tokenize", "…"]], ids=str)
def test_a_terminal_that_knows_only_ascii_gets_escapes_and_no_traceback(words):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "gpt2_edu", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "\\u2026" in done.stdout or words == ["--help"]


def test_a_very_long_path_is_cut_in_the_message(refused):
    for path in ("x" * 5000, "x/" * 2500):
        said = refused("generate", "A crane", "--model", path)
        assert "…" in said and len(said) < 1000
    assert len(refused("tokenize", "x", "--" + "y" * 5000, status=2)) < 1500


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"gpt2-edu {gpt2_edu.__version__}\n"


@pytest.mark.parametrize("lost, command", [("tiktoken", "generate"), ("torch", "doctor")])
def test_an_incomplete_installation_is_a_message_and_no_traceback(lost, command):
    code = (
        f"import sys; sys.modules[{lost!r}] = None\n"
        f"from gpt2_edu.cli import main; main([{command!r}, 'x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"--force-reinstall {lost}" in done.stderr


def test_an_error_can_be_asked_where_it_comes_from():
    with pytest.raises(FileNotFoundError):
        main(["--traceback", "generate", "x", "--model", "no-such-folder"])


def test_a_reader_who_goes_away_is_no_error():
    program = f"{shlex.quote(sys.executable)} -m gpt2_edu tokenize - | head -1"
    done = subprocess.run(
        program, shell=True, input="crane " * 50_000, capture_output=True, text=True, check=False
    )
    assert done.stdout.split()[0] == "6098"
    assert done.stderr == ""


def test_only_the_file_of_the_command_is_imported():
    code = (
        "import sys; from gpt2_edu.cli import main; main(['tokenize', 'A crane', '--ids'])\n"
        "print(*[name for name in sys.modules if name.startswith('gpt2_edu.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ids, modules = done.stdout.splitlines()
    assert ids == "32 41175"
    assert "gpt2_edu.cli.tokenize" in modules
    for other in ("training", "data", "analysis", "cli.train", "cli.generate"):
        assert f"gpt2_edu.{other}" not in modules
