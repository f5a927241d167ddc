"""The notebooks as Colab opens them: where links lead, and what readers see before they run."""

from __future__ import annotations

import re
from urllib.parse import unquote

import nbformat
from bs4 import BeautifulSoup

from gpt2_site.addresses import colab_tag, published, version
from gpt2_site.chapters import ROOT
from gpt2_site.make_colab import for_colab, goes_on

MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)|href=\"([^\"]+)\"")
PUBLISHED = published("x").removesuffix("x.html")


def links(nb: nbformat.NotebookNode) -> list[str]:
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return [one or other for one, other in MARKDOWN_LINK.findall(text)]


def test_a_notebook_in_colab_leads_to_what_is_published_and_has_its_style(site, chapter):
    after = {page.path: goes_on(chapter, page) for page in chapter.pages}
    after[chapter.practice] = goes_on(chapter)
    editions = [
        for_colab(
            nbformat.read(path, as_version=4),
            path.relative_to(ROOT).with_suffix("").as_posix(),
            last,
        )
        for path, last in after.items()
    ]
    *told, practice = (nb.cells[-1].source for nb in editions)
    assert colab_tag() == f"colab-v{version()}"
    root = f"blob/{colab_tag()}/notebooks"
    assert all(f"{root}/practice/{chapter.name}.ipynb" in last for last in told)
    assert f"{root}/{chapter.name}.ipynb" in practice
    for last, page in zip(told, chapter.more, strict=False):
        assert f"{root}/{page.name}.ipynb" in last
    for nb in editions:
        nbformat.validate(nb)
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        assert code[1].id == "keep"
        assert ("gpu" in [cell.id for cell in code]) == ("accelerator" in nb.metadata)
        assert len({cell.id for cell in nb.cells}) == len(nb.cells)
        own = [link for link in links(nb) if link.startswith(PUBLISHED)]
        assert own and all(re.match(r"https?://", link) for link in links(nb))
        for link in own:
            path, _, anchor = link.removeprefix(PUBLISHED).partition("#")
            assert (site / path).is_file(), link
            assert not anchor or f'id="{unquote(anchor)}"' in (site / path).read_text("utf-8"), link
    outputs = [out for nb in editions for cell in nb.cells for out in cell.get("outputs", ())]
    htmls = [output.get("data", {}).get("text/html", "") for output in outputs]
    exhibits = [html for html in htmls if 'class="g2' in html]
    assert exhibits
    for html in exhibits:  # before anything runs
        assert ".g2 {" in BeautifulSoup(html, "html.parser").style.text
