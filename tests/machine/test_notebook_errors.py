"""Errors in a live notebook: a sentence and a line, and the cell still fails."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

from gpt2_edu.machine.notebook_errors import FRAMES, explain

ROOT = Path(__file__).resolve().parents[2]
SETUP = "from gpt2_edu import exhibits\nimport torch\nexhibits.setup()"


def run(*sources: str) -> list[str]:
    """What each cell shows as its error, in a kernel of its own; every cell is run."""
    nb = new_notebook(cells=[new_code_cell(source) for source in sources])
    client = NotebookClient(nb, kernel_name="python3", timeout=120, allow_errors=True)
    client.execute()
    shown = []
    for cell in nb.cells:
        errors = [o for o in cell.outputs if o.output_type == "error"]
        assert len(errors) <= 1
        shown.append("\n".join(errors[0].traceback) if errors else "")
    return shown


@pytest.fixture(autouse=True)
def live(monkeypatch):
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)


def test_every_kind_of_error_is_a_sentence_with_its_line():
    _, unknown, used, close, half, known, check, shapes, given, inner, again, *rest = run(
        SETUP,
        "x = 1\nprint(scores)",
        "scores\nscores == 2",
        "encoding = 1\nencodign + 1",
        "weights = 1 / 0",
        "weights",
        "a = 3\nassert a == 4",
        "q, k = torch.zeros(2, 5), torch.zeros(4, 6)\nprint(1)\nq @ k",
        "from gpt2_edu import load_tokenizer\nload_tokenizer('gtp2')",
        "def f(x):\n    return x + missing\n\nf(1)",
        "y = 1\nf(y)",
        "%tb",
        "1 +",
        "1 / 0",
    )
    frames, syntax, other = rest
    assert unknown.startswith("Name 'scores' is not defined. If a cell above makes it")
    assert "Line 2 of the cell: print(scores)" in unknown
    assert "ZeroDivisionError" in half  # not ours: IPython's own way
    assert "If a cell above makes it" in used
    assert close.startswith("Name 'encodign' is not defined. Did you mean 'encoding'? If a cell")
    assert "A cell that was run makes it, but stopped before" in known
    assert check.startswith("This line checks one of the book's numbers")
    assert "Line 2 of the cell: assert a == 4" in check
    assert "The shapes there: q (2, 5) · k (4, 6)." in shapes
    assert "Line 3 of the cell: q @ k" in shapes
    assert given.startswith("ValueError: unknown tokenizer 'gtp2'. Known: ")
    assert "Line 2 of the cell: return x + missing" in inner
    assert "Line 2 of the cell: f(y)\nIt calls a function of an earlier cell" in again
    assert "whose line is: return x + missing" in again
    for error in (unknown, used, close, known, check, shapes, given, inner, again):
        assert error.endswith(FRAMES)
        assert len(error.splitlines()) <= 5
    assert "SyntaxError" in syntax
    assert "ZeroDivisionError" in other
    assert "Traceback" in frames
    assert "x + missing" in frames


def test_the_cell_still_fails_so_that_running_all_stops():
    nb = new_notebook(cells=[new_code_cell(SETUP), new_code_cell("scores")])
    with pytest.raises(CellExecutionError) as caught:
        NotebookClient(nb, kernel_name="python3", timeout=120).execute()
    assert caught.value.ename == "NameError"
    assert "name 'scores' is not defined" in caught.value.evalue


def test_a_chapters_cells_out_of_order():
    """Every visible code cell of a chapter, run first: a sentence each time, or no error."""
    nb = nbformat.read(ROOT / "notebooks" / "03_crane.ipynb", as_version=4)
    cells = [c.source for c in nb.cells if c.cell_type == "code"][1:]
    shown = run(SETUP, *reversed(cells))
    failed = [error for error in shown if error]
    assert len(failed) > 3
    for error in failed:
        assert FRAMES in error, error


def test_while_the_book_is_made_errors_are_shown_in_full(monkeypatch):
    monkeypatch.setenv("GPT2_EDU_BOOK", "1")
    _, error = run(SETUP, "scores")
    assert "Traceback" in error


def test_what_is_not_understood_is_not_explained():
    assert explain(ZeroDivisionError("division by zero"), "1 / 0", {}, []) == ""
    assert explain(ValueError(""), "f()", {}, []) == ""
    assert explain(RuntimeError("stopped"), "not python at all (", {}, []) == "stopped"
