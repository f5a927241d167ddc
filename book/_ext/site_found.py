"""Sphinx extension: what others see of the site: search engines, messengers, language models.

A page says where it stands (canonical link), what it is (a course and its chapters, as
schema.org names them) and how it looks in a message (a card). Beside the pages stand sitemap.xml,
robots.txt, and llms.txt with the chapters as plain text in text/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from addresses import published, repository
from chapters import ROOT, Chapter, chapters
from docutils import nodes
from found_cards import draw
from site_theme import opening
from sphinx.application import Sphinx

CARDS = "_static/cards"
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
HIDDEN = ("search", "genindex")
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


def about(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document) -> None:
    """What the template's head says of a page to others."""
    if page in HIDDEN:
        return
    by_page = {f"notebooks/{chapter.name}": chapter for chapter in chapters()}
    chapter = by_page.get(page.replace("practice/", ""))
    context["address"] = published(page)
    context["card"] = card(chapter)
    course: dict[str, Any] = {
        "@type": "Course",
        "name": app.config.html_title,
        "description": opening(app.env.get_doctree("book/start")),
        "url": published(app.config.root_doc),
        "provider": {"@type": "Organization", "name": app.config.author, "url": repository()},
        "license": LICENCE,
        "inLanguage": "en",
        "isAccessibleForFree": True,
    }
    if page == app.config.root_doc:
        course["hasPart"] = [part(chapter) for chapter in chapters()]
        context["structured"] = {"@context": "https://schema.org", **course}
    elif page in by_page:
        learning = part(by_page[page]) | {"description": context["description"]}
        context["structured"] = {"@context": "https://schema.org", **learning, "isPartOf": course}
    if structured := context.get("structured"):  # no text of a page ends the element
        context["structured"] = json.dumps(structured, ensure_ascii=False).replace("<", "\\u003c")


def part(chapter: Chapter) -> dict[str, Any]:
    """A chapter as schema.org says it."""
    return {
        "@type": "LearningResource",
        "name": chapter.title,
        "url": published(f"notebooks/{chapter.name}"),
        "position": chapter.number,
        "timeRequired": f"PT{chapter.minutes}M",
        "learningResourceType": "chapter",
        "license": LICENCE,
    }


def card(chapter: Chapter | None) -> str:
    """The address of a page's card."""
    return f"{root()}{CARDS}/{card_name(chapter)}"


def root() -> str:
    """The address of the site."""
    return published("x").removesuffix("x.html")


def card_name(chapter: Chapter | None) -> str:
    return f"{chapter.name if chapter else 'book'}.png"


def write(app: Sphinx, error: Exception | None) -> None:
    """The files beside the pages."""
    if error or app.builder.name != "html":
        return
    out = Path(app.outdir)
    pages = [page for page in sorted(app.env.found_docs) if page not in HIDDEN]
    (out / "sitemap.xml").write_text(sitemap(pages), encoding="utf-8")
    (out / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {root()}sitemap.xml\n", encoding="utf-8"
    )
    (out / "llms.txt").write_text(overview(app, pages), encoding="utf-8")
    for folder in (out / "text", out / CARDS):
        folder.mkdir(parents=True, exist_ok=True)
    draw(out / CARDS / card_name(None), app.config.html_title, "", 0)
    for chapter in chapters():
        (out / "text" / f"{chapter.name}.md").write_text(plain_text(chapter), encoding="utf-8")
        line = f"Chapter {chapter.number} of {len(chapters())} · {app.config.html_title}"
        draw(out / CARDS / card_name(chapter), chapter.title, line, chapter.number)


def sitemap(pages: list[str]) -> str:
    places = "".join(f"<url><loc>{published(page)}</loc></url>\n" for page in pages)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{places}</urlset>\n'
    )


def overview(app: Sphinx, pages: list[str]) -> str:
    """llms.txt: what the book is, its chapters as text, and the other pages."""
    summary = opening(app.env.get_doctree("book/start"))
    lines = [f"# {app.config.html_title}\n\n> {summary}\n\n## Chapters, as plain text\n"]
    for chapter in chapters():
        says = opening(app.env.get_doctree(f"notebooks/{chapter.name}"))
        address = f"{root()}text/{chapter.name}.md"
        lines.append(f"- [{chapter.number} {chapter.title}]({address}): {says}")
    lines.append("\n## Other pages\n")
    for page in pages:
        if not page.startswith("notebooks/"):
            lines.append(f"- [{app.env.titles[page].astext()}]({published(page)})")
    return "\n".join(lines) + "\n"


def plain_text(chapter: Chapter) -> str:
    """A chapter's text, code and printed outputs in one Markdown file; links are absolute."""
    page = f"notebooks/{chapter.name}"
    nb = nbformat.read(chapter.path, as_version=4)
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
    assert (ROOT / "_config.yml").is_file()
    app.connect("html-page-context", about, priority=600)  # after the theme's own
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
