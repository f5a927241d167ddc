"""How the pages are made: Sphinx extensions, and what writes files from the chapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the modules that are no extensions do without Sphinx
    from sphinx.application import Sphinx

EXTENSIONS = (
    "card",
    "theme",
    "extra_files",
    "folds",
    "front",
    "glossary",
    "katex",
    "learn",
    "lists",
    "offline",
    "practice",
    "real",
    "scale",
    "search",
    "short",
    "so_far",
    "strip",
    "unbroken",
)


def setup(app: Sphinx) -> dict[str, bool]:
    for name in EXTENSIONS:
        app.setup_extension(f"{__name__}.{name}")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
