"""The built pages as one document, for those who print or carry it: what a PDF is made from.

The pages stand in the order of the contents. Each keeps its anchors, under a name that holds the
page's, so that a link from page to page is a link inside the document.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

# An answer to one reader, and two that a title and a running page take the place of.
LEFT_OUT = ("book/index", "book/progress")
SPOILER = re.compile(r"(Hint|Solution|The book's answer)\b")
# What only a page on a screen has. Of the cells, those that draw or check: their outputs stay.
SCREEN = (
    ".ways, .headerlink, button, script, style, noscript, .onward, .unseen, .when-short, "
    "details.hide"
)
REFERS = ("for", "headers", "aria-labelledby", "aria-describedby", "aria-controls")


class Page(NamedTuple):
    """A page of the site: "notebooks/03_crane", the part it begins, if it does, and its article."""

    name: str
    part: str
    article: Tag


def pages(site: Path, front: str = "book/index") -> Iterator[Page]:
    """All pages in the order of the contents, made fit for one document."""
    first = BeautifulSoup((site / f"{front}.html").read_text("utf-8"), "html.parser")
    found: list[tuple[str, str]] = []
    part = ""
    for element in first.select(".contents nav :is(.caption, a)"):
        if element.name == "a":
            name = resolved(front, str(element["href"]))[0]
            found.append((name, part))
            part = ""
        else:
            part = element.get_text()
    found = [(name, part) for name, part in found if name not in LEFT_OUT]
    inside = {name for name, _ in found}
    for name, part in found:
        html = (site / f"{name}.html").read_text("utf-8")
        article = BeautifulSoup(html, "html.parser").select_one("main article")
        if article is None:
            raise ValueError(f"{site / name}.html has no article: make book")
        yield Page(name, part, fit(article, name, inside))


def resolved(page: str, link: str) -> tuple[str, str]:
    """The page that a relative link on a page leads to, and the anchor there."""
    path, _, anchor = link.partition("#")
    if not path:
        return page, anchor
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    return target.removesuffix(".html"), anchor


def place(page: str, anchor: str = "") -> str:
    """The name of a page, or of an anchor on it, in the one document."""
    name = page.replace("/", "-")
    return f"{name}--{unquote(anchor)}" if anchor else name


def fit(article: Tag, page: str, inside: set[str]) -> Tag:
    """An article without what needs a screen, with its names and links made the document's."""
    for element in article.select(SCREEN):
        element.decompose()
    for fold in article.select("details.deeper, details.solved, details:not([class])"):
        title = fold.find("summary")
        if title is not None and SPOILER.match(title.get_text(" ", strip=True)):
            fold.decompose()
        else:
            fold["open"] = ""
    for element in article.find_all(True):
        if "id" in element.attrs:
            element["id"] = place(page, str(element["id"]))
        for name in REFERS:
            if name in element.attrs:
                value = element[name]
                words = value if isinstance(value, list) else str(value).split()
                element[name] = " ".join(place(page, word) for word in words)
        for name, value in list(element.attrs.items()):
            if isinstance(value, str) and "url(#" in value:
                element[name] = re.sub(r"url\(#", f"url(#{place(page)}--", value)
        for name in ("href", "xlink:href", "src"):
            if name in element.attrs:
                _lead(element, name, page, inside)
    article.name = "section"
    article["id"] = place(page)
    article["class"] = ["page-of-the-book"]
    return article


def _lead(element: Tag, name: str, page: str, inside: set[str]) -> None:
    """Have a link or a picture of the page lead there from the one document."""
    link = str(element[name])
    if re.match(r"[a-z]+:", link):
        return
    target, anchor = resolved(page, link)
    if element.name == "a" and (target in inside or not link):
        element[name] = f"#{place(target, anchor)}"
    elif link.startswith("#"):
        element[name] = f"#{place(page, anchor)}"
    elif element.name == "a":  # what is not in the document: a file, a page for the screen
        del element[name]
    else:
        element[name] = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
