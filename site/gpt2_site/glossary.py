"""Sphinx extension: a link to the glossary has its entry as title, and so shows it on the spot."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

from gpt2_site.search import read

PAGE = "book/glossary"
LINK = re.compile(r"(?:^|/)glossary\.html#(.+)")
POINTER = re.compile(r"\s*Chapter \d+\.$")  # where the term is explained at length


def entries(glossary: nodes.document) -> dict[str, str]:
    """The text of each entry, by its anchor."""
    return {
        anchor: POINTER.sub("", read(section.next_node(nodes.paragraph)))
        for section in glossary.findall(nodes.section)
        for anchor in section["ids"]
        if section.next_node(nodes.paragraph)
    }


def explain(app: Sphinx, doctree: nodes.document, page: str) -> None:
    links = [
        (link, LINK.search(link.get("refuri", ""))) for link in doctree.findall(nodes.reference)
    ]
    found = entries(app.env.get_doctree(PAGE)) if any(named for _, named in links) else {}
    for link, named in links:
        if named and named[1] in found:
            link["reftitle"] = found[named[1]]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", explain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
