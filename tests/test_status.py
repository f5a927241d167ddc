"""The status page is generated, and names every notebook."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import make_status as status
import nbformat
import pytest
import yaml
from chapters import chapters


@pytest.fixture(autouse=True)
def own_environment():
    """The script sets variables for the notebooks; the tests after these must not see them."""
    with mock.patch.dict(os.environ):
        yield


def test_the_status_page_lists_every_notebook_in_order():
    rows = status.read_rows(status.PAGE.read_text(encoding="utf-8"))
    assert list(rows) == [chapter.name for chapter in chapters()], "run: make status"


def test_the_status_page_is_as_the_script_writes_it():
    text = status.PAGE.read_text(encoding="utf-8")
    assert status.page(list(status.read_rows(text).values())) == text


def test_a_notebook_that_has_not_changed_is_not_run_again(monkeypatch, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (tmp_path / "book").mkdir()
    monkeypatch.setattr(status, "ROOT", tmp_path)
    monkeypatch.setattr(status, "PAGE", tmp_path / "book" / "status.md")
    monkeypatch.setattr("sys.argv", ["make_status.py"])
    ran = []

    def run(path: Path) -> status.Row:
        ran.append(path.stem)
        code = status.checksum(path)
        torch = status.version("torch").split("+")[0]
        return status.Row(path.stem, 1, len(ran), "2026-01-01", "3.11.7", torch, code)

    monkeypatch.setattr(status, "run", run)

    def write(name: str, code: str, version: str = "0.1.0") -> None:
        cells = [
            nbformat.v4.new_markdown_cell("# The [mask](x.md)\n\nText."),
            nbformat.v4.new_code_cell(f"install {version}"),
            nbformat.v4.new_code_cell(code),
        ]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{name}.ipynb")

    write("01_a", "1")
    write("02_b", "2")
    files = [{"file": f"notebooks/{name}"} for name in ("01_a", "02_b")]
    toc = {"parts": [{"caption": "Part 1. All", "chapters": files}]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    status.main()
    first = status.PAGE.read_text(encoding="utf-8")
    assert "| [2 The mask](../notebooks/02_b.ipynb) | 1 | 2 | 2026-01-01 | 3.11.7 |" in first
    status.main()
    assert ran == ["01_a", "02_b"]
    assert status.PAGE.read_text(encoding="utf-8") == first
    write("02_b", "2", version="0.2.0")  # the first cell names a version, and counts for nothing
    status.main()
    assert ran == ["01_a", "02_b"]
    write("02_b", "3")
    status.main()
    assert ran == ["01_a", "02_b", "02_b"]
    monkeypatch.setattr("sys.argv", ["make_status.py", "--all"])
    status.main()
    assert ran[3:] == ["01_a", "02_b"]
    monkeypatch.setattr("sys.argv", ["make_status.py", "02_b"])
    status.main()
    assert ran[5:] == ["02_b"]
    assert list(status.read_rows(status.PAGE.read_text(encoding="utf-8"))) == ["01_a", "02_b"]


def test_a_chapter_that_is_not_there_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["make_status.py", "05_masks"])
    with pytest.raises(SystemExit):
        status.main()
    assert "no such chapter: 05_masks" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_takes_the_time_and_leaves_the_notebook_alone(tmp_path, monkeypatch):
    path = tmp_path / "01_a.ipynb"
    cells = [nbformat.v4.new_code_cell("import os; print(os.environ.get('MPLBACKEND'))")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    before = path.read_bytes()
    row = status.run(path)
    assert (row.name, row.cells, row.code) == ("01_a", 1, status.checksum(path))
    assert path.read_bytes() == before
