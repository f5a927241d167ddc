"""The whole book for e-readers, as EPUB 3: `make epub`.

The pages are put together as for the PDF (one_page.py). Chromium writes each as XHTML, with
the colours of tables and drawings in the text and formulas as MathML. The file is the same for the
same pages.
"""

from __future__ import annotations

import re
import sys
import zipfile
from html import escape
from pathlib import Path

from benchmarks.chromium import starter
from gpt2_site.addresses import author, published, version
from gpt2_site.chapters import ROOT
from gpt2_site.make_pdf import OUT, SITE, document, missing
from gpt2_site.one_page import Page, pages, place

LONG_AGO = (2026, 1, 1, 0, 0, 0)  # a zip file's times; the content decides
LINK = re.compile(r'href="#([^"]+)"')
# Runs in the page: readers know neither the book's variables nor its scripts.
PREPARE = r"""() => {
  for (const e of document.querySelectorAll(".katex-html, .katex-html *")) e.remove();
  for (const e of document.querySelectorAll(".g2 td[style], .g2 .off, .g2 th[style]")) {
    const { backgroundColor, color } = getComputedStyle(e);
    e.setAttribute("style", `background-color: ${backgroundColor}; color: ${color}`);
  }
  for (const e of document.querySelectorAll("svg, svg *")) {
    const { fill, stroke, opacity } = getComputedStyle(e);
    e.removeAttribute("style");
    for (const [name, value] of Object.entries({ fill, stroke })) {
      if (value) e.setAttribute(name, value.replace(/url\("(.*?)"\)/, "url($1)"));
    }
    if (opacity !== "1") e.setAttribute("opacity", opacity);
  }
  for (const e of document.querySelectorAll("[style*='--']")) e.removeAttribute("style");
  for (const e of document.querySelectorAll(":is(msub, msup) > mo")) {
    if (e.textContent === "\u2061") e.remove(); // KaTeX's sign that a function is applied
  }
  for (const e of document.querySelectorAll("details[name]")) e.removeAttribute("name");
  for (const e of document.querySelectorAll("input, textarea, select")) e.replaceWith("________");
  for (const e of document.querySelectorAll("form")) {
    e.replaceWith(Object.assign(document.createElement("div"), { innerHTML: e.innerHTML }));
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) { // signs that XML does not know, as pictures of them
    const { data } = texts.currentNode;
    const shown = data.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g,
      (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)));
    if (shown !== data) texts.currentNode.data = shown;
  }
  const written = new XMLSerializer();
  return Object.fromEntries([...document.querySelectorAll(".page-of-the-book")]
    .map((e) => [e.id, written.serializeToString(e)]));
}"""


def xhtml(title: str, body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" '
        f'lang="en" xml:lang="en"><head><meta charset="utf-8"/><title>{escape(title)}</title>'
        f'<link rel="stylesheet" href="book.css"/></head><body>{body}</body></html>\n'
    )


def linked(body: str) -> str:
    """Links inside the one document lead to the file of the page that they name."""
    return LINK.sub(lambda link: f'href="{link[1].partition("--")[0]}.xhtml#{link[1]}"', body)


def title_of(page: Page) -> str:
    heading = page.article.find("h1")
    return heading.get_text(" ", strip=True) if heading else page.name


def contents(found: list[Page]) -> str:
    """The table of contents: parts, their chapters, and below each its practice."""
    items: list[str] = []
    for page in found:
        link = f'<a href="{place(page.name)}.xhtml">{escape(title_of(page))}</a>'
        if page.part:
            items.append(f"</ol></li><li><span>{escape(page.part)}</span><ol>")
        if "/practice/" in page.name:
            items[-1] = items[-1].removesuffix("</li>") + f"<ol><li>{link}</li></ol></li>"
        else:
            items.append(f"<li>{link}</li>")
    body = "".join(items).removeprefix("</ol></li>")
    return f'<nav epub:type="toc" id="toc"><h1>Contents</h1><ol>{body}</ol></li></ol></nav>'


def package(found: list[Page], bodies: dict[str, str], files: list[str], title: str) -> str:
    """content.opf: what there is, and in which order."""

    def properties(body: str) -> str:
        used = [kind for kind, mark in (("mathml", "<math"), ("svg", "<svg")) if mark in body]
        return f' properties="{" ".join(used)}"' if used else ""

    manifest = "".join(
        f'<item id="{place(page.name)}" href="{place(page.name)}.xhtml" '
        f'media-type="application/xhtml+xml"{properties(bodies[place(page.name)])}/>'
        for page in found
    )
    kinds = {".svg": "image/svg+xml", ".png": "image/png"}
    manifest += "".join(
        f'<item id="file{n}" href="{name}" media-type="{kinds[Path(name).suffix]}"/>'
        for n, name in enumerate(files)
    )
    spine = "".join(f'<itemref idref="{place(page.name)}"/>' for page in found)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{published("book/index")}#{version()}</dc:identifier>
<dc:title>{escape(title)}</dc:title><dc:language>en</dc:language>
<dc:creator>{escape(author())}</dc:creator>
<dc:rights>Text and figures: CC BY 4.0. Code: MIT.</dc:rights>
<meta property="dcterms:modified">2026-01-01T00:00:00Z</meta>
</metadata>
<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="css" href="book.css" media-type="text/css"/>
<item id="cover" href="cover.png" media-type="image/png" properties="cover-image"/>
{manifest}</manifest>
<spine><itemref idref="nav"/>{spine}</spine></package>
"""


CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/content.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""


def main() -> int:
    if not (SITE / "index.html").is_file():
        print("There are no pages yet: make book", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    target = OUT / f"gpt2-edu-{version()}.epub"
    part = target.with_suffix(".epub.part")
    source = SITE / "whole-book.html"
    found = list(pages(SITE))
    try:
        source.write_text(document(found, {}), encoding="utf-8")
        with starter(missing) as launch:
            browser = launch()
            page = browser.new_page(color_scheme="light")
            page.goto(source.as_uri())
            title = page.title()
            bodies = {name: linked(body) for name, body in page.evaluate(PREPARE).items()}
            browser.close()
        files = sorted(
            {name for body in bodies.values() for name in re.findall(r'src="([^"]+)"', body)}
        )
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as book:

            def put(name: str, content: str | bytes, how: int = zipfile.ZIP_DEFLATED) -> None:
                entry = zipfile.ZipInfo(name, LONG_AGO)
                book.writestr(entry, content, how)

            put("mimetype", "application/epub+zip", zipfile.ZIP_STORED)  # first, as it is
            put("META-INF/container.xml", CONTAINER)
            put("book/content.opf", package(found, bodies, files, title))
            put("book/nav.xhtml", xhtml("Contents", contents(found)))
            put("book/book.css", (ROOT / "site" / "epub.css").read_text("utf-8"))
            put("book/cover.png", (ROOT / "site" / "static" / "heads.png").read_bytes())
            for page_ in found:
                name = place(page_.name)
                put(f"book/{name}.xhtml", xhtml(title_of(page_), bodies[name]))
            for name in files:
                put(f"book/{name}", (SITE / name).read_bytes())
        part.replace(target)
    finally:
        for left in (part, source):
            left.unlink(missing_ok=True)
    print(f"{target.name}: {len(found)} pages, {target.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
