"""The whole book as one PDF, with bookmarks, page numbers and links inside: `make pdf`.

Chromium prints the built pages, in their own style, put together by one_page.py. A first pass
finds on which sheet each chapter begins; the second has these numbers in the contents. Bookmarks
are Chromium's own, made from the levels of headings.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

from bs4 import Tag
from pypdf import PdfReader, PdfWriter

from benchmarks.chromium import starter
from gpt2_site.addresses import author, published, repository, title, version
from gpt2_site.chapters import ROOT, chapters
from gpt2_site.one_page import Page, pages, place
from gpt2_site.reviews import reviews

SITE = ROOT / "_build" / "html"
OUT = ROOT / "_build" / "dist"
SHEETS = "faces styles vendor/katex/katex.min flow learn live front practice"
WIDTH = 657  # pixels between the margins of a sheet
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
/* Chromium shrinks the whole book if one line or table is wider than the sheet. */
article :is(td, th, caption) {
  min-width: 0 !important; white-space: normal !important; overflow-wrap: anywhere;
}
.scroll, .g2-scroll { overflow: visible !important; }
.part-of-the-book { position: absolute; color: transparent; } /* for its bookmark */
"""
FOOT = (
    '<div style="width: 100%; font: 8pt sans-serif; color: #56606b; text-align: center">'
    '<span class="pageNumber"></span></div>'
)


def contents(found: list[Page], numbers: dict[str, int]) -> str:
    """The list of pages, with the numbers of the sheets on which they begin."""
    rows, below = [], below_chapters()
    for page in found:
        heading = page.article.find("h1")
        name = heading.get_text(" ", strip=True) if heading else page.name
        kind = "in" if page.name in below else "of"
        if page.part:
            rows.append(f'<li class="part">{escape(page.part)}</li>')
        rows.append(
            f'<li class="{kind}"><a href="#{place(page.name)}">{escape(name)}</a>'
            f'<span class="dots"></span>{numbers.get(place(page.name), "")}</li>'
        )
    return "".join(rows)


def below_chapters() -> set[str]:
    """The pages that the contents list below a chapter: its other pages, practice, review."""
    notebooks = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for chapter in chapters()
        for path in (*(page.path for page in chapter.more), chapter.practice)
    }
    return notebooks | {review.page for review in reviews()}


def nest(found: list[Page]) -> None:
    """Give headings the levels of their bookmarks: a part, its pages, what is below a chapter."""
    in_a_part, below = False, below_chapters()
    for page in found:
        in_a_part = in_a_part or bool(page.part)
        for heading in page.article.find_all(re.compile("^h[1-4]$")):
            level = int(heading.name[1]) + in_a_part + (page.name in below)
            heading["aria-level"] = str(level)
        if page.part:
            part = Tag(name="div", attrs={"role": "heading", "aria-level": "1"})
            part["class"], part.string = "part-of-the-book", page.part
            page.article.insert(0, part)


def document(found: list[Page], numbers: dict[str, int]) -> str:
    """The whole book as HTML, to stand in the site's own folder."""
    links = "".join(f'<link rel="stylesheet" href="_static/{name}.css">' for name in SHEETS.split())
    name = escape(title())
    return f"""<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{name}</title>
{links}<style>{STYLE}</style></head><body class="whole-book"><div class="page"><main>
<article class="title-of-the-book"><h1>{name}</h1>
<p>Version {version()}. The pages that answer to you, and the newest version:
<a href="{published("book/index")}">{published("book/index")}</a></p>
<p>What is hidden on a page until you ask for it, hints, solutions, and what is right or wrong with
a guess, is left out here.</p>
<p>Text and figures: CC BY 4.0. Code: MIT. <a href="{repository()}">{repository()}</a>. Set in
faces cut from Source Serif 4 (© Adobe), JetBrains Mono (© its project authors) and KaTeX's fonts
(© Design Science and Khan Academy), under the SIL Open Font License,
<a href="https://openfontlicense.org">openfontlicense.org</a>.</p></article>
<article class="contents-of-the-book"><h1>Contents</h1><ol>{contents(found, numbers)}</ol></article>
<article>{"".join(str(page.article) for page in found)}</article>
</main></div></body></html>"""


def main() -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    target = OUT / f"gpt2-edu-{version()}.pdf"
    part = target.with_suffix(".pdf.part")
    source = SITE / "whole-book.html"
    found = list(pages(SITE))
    nest(found)
    try:
        with starter(missing) as launch:
            browser = launch()
            numbers: dict[str, int] = {}
            for _ in range(2):
                source.write_text(document(found, numbers), encoding="utf-8")
                page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
                page.set_default_timeout(0)
                page.emulate_media(media="print")
                page.goto(source.as_uri())
                wide = page.evaluate("document.documentElement.scrollWidth") / WIDTH
                if wide > 1.01:
                    raise SystemExit(f"something is {wide:.2f} times as wide as a sheet")
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
        writer = PdfWriter(clone_from=part)
        writer.add_metadata({"/Author": author()})
        writer.write(part)
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


def missing(why: str) -> None:
    raise SystemExit(f"{why}. The PDF is printed by Chromium.")


if __name__ == "__main__":
    sys.exit(main())
