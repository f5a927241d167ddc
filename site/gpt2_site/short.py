"""Sphinx extension: a chapter's page has a short road, chosen by a switch at its head (short.js).

It leaves out what the story does without: the folds, how the package does it, the ledger,
questions, references. Notebooks, slides and the PDF have all of it.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

from gpt2_site.chapters import DEEPER, Page, pages
from gpt2_site.folds import deeper_title

LEFT_OUT = ("The real thing", "What this chapter added", "Questions people ask", "References")
HEADING = re.compile(r"^(#{1,3}) (.+)$", re.M)
MINUTES = re.compile(r"(<strong>Time</strong>: (?:about )?)(\d+)(?= minutes)")


def minutes(page: Page) -> int | None:
    """How long the short road takes: the page's minutes, by the share of its words that remain.

    Words in folds do not count, because the page's own minutes leave them out, too.
    """
    if page.minutes is None:
        return None
    _, *pieces = HEADING.split(page.markdown)
    full = short = 0
    kept = True
    for marks, heading, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if len(marks) < 3:
            kept = heading not in LEFT_OUT
        if not heading.startswith(DEEPER):
            full += len(text.split())
            short += kept * len(text.split())
    return round(page.minutes * short / full)


def left_out(section: nodes.section) -> bool:
    title = section.next_node(nodes.title)
    return isinstance(title, deeper_title) or title.astext() in LEFT_OUT


def mark(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document) -> None:
    """Mark what the short road leaves out, in the text and in the contents beside it."""
    told = next((one for one in pages() if page == f"notebooks/{one.name}"), None)
    if not told:
        return
    context["length"] = {"short": minutes(told), "full": told.minutes}
    for part in filter(left_out, doctree.findall(nodes.section)):
        for anchor in part["ids"]:
            section, entry = f'<section id="{anchor}"', f'<li>(<a [^>]*href="#{anchor}")'
            body = context["body"].replace(section, f'{section} class="long"')
            context |= {"body": body, "toc": re.sub(entry, r'<li class="long">\1', context["toc"])}
    both = rf'\1<span class="when-full">\2</span><span class="when-short">{minutes(told)}</span>'
    context["body"] = MINUTES.sub(both, context["body"], count=1)
    app.add_css_file("short.css", priority=902)
    app.add_js_file("short.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mark, priority=400)  # before the theme makes its choice
    return {"parallel_read_safe": True, "parallel_write_safe": True}
