"""The whole book as one PDF, with bookmarks, page numbers and links inside: `make pdf`.

Chromium prints the built pages, in their own style, put together by one_page.py. A first pass
finds on which sheet each chapter begins; the second has these numbers in the contents. Chromium's
bookmarks are the headings; here they are put under the book's parts.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup
from pypdf import PdfReader, PdfWriter
from pypdf.generic import Destination, Fit

from benchmarks.chromium import starter
from gpt2_site.addresses import author, published, repository, version
from gpt2_site.chapters import ROOT
from gpt2_site.one_page import Page, pages, place

SITE = ROOT / "_build" / "html"
OUT = ROOT / "_build" / "dist"
STYLE = """
@page { size: A4; margin: 20mm 18mm 22mm; }
@page :first { margin: 0; }
body { display: block; }
article { max-width: none; margin: 0; }
.page-of-the-book, .contents-of-the-book { break-before: page; }
.page-of-the-book > section > h1, .contents-of-the-book h1 { margin-top: 0; }
.title-of-the-book { padding: 70mm 24mm 0; }
.title-of-the-book h1 { font-size: 34pt; }
.title-of-the-book p { font-size: 13pt; }
.contents-of-the-book ol { list-style: none; padding: 0; columns: 1; }
.contents-of-the-book li { display: flex; gap: 0.5em; break-inside: avoid; }
.contents-of-the-book li.in { padding-left: 1.5em; }
.contents-of-the-book li.part { margin-top: 0.8em; font-weight: 600; }
.contents-of-the-book .dots { flex: 1; border-bottom: 1px dotted var(--edge, #999); }
.highlight, pre, table { max-width: 100%; }
.scroll, .g2-scroll { overflow: visible !important; }
"""
FOOT = (
    '<div style="width: 100%; font: 8pt sans-serif; color: #56606b; text-align: center">'
    '<span class="pageNumber"></span></div>'
)


def contents(found: list[Page], numbers: dict[str, int]) -> str:
    """The list of pages, with the numbers of the sheets on which they begin."""
    rows = []
    for page in found:
        title = page.article.find("h1")
        name = title.get_text(" ", strip=True) if title else page.name
        kind = "in" if "/practice/" in page.name else "of"
        if page.part:
            rows.append(f'<li class="part">{escape(page.part)}</li>')
        rows.append(
            f'<li class="{kind}"><a href="#{place(page.name)}">{escape(name)}</a>'
            f'<span class="dots"></span>{numbers.get(place(page.name), "")}</li>'
        )
    return "".join(rows)


def document(found: list[Page], numbers: dict[str, int]) -> str:
    """The whole book as HTML, to stand in the site's own folder."""
    head = BeautifulSoup((SITE / "notebooks/01_tokens.html").read_text("utf-8"), "html.parser").head
    assert head is not None and head.title is not None
    sheets = {
        str(link["href"]).removeprefix("../").partition("?")[0]
        for link in head.find_all("link", rel="stylesheet")
    } | {"_static/practice.css", "_static/front.css", "_static/live.css"}
    links = "".join(
        f'<link rel="stylesheet" href="{sheet}">'
        for sheet in sorted(sheets)
        if (SITE / sheet).is_file()
    )
    title = escape(head.title.get_text().split(" · ")[-1])
    return f"""<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{title}</title>
{links}<style>{STYLE}</style></head><body class="whole-book"><div class="page"><main>
<article class="title-of-the-book"><h1>{title}</h1>
<p>Version {version()}. The pages that answer to you, and the newest version:
<a href="{published("book/index")}">{published("book/index")}</a></p>
<p>What is hidden on a page until you ask for it, hints, solutions, and what is right or wrong with
a guess, is left out here.</p>
<p>Text and figures: CC BY 4.0. Code: MIT. <a href="{repository()}">{repository()}</a>. Set in
faces cut from Source Serif 4 (© Adobe) and JetBrains Mono (© its project authors), under the SIL
Open Font License, <a href="https://openfontlicense.org">openfontlicense.org</a>, and in KaTeX's
(© Khan Academy and others), under the MIT licence.</p></article>
<article class="contents-of-the-book"><h1>Contents</h1><ol>{contents(found, numbers)}</ol></article>
<article>{"".join(str(page.article) for page in found)}</article>
</main></div></body></html>"""


def main() -> int:
    if not (SITE / "index.html").is_file():
        print("There are no pages yet: make book", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    target = OUT / f"gpt2-edu-{version()}.pdf"
    part = target.with_suffix(".pdf.part")
    source = SITE / "whole-book.html"
    found = list(pages(SITE))
    try:
        with starter(missing) as launch:
            browser = launch()
            numbers: dict[str, int] = {}
            for _ in range(2):
                source.write_text(document(found, numbers), encoding="utf-8")
                page = browser.new_page()
                page.set_default_timeout(0)
                page.goto(source.as_uri())
                page.pdf(
                    path=part,
                    format="A4",
                    outline=True,
                    tagged=True,
                    print_background=True,
                    prefer_css_page_size=True,
                    display_header_footer=True,
                    header_template="<span></span>",
                    footer_template=FOOT,
                )
                page.close()
                numbers = sheets_of(part, [place(one.name) for one in found])
            browser.close()
        with_parts(part, found)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
        source.unlink(missing_ok=True)
    print(
        f"{target.name}: {len(PdfReader(target).pages)} sheets, "
        f"{target.stat().st_size / 1e6:.1f} MB"
    )
    return 0


def sheets_of(pdf: Path, names: list[str]) -> dict[str, int]:
    """On which sheet each named place stands, counted from 1."""
    reader = PdfReader(pdf)
    found = {}
    for name, destination in reader.named_destinations.items():
        if name.lstrip("/") in names:
            found[name.lstrip("/")] = (reader.get_destination_page_number(destination) or 0) + 1
    return found


def with_parts(pdf: Path, found: list[Page]) -> None:
    """Give the file a title and an author, and put its bookmarks under the book's parts."""
    reader = PdfReader(pdf)
    writer = PdfWriter(clone_from=reader)
    del writer._root_object["/Outlines"]
    writer.add_metadata({"/Title": reader.metadata.title, "/Author": author()})

    def add(entries: list, parent: object) -> None:
        last = parent
        for entry in entries:
            last = add(entry, last) if isinstance(entry, list) else bookmark(entry, parent)

    def bookmark(entry: Destination, parent: object) -> object:
        sheet = reader.get_destination_page_number(entry)
        place_on_it = Fit.xyz(left=entry.left, top=entry.top)
        return writer.add_outline_item(
            title=str(entry.title), page_number=sheet, parent=parent, fit=place_on_it
        )

    groups: list[list] = []  # the bookmark of each page, and those inside it
    for entry in reader.outline:
        if isinstance(entry, list):
            groups[-1].append(entry)
        else:
            groups.append([entry])
    own = len(groups) - len(found)  # the title and the contents
    for group in groups[:own]:
        add(group, None)
    parent = chapter = None
    for group, page in zip(groups[own:], found, strict=True):
        if page.part:
            sheet = reader.get_destination_page_number(group[0])
            parent = writer.add_outline_item(title=page.part, page_number=sheet, bold=True)
        within = chapter if "/practice/" in page.name else parent
        item = bookmark(group[0], within)
        for inner in group[1:]:
            add(inner, item)
        chapter = item if within is parent else chapter
    writer.write(pdf)


def missing(why: str) -> None:
    raise SystemExit(f"{why}. The PDF is printed by Chromium.")


if __name__ == "__main__":
    sys.exit(main())
