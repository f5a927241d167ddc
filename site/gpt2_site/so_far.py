"""Sphinx extension: the loss of the model so far, in each chapter that adds a step to it.

The number is that of gpt2_edu/assets/staircase.json. It is the last line of "What this chapter
added"; a chapter without such a section has it at the top of its summary.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from gpt2_edu.analysis.staircase import Staircase, stored
from gpt2_site.chapters import chapters, find

ADDED, SUMMARY = "What this chapter added", "Summary"
HOME = "gpt2"  # the chapter with the whole staircase
ANCHOR = "one-loss-for-all-ideas"


def line(slug: str, stairs: Staircase) -> str | None:
    """What is said in a chapter, by its name; None where it adds no step."""
    for before, one in zip(stairs.steps, stairs.steps[1:], strict=False):
        if one.step.chapter == slug:
            return (
                f"Your model so far: loss {one.loss:.2f}. The step before, “{before.step.name}”, "
                f"has {before.loss:.2f}, and the floor is {stairs.floor:.2f}."
            )
    return None


class SoFar(SphinxPostTransform):
    """Adds the line to a chapter's page."""

    default_priority = 690  # before sections are folded

    def run(self, **kwargs: object) -> None:
        page = self.env.docname  # not that of the chapter's practice, which has the same name
        chapter = next((one for one in chapters() if page == f"notebooks/{one.name}"), None)
        said = chapter and line(chapter.slug, stored())
        if not said:
            return
        found = self.document.findall(nodes.section)
        sections = {section.next_node(nodes.title).astext(): section for section in found}
        place = f"{find(HOME).name}.html#{ANCHOR}"
        link = nodes.reference("", "All steps", refuri=place, internal=True)
        shown = nodes.paragraph("", f"{said} ", link, nodes.Text("."), classes=["so-far"])
        if ADDED in sections:
            sections[ADDED] += shown
        else:
            sections[SUMMARY].insert(1, shown)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(SoFar)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
