"""Errors in a live notebook: a sentence and a line, and the cell still fails."""

from __future__ import annotations

import atexit
import re
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook
from traitlets.config import Config

from gpt2_edu.exhibits import setup
from gpt2_edu.machine import notebook_errors
from gpt2_edu.machine.notebook_errors import FRAMES, explain


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    notebook_errors.install(shell)
    yield shell
    shell.restore_sys_module_state()
    atexit.unregister(shell.atexit_operations)


@pytest.fixture
def run(shell, capsys):
    """A function that runs a cell and returns the error that it shows, without colours."""
    shell.reset()

    def run(source: str) -> str:
        shell.run_cell(source, store_history=True)
        return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).strip()

    return run


@pytest.mark.thorough
@pytest.mark.parametrize(
    "before, source, expected",
    [
        ("", "x = 1\nscores + x", ["Name 'scores' is not defined. If a cell above makes it", "2"]),
        ("encoding = 1", "encodign", ["Did you mean 'encoding'? If a cell above"]),
        ("weights = 1 / 0", "weights", ["A cell that was run makes it, but stopped before"]),
        ("def late(): 1 +", "late()", ["If a cell above makes it"]),
        ("", "a = 3\nassert a == 4", ["one of the book's numbers", "Line 2 of the cell: assert a"]),
        (
            "import torch",
            "q, k = torch.zeros(2, 5), torch.zeros(4, 6)\nq @ k",
            ["The shapes there: q (2, 5) · k (4, 6).", "Line 2 of the cell: q @ k"],
        ),
        (
            "from gpt2_edu import load_tokenizer",
            "load_tokenizer('gtp2')",
            ["ValueError: unknown tokenizer 'gtp2'. Known: "],
        ),
        ("", "def f():\n    return missing\n\nf()", ["Line 2 of the cell: return missing"]),
        (
            "def f():\n    return missing",
            "y = 1\nf()",
            ["Line 2 of the cell: f()\nIt calls a function of an earlier cell, whose line is:"],
        ),
    ],
)
def test_an_error_is_a_sentence_with_its_line(run, before, source, expected):
    run(before)
    shown = run(source)
    for part in expected:
        assert part in shown
    assert shown.endswith(FRAMES) and len(shown.splitlines()) <= 5
    assert "Traceback" in run("%tb")


@pytest.mark.thorough
@pytest.mark.parametrize("source", ["1 / 0", "1 +"])
def test_other_errors_are_shown_as_ipython_shows_them(run, source):
    assert "Error" in run(source) and FRAMES not in run(source)


def test_what_is_not_understood_is_not_explained():
    assert explain(ZeroDivisionError("division by zero"), "1 / 0", {}, []) == ""
    assert explain(ValueError(""), "f()", {}, []) == ""
    assert explain(RuntimeError("stopped"), "not python at all (", {}, []) == "stopped"


@pytest.mark.thorough
def test_the_cell_still_fails_so_that_running_all_stops(monkeypatch):
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)
    cells = [
        new_code_cell(s) for s in ("from gpt2_edu import exhibits\nexhibits.setup()", "scores")
    ]
    with pytest.raises(CellExecutionError) as caught:
        NotebookClient(new_notebook(cells=cells), kernel_name="python3", timeout=120).execute()
    assert caught.value.ename == "NameError" and FRAMES in caught.value.traceback


@pytest.mark.parametrize("book", ["0", "1"])
def test_while_the_book_is_made_errors_are_shown_in_full(monkeypatch, book):
    installed = []
    monkeypatch.setenv("GPT2_EDU_BOOK", book)
    monkeypatch.setattr("IPython.get_ipython", lambda: "shell")
    monkeypatch.setattr(notebook_errors, "install", installed.append)
    setup()
    assert installed == ["shell"] * (book == "0")
