"""The base of objects that show themselves in a notebook. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import ClassVar


class Exhibit:
    """An object that a notebook shows as HTML, with the look of the book's stylesheet.

    A subclass defines ``html()``, which must be readable without the stylesheet too.
    """

    style: ClassVar[str] = ""  # a <style> before every output; set up where outputs are isolated

    def html(self) -> str:
        """The exhibit as a <figure> or <div> of the class g2, without a stylesheet."""
        raise NotImplementedError(f"{type(self).__name__} has no html()")

    def _repr_html_(self) -> str:
        return Exhibit.style + self.html()


def figure(kind: str, caption: str, body: str, legend: str = "", *, below: bool = False) -> str:
    """A ``<figure>`` with a caption, and a legend after it in plain type; above it or below."""
    title = f"<strong>{escape(caption)}</strong>" if caption else ""
    text = " ".join(filter(None, [title, escape(legend)]))
    head = f"<figcaption>{text}</figcaption>" if text else ""
    content = body + head if below else head + body
    return f'<figure class="g2 g2-{kind}">{content}</figure>'


def text_table(
    kind: str, caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """An exhibit with a table; the labels of its rows are names in code."""
    return f'<div class="g2 g2-{kind}">{table(caption, columns, rows, "<code>{}</code>")}</div>'


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    label: str = "{}",
    attributes: str = "",
) -> str:
    """A table of texts as HTML; the first cell of a row is its label."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{label.format(escape(name))}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return (
        f"<table{attributes}><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
