"""Sphinx extension: at the old address of a page that moved stands a page that leads on.

book/moved.txt holds a line for each: its old name, and its name now. `make new-chapter` writes it
when chapters move.
"""

from html import escape
from os.path import relpath
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.logging import getLogger

# All addresses are relative, for sites in a folder of a server, or on a disk.
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: moved</title>
<link rel="canonical" href="{new}">
<link rel="icon" href="{icon}">
<script>location.replace("{new}" + location.search + location.hash);</script>
<noscript><meta http-equiv="refresh" content="0; url={new}"></noscript>
</head>
<body><p>This page has moved: <a href="{new}">{title}</a>.</p></body>
</html>
"""


def moved(root: Path) -> dict[str, str]:
    """For each old name the name now: {"notebooks/14_cache": "notebooks/15_cache"}."""
    lines = (root / "book" / "moved.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, which ends the build, of addresses that lead nowhere or stand on a page."""
    for old, new in moved(Path(app.srcdir)).items():
        if new not in env.found_docs:
            getLogger(__name__).warning("moved.txt: there is no page %r", new)
        if old in env.found_docs:
            getLogger(__name__).warning("moved.txt: there is a page %r, which did not move", old)


def lead_on(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for old, new in moved(Path(app.srcdir)).items():
        page = out / f"{old}.html"
        if new not in app.env.titles or old in app.env.titles:
            continue
        page.parent.mkdir(parents=True, exist_ok=True)
        html = PAGE.format(
            title=escape(app.env.titles[new].astext()),
            new=relpath(out / f"{new}.html", page.parent),
            icon=relpath(out / "_static" / "favicon.svg", page.parent),
        )
        page.write_text(html, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-check-consistency", check)
    app.connect("build-finished", lead_on)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
