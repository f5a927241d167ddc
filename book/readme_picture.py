"""Draw the picture in README.md: the heat maps that the chapter on heads ends with, from its code.

Usage: .venv/bin/python book/readme_picture.py
"""

import os
from pathlib import Path

import nbformat
from chapters import find
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
DRAW = """
figure = exhibits.Attention(learned, labels).plot()
figure.savefig("../book/_static/heads.png", dpi=110, bbox_inches="tight")
"""

os.environ["GPT2_EDU_BOOK"] = "1"
nb = nbformat.read(find("heads").path, as_version=4)
nb.cells.append(nbformat.v4.new_code_cell(DRAW))
NotebookClient(nb, resources={"metadata": {"path": str(ROOT / "notebooks")}}).execute()
