"""Sphinx extension: a deck of each chapter's figures in the folder slides, beside the pages."""

from pathlib import Path

from sphinx.application import Sphinx

from gpt2_site import make_slides


def add(app: Sphinx, error: Exception | None) -> None:
    if not error and app.builder.format == "html":
        make_slides.write(Path(app.outdir) / "slides")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
