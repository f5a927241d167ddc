"""Sphinx extension: a section "Deeper: …" is folded away on the site.

A chapter read without its folds is a complete story; what is good but not needed for it stands in
sections of their own, whose heading begins with "Deeper: ". In a notebook they are sections like
all others. Here everything below the heading becomes a closed <details> within the <section>, and
the heading its summary, so that links to the section, the contents and the search still find it.
_static/book.js opens the fold for them.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from gpt2_site.chapters import DEEPER, alone


class deeper_title(nodes.title):
    """The heading of a fold. As it is a title, the contents and the search have it as one."""


class Folds(SphinxPostTransform):
    """Fold the sections whose heading begins with "Deeper: "."""

    default_priority = 700  # when references are resolved
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        for section in list(self.document.findall(nodes.section)):
            fold(section)


def fold(section: nodes.section) -> None:
    title, *rest = section.children
    if not isinstance(title, nodes.title) or not title.astext().startswith(DEEPER):
        return
    begins = title.children[0]  # text: a heading that began with code or emphasis has no prefix
    if not isinstance(begins, nodes.Text):
        return
    named = [nodes.Text(alone(begins.astext())), *title.children[1:]]
    section.children = []
    section += deeper_title("", "", *named, **title.attributes)
    section += [*rest, nodes.raw("", "</details>\n", format="html")]


def visit_title(writer: HTML5Translator, node: deeper_title) -> None:
    """Without the heading's own link: a summary opens and closes, and may hold nothing to click."""
    level = writer.section_level + writer.initial_header_level - 1
    writer.body.append(
        '<details class="deeper">\n<summary><span class="deeper-label">Deeper</span> '
    )
    writer.body.append(f"<h{level}>")
    writer.context.append(f"</h{level}></summary>\n")


def depart_title(writer: HTML5Translator, node: deeper_title) -> None:
    writer.body.append(writer.context.pop())


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(deeper_title, html=(visit_title, depart_title))
    app.add_post_transform(Folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
