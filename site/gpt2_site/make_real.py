"""Run the cells that need what most machines lack, and store what they gave: `make real`.

Those are cells with the tag "real": they fetch OpenAI's weights, half a gigabyte. Their notebook
runs up to them in a kernel of its own; only their outputs are stored, with the day, the machine
and the versions, which the page shows below them. A cell that fails leaves its notebook as it was.
The tests run these cells against a stand-in for the hub.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import CellExecutionError

from gpt2_site.chapters import ROOT, chapters, pages
from gpt2_site.execute_notebooks import CELL_TIMEOUT, client_of, store

TAG = "real"
WIDGET = "application/vnd.jupyter.widget-view+json"
# What the page says of where a cell ran. A line of its own in the kernel, after the last cell.
WHERE = """\
import os, platform
import torch
_gpu = torch.cuda.is_available() and torch.cuda.get_device_name()
print(_gpu or f"{os.cpu_count()} processor cores", end="|")
print(f"Python {platform.python_version()}, PyTorch {torch.__version__.partition('+')[0]}", end="")
"""


def is_real(cell: nbformat.NotebookNode) -> bool:
    return TAG in cell.metadata.get("tags", ())


def is_progress(output: nbformat.NotebookNode) -> bool:
    """What is drawn while weights arrive: a page does not show it."""
    return output.get("name") == "stderr" or WIDGET in output.get("data", {})


def notebooks_with_real_cells() -> list[Path]:
    paths = [one.path for one in pages()] + [chapter.practice for chapter in chapters()]
    return [path for path in paths if any(map(is_real, nbformat.read(path, as_version=4).cells))]


def run(path: Path, timeout: int = 4 * CELL_TIMEOUT) -> dict[str, Any]:
    """Run a notebook up to its last real cell, and store what the real cells gave.

    Returns where it ran. Raises CellExecutionError if a cell fails; nothing is stored then.
    """
    nb = nbformat.read(path, as_version=4)
    last = max(i for i, cell in enumerate(nb.cells) if is_real(cell))
    trial = nbformat.from_dict(nb)
    trial.cells = [nbformat.from_dict(cell) for cell in nb.cells[: last + 1]]
    for cell in trial.cells:
        if is_real(cell):
            cell.metadata = {**cell.metadata, "tags": []}
    trial.cells.append(nbformat.v4.new_code_cell(WHERE))
    client_of(trial, path, timeout).execute()
    machine, _, versions = trial.cells[-1].outputs[0].text.partition("|")
    today = datetime.date.today().isoformat()
    where = {"on": today, "machine": machine, "versions": versions}
    for cell, ran in zip(nb.cells, trial.cells, strict=False):
        if is_real(cell):
            cell.outputs = [output for output in ran.outputs if not is_progress(output)]
            for output in cell.outputs:
                if "execution_count" in output:
                    output["execution_count"] = None
            cell.metadata["real"] = where
    store(nb, path)
    return where


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all that have such cells")
    failed = 0
    for path in parser.parse_args().notebooks or notebooks_with_real_cells():
        try:
            where = run(path)
        except CellExecutionError as error:
            print(f"{path}: not run, and unchanged.\n{error.evalue or error}", file=sys.stderr)
            failed += 1
        else:
            print(f"{path.resolve().relative_to(ROOT)}: {where['machine']}, {where['versions']}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
