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

MODULE = f"{shlex.quote(sys.executable)} -m gpt2_edu"


def shell(line: str, **settings) -> subprocess.CompletedProcess[str]:
    """Run a line of shell. No command ends in a traceback."""
    done = subprocess.run(line, shell=True, capture_output=True, text=True, **settings)
    assert "Traceback" not in done.stderr and "This is a bug" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("command", SUMMARIES)
def test_help_names_every_option_and_shows_examples(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    for field in dataclasses.fields(COMMANDS[command].options):
        positional = field.name == COMMANDS[command].positional
        assert (field.name if positional else "--" + field.name.replace("_", "-")) in shown
        assert field.metadata["help"], field.name
    for example in COMMANDS[command].examples:
        assert example in shown and command in example.split()


def test_help_shows_defaults_and_choices(capsys):
    with pytest.raises(SystemExit):
        main(["generate", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    parts = "(default: 50)", "(default: 100, or what fits)", "--overflow raise|crop", "--no-cache"
    for part in ("(default: on)", *parts):
        assert part in shown
    assert "--seed SEED the same seed, the same text on the same machine -" in shown


def test_options_that_do_not_exist_and_shortened_ones_are_fatal(refused):
    for words in (["doctor", "--does-not-exist"], ["generate", "A crane", "--temp", "0"]):
        assert words[-1] in refused(*words, status=2) or "--temp" in words


def test_without_a_command_the_commands_are_named(refused):
    assert "command" in refused(status=2)
    message = refused("tokenise", "x", status=2)
    assert "'tokenise'" in message and all(command in message for command in SUMMARIES)


def test_the_installed_command_is_the_module():
    for program in (MODULE, shlex.quote(str(Path(sys.executable).parent / "gpt2-edu"))):
        done = shell(f"{program} tokenize 'A crane ate fish' --ids")
        assert (done.returncode, done.stdout) == (0, "32 41175 15063 5916\n"), done.stderr


@pytest.mark.thorough
def test_every_command_runs_without_docstrings_and_asserts():
    code = (
        "from gpt2_edu.cli import SUMMARIES, main\n"
        "for words in *([name, '--help'] for name in SUMMARIES), 'generate A --model crane "
        "--max-new-tokens 2'.split():\n"
        "    try: main(words)\n"
        "    except SystemExit as stop:\n"
        "        if stop.code: raise\n"
    )
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert all(summary[:20] in done.stdout for summary in SUMMARIES.values())


@pytest.mark.thorough
def test_output_may_be_ascii_closed_or_left():
    ascii = os.environ | {"PYTHONIOENCODING": "ascii"}
    assert "\\u2026" in shell(f"{MODULE} tokenize …", env=ascii).stdout
    assert shell(f"{MODULE} --help | head -1").stdout.startswith("usage: gpt2-edu")
    words = "generate A --model crane --max-new-tokens 2"
    assert shell(f"{MODULE} {words} >&- 2>&- <&-").returncode == 0
    assert shell(f"{MODULE} tokenize x >&-").returncode == 0
    done = shell(f"{MODULE} tokenize - | head -1", input="crane " * 50_000)
    assert done.stdout.split()[0] == "6098" and done.stderr == ""
    said = shell(f"{MODULE} tokenize - <&-").stderr
    assert "standard input is closed" in said
    assert "not UTF-8" in shell(f"printf '\\377' | {MODULE} tokenize -").stderr


def test_long_and_hostile_words_are_cut_and_escaped(refused, tmp_path):
    for path in ("x" * 5000, "x/" * 2500):
        said = refused("generate", "A crane", "--model", path)
        assert "…" in said and len(said) < 1000
        said = refused("train", "--data", tmp_path, "--out", path)
        assert len(said) < 1000
    assert len(refused("tokenize", "x", "--" + "y" * 5000, status=2)) < 1500
    assert "\\x1b[31m" in refused("generate", "A crane", "--model", "\x1b[31m")
    assert "\\x1b[31m" in refused("tokenize", "x", "--\x1b[31m", status=2)


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"gpt2-edu {gpt2_edu.__version__}\n"


@pytest.mark.parametrize("lost, command", [("tiktoken", "tokenize"), ("torch", "doctor")])
def test_an_incomplete_installation_is_a_message_and_no_traceback(lost, command):
    code = (
        f"import sys; sys.modules[{lost!r}] = None\n"
        f"from gpt2_edu.cli import main; main([{command!r}, 'x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"--force-reinstall {lost}" in done.stderr


def test_errors_of_every_kind_are_one_message(refused, monkeypatch):
    command, first = COMMANDS["tokenize"], "gpt2-edu tokenize: "
    for error, said, status in (
        (MemoryError("9 GiB"), "not enough memory: 9 GiB", 1),
        (FileNotFoundError(2, "No such file", "here"), "No such file: here", 1),
        (KeyError("x"), "KeyError: 'x'. This is a bug", 1),
        (KeyboardInterrupt(), "stopped", 130),
    ):

        def fail(options, error=error):
            raise error

        monkeypatch.setitem(COMMANDS, "tokenize", command._replace(run=fail))
        shown = refused("tokenize", "x", status=status)
        assert shown.strip().startswith(first + said)
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError):
        main(["--traceback", "generate", "x", "--model", "no-such-folder"])


def test_only_the_file_of_the_command_is_imported():
    code = (
        "import sys; from gpt2_edu.cli import main; main(['tokenize', 'A crane', '--ids'])\n"
        "print(*[name for name in sys.modules if name.startswith('gpt2_edu.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ids, modules = done.stdout.splitlines()
    assert ids == "32 41175" and "gpt2_edu.cli.tokenize" in modules
    for other in ("training", "data", "analysis", "cli.train", "cli.generate"):
        assert f"gpt2_edu.{other}" not in modules
