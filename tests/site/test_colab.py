"""The notebooks as Colab opens them: where links lead, and what readers see before they run."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from bs4 import BeautifulSoup

from gpt2_site.addresses import colab, colab_tag, published, version
from gpt2_site.chapters import ROOT, Chapter, chapters
from gpt2_site.make_colab import for_colab, goes_on

MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)|href=\"([^\"]+)\"")


def edition(chapter: Chapter, practice: bool) -> nbformat.NotebookNode:
    path = chapter.practice if practice else chapter.path
    page = path.relative_to(ROOT).with_suffix("").as_posix()
    return for_colab(nbformat.read(path, as_version=4), page, goes_on(chapter, practice=practice))


@pytest.fixture(params=chapters(), ids=lambda chapter: chapter.name)
def both(request) -> list[nbformat.NotebookNode]:
    return [edition(request.param, practice) for practice in (False, True)]


def links(nb: nbformat.NotebookNode) -> list[str]:
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return [one or other for one, other in MARKDOWN_LINK.findall(text)]


def test_a_link_in_colab_leads_to_a_place_that_is_published(site, both):
    root = published("x").removesuffix("x.html")
    for nb in both:
        assert any(link.startswith(root) for link in links(nb))
        for link in links(nb):
            assert re.match(r"https?://", link), f"{link} leads nowhere in Colab"
            if link.startswith(root):
                path, _, anchor = link.removeprefix(root).partition("#")
                page = site / path
                assert page.is_file(), link
                if anchor:
                    assert unquote(anchor) in anchors(page), link


def anchors(page: Path) -> set[str]:
    text = page.read_text("utf-8")
    return set(re.findall(r'\bid="([^"]+)"', text))


def test_a_chapter_leads_on_to_its_practice_and_to_the_next_in_colab(both):
    first, practice = chapters()[0], f"/{colab_tag()}/notebooks/practice/"
    chapter, exercises = both
    assert practice in chapter.cells[-1].source
    assert f"/{colab_tag()}/notebooks/" in exercises.cells[-1].source
    assert colab(f"notebooks/{first.name}").endswith(
        f"blob/colab-v{version()}/notebooks/{first.name}.ipynb"
    )


def test_before_anything_runs_an_exhibit_has_its_style(both):
    shown = 0
    for nb in both:
        for cell in nb.cells:
            for output in cell.get("outputs", ()):
                html = output.get("data", {}).get("text/html", "")
                if 'class="g2' in html:
                    shown += 1
                    soup = BeautifulSoup(html, "html.parser")
                    assert soup.style is not None and ".g2 {" in soup.style.text
    assert shown


def test_it_differs_from_the_book_s_notebook_in_what_it_says_alone(both):
    """Code and outputs are those that were run and compared."""
    for nb in both:
        nbformat.validate(nb)
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        assert code[1].id == "keep"
        assert ("gpu" in [cell.id for cell in code]) == ("accelerator" in nb.metadata)
        assert len({cell.id for cell in nb.cells}) == len(nb.cells)
