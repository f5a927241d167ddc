"""What `make nbval` compares of a plot: its caption, and not its curve."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
CELL = """
import matplotlib.pyplot as plt
from gpt2_edu import exhibits
fig, ax = plt.subplots()
ax.plot([0, {end}])
exhibits.Plot(fig, "{caption}", alt="A line that goes up, from nought.")
"""


def run(cell: str) -> str:
    return cell.replace("{end}", "1").replace("{caption}", "It goes up.")


@pytest.mark.parametrize(
    ("end", "caption", "passes"),
    [("2", "It goes up.", True), ("1", "It goes down.", False)],
    ids=["another curve passes", "another caption fails"],
)
def test_a_plot_is_compared_by_its_caption(tmp_path, end, caption, passes):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shown = shell.run_cell(run(CELL)).result
    data = {"text/html": shown.html(), "text/plain": repr(shown)}
    output = new_output("execute_result", data=data, execution_count=1)
    source = CELL.replace("{end}", end).replace("{caption}", caption)
    cell = new_code_cell(source, outputs=[output], execution_count=1)
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(new_notebook(cells=[cell], metadata=metadata), tmp_path / "a.ipynb")
    config = ["--nbval-sanitize-with", str(ROOT / "notebooks" / "nbval.cfg")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval"]
        + ["--nbval-current-env", *config, "--rootdir", str(tmp_path), str(tmp_path / "a.ipynb")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"GPT2_EDU_BOOK": "1"},
        check=False,
    )
    assert (done.returncode == 0) is passes, done.stdout + done.stderr
