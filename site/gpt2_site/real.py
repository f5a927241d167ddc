"""Sphinx extension: a cell that needs the network or a GPU says when and where it was run.

`make real` runs such cells and stores what they gave (make_real.py). Until then a page says
that there is nothing to see yet.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

NOT_YET = "This cell needs the network, and has not been run for this page."


def say_where(app: Sphinx, doctree: nodes.document) -> None:
    """Below each cell that is tagged "real": the day, the machine and the versions."""
    for cell in list(doctree.findall(nodes.container)):
        if "tag_real" in cell["classes"]:
            real = cell.get("cell_metadata", {}).get("real")
            text = "Run on {on}, on {machine}, with {versions}.".format(**real) if real else NOT_YET
            said = nodes.paragraph(text, text, classes=["run-on"])
            cell.parent.insert(cell.parent.index(cell) + 1, said)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", say_where)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
