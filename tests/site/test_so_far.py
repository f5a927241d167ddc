"""The line with the loss of the model so far: in which chapters, and with which numbers."""

from __future__ import annotations

from gpt2_edu.analysis.staircase import STEPS, stored
from gpt2_site.chapters import chapters, find
from gpt2_site.so_far import ANCHOR, HOME, line


def test_every_step_of_a_chapter_names_a_chapter():
    assert {step.chapter for step in STEPS if step.chapter} <= {one.slug for one in chapters()}


def test_the_line_has_the_stored_losses():
    stairs = stored()
    said = {one.slug: line(one.slug, stairs) for one in chapters()}
    for before, one in zip(stairs.steps, stairs.steps[1:], strict=False):
        if one.step.chapter:
            assert f"loss {one.loss:.2f}." in said[one.step.chapter]
            assert f"has {before.loss:.2f}," in said[one.step.chapter]
    assert sum(text is not None for text in said.values()) == 9


def test_it_is_on_the_built_pages_and_leads_to_the_staircase(soup):
    for step in STEPS:
        if step.chapter:
            (shown,) = soup(f"notebooks/{find(step.chapter).name}").select("article .so-far")
            assert shown.get_text().startswith(line(step.chapter, stored()))
    home = soup(f"notebooks/{find(HOME).name}")
    assert home.select_one(f"#{ANCHOR}")
