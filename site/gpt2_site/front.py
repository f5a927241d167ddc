"""Sphinx extension: the picture of the whole model, and the parts of the book below it.

Three directives:

- ``one-pass``: the picture, with what it shows before any script runs; its numbers are asked of the
  model when the site is built. ``:tensors:`` puts every tensor of the pass below it, folded;
  ``:beside:`` is for a page whose cards set it, one after the other (hour.js).
- ``look``: a card's part of the picture, by a chapter's name; it leads to "Open the model", at what
  the chapter shows there or ``:see:`` says.
- ``part``: the chapters of a part, by its number; its content says what one can do afterwards.
"""

from __future__ import annotations

from html import escape
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gpt2_site import one_pass, strip
from gpt2_site.chapters import chapters

HOUR = "book/hour"
PAGES = ("book/index", "book/model", HOUR)


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


class OnePass(SphinxDirective):
    option_spec: ClassVar = dict.fromkeys(("plays", "space", "tensors", "beside"), directives.flag)

    def run(self) -> list[nodes.Node]:
        more = {"plays": True} if "plays" in self.options else {}  # once by itself
        if "space" in self.options:
            more["space"] = True  # it turns by itself
        if "tensors" in self.options:
            more["tensors"] = "folded"
        if "beside" in self.options:
            more |= {"gpt2": None, "learned": one_pass.learned()}
        return [raw(one_pass.element(**more))]


class Look(SphinxDirective):
    required_arguments = 1
    option_spec: ClassVar = {"see": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        place = strip.PLACES[self.arguments[0]]
        query = self.options.get("see", place.query)
        address = f"model.html{f'?{query}' if query else ''}#gpt2-flow"
        label = f"See it in the picture: {place.name}"
        return [
            raw(
                f'<a class="look strip-of-pass" data-side="{place.side}" href="{escape(address)}" '
                f'aria-label="{escape(label)}" style="{place.style}"><i>'
                f"<b>{escape(place.name)}</b></i></a>"
            )
        ]


class Part(SphinxDirective):
    """The chapters of a part, by its number."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        number = int(self.arguments[0])
        own = [c for c in chapters() if c.part.startswith(f"Part {number}. ")]
        if not own:
            raise self.error(f"there is no part {number}")
        name = own[0].part.partition(". ")[2]
        items = [f"{c.number}. [{c.title}](../notebooks/{c.path.name})" for c in own]
        body = nodes.container()
        listed = StringList([*self.content, "", *items], source=self.get_source_info()[0])
        self.state.nested_parse(listed, self.content_offset, body)
        head = f'<section class="part"><h2><small>Part {number}</small> {escape(name)}</h2>'
        return [raw(head), *body.children, raw("</section>")]


def style(app: Sphinx, page: str, _: str, context: dict, *__: object) -> None:
    """In the head: what is painted first should stay in its place."""
    if page in PAGES:
        context["display_toc"] = False  # the picture has the room of "On this page"
        app.add_css_file("front.css", priority=900)
    if page == HOUR:
        app.add_css_file("hour.css", priority=901)
        app.add_js_file("hour.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", style, priority=400)  # before the theme makes its choice
    app.add_directive("look", Look)
    app.add_directive("one-pass", OnePass)
    app.add_directive("part", Part)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
