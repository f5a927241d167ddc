"""Sphinx extension: the files of the site that are no pages.

- For language models: llms.txt, and each page of a chapter as plain text.
- The models' files, as scripts that a page can load from a disk, too.
- A deck of each page's figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from gpt2_edu.web import files_script
from gpt2_site import slides
from gpt2_site.addresses import published
from gpt2_site.chapters import Page, pages
from gpt2_site.theme import opening

FILES = (
    "crane",
    "crane_ask",
    "crane_grammar",
    "crane_learned",
    "crane_units",
    "cups",
    "draft",
    "gpt2",
    "gpt2_runs",
    "novice",
)
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.name != "html":
        return
    out = Path(app.outdir)
    root = app.config.html_baseurl
    files = {
        "robots.txt": f"User-agent: *\nAllow: /\nSitemap: {root}sitemap.xml\n",
        "llms.txt": overview(app, root),
        **{f"text/{page.name}.md": plain_text(page) for page in pages()},
        **{f"_static/files/{name}.js": files_script(name) for name in FILES},
        **{f"slides/{page.name}.html": slides.deck(page) for page in pages()},
    }
    for name, content in files.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text(content, encoding="utf-8")


def overview(app: Sphinx, root: str) -> str:
    """llms.txt: what the book is, its chapters as text, and the other pages."""
    summary = opening(app.env.get_doctree("book/start"))
    lines = [f"# {app.config.html_title}\n\n> {summary}\n\n## Chapters, as plain text\n"]
    for page in pages():
        says = opening(app.env.get_doctree(f"notebooks/{page.name}"))
        address = f"{root}text/{page.name}.md"
        lines.append(f"- [{page.number} {page.title}]({address}): {says}")
    lines.append("\n## Other pages\n")
    for other in sorted(app.env.found_docs):
        if not other.startswith("notebooks/"):
            lines.append(f"- [{app.env.titles[other].astext()}]({published(other)})")
    return "\n".join(lines) + "\n"


def plain_text(of: Page) -> str:
    """A page's text, code and printed outputs in one Markdown file; links are absolute."""
    page = f"notebooks/{of.name}"
    nb = nbformat.read(of.path, as_version=4)
    found = [f"<!-- {published(page)} -->"]
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            text = LINK.sub(lambda link: f"]({published(page, link[1])})", cell.source)
            found.append(text.replace("](#", f"]({published(page)}#"))
        elif "remove-cell" not in cell.metadata.get("tags", ()):
            found.append(f"```python\n{cell.source}\n```")
            if printed := "".join(texts(cell)).strip("\n"):
                found.append(f"```text\n{printed}\n```")
    return "\n\n".join(found) + "\n"


def texts(cell: nbformat.NotebookNode) -> Iterator[str]:
    """What a cell printed, and the plain form of what it showed."""
    for output in cell.outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        yield text if text.endswith("\n") else f"{text}\n"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
