"""The notebooks as files: what nbval and the site take for granted, and what stays out of git.

nbval passes a notebook without execution counts silently, whatever its code does; it fails a cell
that ends in a semicolon; it compares no picture. So this is checked here.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

from gpt2_edu import __version__
from gpt2_site.chapters import chapters, pages, parts

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = [page.path for page in pages()] + [c.practice for c in chapters()]
# What stands in a traceback or a warning, on Linux, macOS, Windows and Colab.
FOLDERS = "home|root|Users|tmp|usr|opt|work|var|content"
ABSOLUTE_PATH = re.compile(rf"(?<![\w.:/])/(?:{FOLDERS})/|\b[A-Z]:\\\w")


@cache
def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(path: Path) -> list[Any]:
    return [c for c in read(path).cells if c.cell_type == "code" and c.source.strip()]


def tags(cell: Any) -> set[str]:
    return set(cell.metadata.get("tags", []))


def output_texts(cell: Any) -> list[str]:
    """All text that a cell's stored outputs hold, of whatever kind."""
    texts = []
    for output in cell.outputs:
        texts.append(output.get("text", ""))
        texts += [v for v in output.get("data", {}).values() if isinstance(v, str)]
        texts += output.get("traceback", [])
    return texts


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_every_notebook_is_a_page_of_a_chapter():
    """In the order of the file names, each with its chapter's number."""
    stored = sorted((ROOT / "notebooks").rglob("*.ipynb"))
    assert [path for path in stored if path.parent.name == "notebooks"] == [
        page.path for page in pages()
    ]
    assert set(stored) == set(NOTEBOOKS)
    assert all(page.name == f"{page.number:02}_{page.slug}" for page in pages())
    assert len({page.slug for page in pages()}) == len(pages())


def test_a_chapter_is_followed_by_its_other_pages_and_its_practice():
    more = {}
    for part in parts():
        for page in part["chapters"]:
            folder, _, name = page["file"].rpartition("/")
            if folder == "notebooks":
                files = [section["file"] for section in page["sections"]]
                *between, last = (f for f in files if not f.startswith("book/review_"))
                assert last == f"notebooks/practice/{name}"
                assert all(file.startswith(f"notebooks/{name}_") for file in between)
                more[name] = [file.removeprefix("notebooks/") for file in between]
    assert more == {c.name: [page.name for page in c.more] for c in chapters()}
    assert any(more.values())


def test_notebook_is_valid_and_its_cells_have_distinct_ids(path):
    nbformat.validate(read(path))
    ids = [cell.id for cell in read(path).cells]
    assert len(set(ids)) == len(ids)


def test_every_code_cell_was_run_once_in_order(path):
    counts = [cell.execution_count for cell in code_cells(path) if "nbval-skip" not in tags(cell)]
    assert counts == list(range(1, len(counts) + 1)), f"run: make notebooks NB={path.name}"


def test_notebook_asks_for_the_common_kernel_and_for_a_gpu_only_where_it_uses_one(path):
    metadata = read(path).metadata
    assert "widgets" not in metadata
    assert metadata.kernelspec.name == "python3"
    uses = any("pick_device()" in cell.source for cell in code_cells(path))
    assert metadata.get("accelerator") == ("GPU" if uses else None)
    assert metadata.get("colab") == ({"gpuType": "T4"} if uses else None)


def test_no_cell_ends_in_a_semicolon(path):
    ending = [cell.source for cell in code_cells(path) if cell.source.rstrip().endswith(";")]
    assert ending == [], "nbval fails on it; end a plot with plt.show()"


def test_figures_are_drawings_and_no_pictures_of_pixels(path):
    for cell in code_cells(path):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        pixels = [kind for kind in kinds if kind.startswith("image/")]
        assert not pixels, f"end the cell with exhibits.Plot(fig, …):\n{cell.source}"


def test_no_error_warning_or_path_of_a_machine_is_stored(path):
    for cell in code_cells(path):
        kinds = {o.output_type for o in cell.outputs} | {o.get("name") for o in cell.outputs}
        assert "error" not in kinds, f"an error is stored under:\n{cell.source}"
        assert "stderr" not in kinds, f"a warning is stored under:\n{cell.source}"
        for text in output_texts(cell):
            found = ABSOLUTE_PATH.search(text)
            assert not found, f"{found and found[0]!r} in the output of:\n{cell.source}"


def test_first_code_cell_is_the_same_hidden_bootstrap_everywhere():
    first = {str(path): code_cells(path)[0] for path in NOTEBOOKS}
    assert len({cell.source for cell in first.values()}) == 1
    assert [name for name, cell in first.items() if "remove-cell" not in tags(cell)] == []


def test_bootstrap_installs_this_version_from_the_public_repository():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    bootstrap = code_cells(NOTEBOOKS[0])[0].source
    address = f"git+{config['repository']['url']}@v{__version__}"
    # Only on Colab: anywhere else it would overwrite what the reader installed.
    assert f'if "google.colab" in sys.modules:\n    %pip install -q "{address}"' in bootstrap
    # A reader who lacks the package sees the cell in the error, and in it what to type.
    assert f'# pip install "gpt2-edu[book] @ {address}"\nfrom gpt2_edu' in bootstrap
