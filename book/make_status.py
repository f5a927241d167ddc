"""Execute the notebooks one after the other, take the time, and write book/status.md.

    .venv/bin/python book/make_status.py          # those whose code or PyTorch has changed
    .venv/bin/python book/make_status.py --all    # every one
    .venv/bin/python book/make_status.py 05_mask  # this one alone

A row stays as it is until the code of its notebook or the version of PyTorch changes. So this
script can run as often as one likes without a diff. The notebooks themselves are not touched.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import platform
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import nbformat
from chapters import chapters
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "book" / "status.md"
TIMEOUT = 600  # seconds for a cell

HEAD = (
    "# Status\n\n"
    "When each notebook was last run for this page from its first cell to its last, how many "
    "seconds that took, and with what. Notebooks run on one core of a processor, without a GPU; "
    "the time includes the start of Python. [On GPUs](gpu.md) has what was measured there.\n\n"
    "This page is generated: `book/make_status.py` executes the notebooks as the book shows them, "
    "takes the time, and writes the table. A row is written anew when the code of its notebook or "
    "the version of PyTorch has changed; *code* is the beginning of a checksum of the notebook's "
    "code cells but the first, by which that is seen. Whether the printed numbers are still right "
    "is another question, and the tests ask it on every change.\n\n"
)
COLUMNS = "| notebook | cells | seconds | run on | Python | PyTorch | code |"


class Row(NamedTuple):
    name: str
    cells: int
    seconds: int
    date: str
    python: str
    torch: str
    code: str

    def __str__(self) -> str:
        (chapter,) = (c for c in chapters(ROOT) if c.name == self.name)
        link = f"[{chapter.number} {chapter.title}](../notebooks/{self.name}.ipynb)"
        return "| " + " | ".join(map(str, (link, *self[1:]))) + " |"


def code_of(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def checksum(path: Path) -> str:
    """Of all code but the first cell, which is the same everywhere and names a version."""
    return hashlib.sha256("\n\n".join(code_of(path)[1:]).encode()).hexdigest()[:8]


def page(rows: list[Row]) -> str:
    ruler = "| --- | ---: | ---: | --- | --- | --- | --- |"
    return HEAD + "\n".join([COLUMNS, ruler, *map(str, rows)]) + "\n"


def read_rows(text: str) -> dict[str, Row]:
    """The rows that a page holds, by the notebook's name."""
    pattern = r"^\| \[.*?\]\(\.\./notebooks/(\w+)\.ipynb\) \| (\d+) \| (\d+) \| (.*?) \|$"
    found = {}
    for name, cells, seconds, rest in re.findall(pattern, text, re.M):
        date, python, torch, code = rest.split(" | ")
        found[name] = Row(name, int(cells), int(seconds), date, python, torch, code)
    return found


def run(path: Path) -> Row:
    """Execute a notebook, without keeping what comes out, and return its row."""
    nb = nbformat.read(path, as_version=4)
    client = NotebookClient(
        nb,
        kernel_name="python3",
        timeout=TIMEOUT,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    begin = time.perf_counter()
    client.execute()
    seconds = round(time.perf_counter() - begin)
    today = datetime.date.today().isoformat()
    versions = (platform.python_version(), version("torch").split("+")[0])
    return Row(path.stem, len(code_of(path)), seconds, today, *versions, checksum(path))


def main() -> int:
    parser = argparse.ArgumentParser(description="Time the notebooks and write book/status.md.")
    parser.add_argument("--all", action="store_true", help="also those that have not changed")
    parser.add_argument("names", nargs="*", help="only these, whether they have changed or not")
    args = parser.parse_args()
    if unknown := set(args.names) - {chapter.name for chapter in chapters(ROOT)}:
        parser.error(f"no such chapter: {', '.join(sorted(unknown))}")
    os.environ.update(GPT2_EDU_BOOK="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    os.environ.pop("MPLBACKEND", None)
    old = read_rows(PAGE.read_text(encoding="utf-8")) if PAGE.is_file() else {}
    rows, failures, torch = [], 0, version("torch").split("+")[0]
    for path in (chapter.path for chapter in chapters(ROOT)):
        row = old.get(path.stem)
        stale = row is None or (row.code, row.torch) != (checksum(path), torch)
        if path.stem in args.names if args.names else args.all or stale:
            print(f"{path.stem}: ", end="", flush=True)
            try:
                row = run(path)
                print(f"{row.seconds} s")
            except CellExecutionError as error:
                print(f"{path.stem} failed; its row stays as it was.\n{error}", file=sys.stderr)
                failures += 1
        if row is not None:
            rows.append(row)
    PAGE.write_text(page(rows), encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
