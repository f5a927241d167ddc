"""Sphinx extension: sw.js at the site's root, where a service worker answers for all pages.

It names the version of the site, so that a browser notices a new one, and loads web/offline.mjs.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from sphinx.application import Sphinx

KINDS = (".css", ".html", ".js")


def version(site: Path) -> str:
    """Eight characters that change when a page, a style or a script of the site does."""
    digest = hashlib.sha256()
    for path in sorted(site.rglob("*")):
        if path.suffix in KINDS:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html":
        return
    site = Path(app.outdir)
    script = f'gpt2Site = "{version(site)}";\nimportScripts("_static/offline.js");\n'
    (site / "sw.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write, priority=999)  # after the others have written theirs
    return {"parallel_read_safe": True, "parallel_write_safe": True}
