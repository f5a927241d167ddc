"""Write the notebooks as readers open them in Colab into _build/colab: `make colab`.

They are the book's notebooks, with five differences. Links lead to the published pages. The style
of exhibits stands in each stored output, since Colab shows each in a frame of its own. A cell that
keeps the reader's answers in Google Drive follows the first one, and the last one leads on. Where a
chapter says "Now write it", the cell has a name, so that the page can link to it. A release
publishes them under a tag of their own (addresses.py).
"""

from __future__ import annotations

import re
import shutil
import sys

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from gpt2_edu.exhibits.setup import stylesheet
from gpt2_site.addresses import colab, published
from gpt2_site.chapters import ROOT, Chapter, Page, chapters
from gpt2_site.execute_notebooks import STEP, store

OUT = ROOT / "_build" / "colab"
LINK = re.compile(r"(\]\(|href=\")(?![a-z]+:)([^)\"\s]+)")
GPU = """\
import torch

if torch.cuda.is_available():
    print(f"A GPU is here, {torch.cuda.get_device_name()}: this notebook uses it.")
else:
    print("No GPU is here. Everything runs without one; the training takes a minute")
    print("instead of seconds. To get one: Runtime, Change runtime type, T4 GPU.")"""
KEEP = """\
# @title Keep what you write in your Google Drive?
IN_DRIVE = False  # @param {type:"boolean"}
from gpt2_edu.exercises import keep_in_drive

keep_in_drive(IN_DRIVE)"""


def for_colab(nb: nbformat.NotebookNode, page: str, after: str) -> nbformat.NotebookNode:
    """A notebook with the differences above; ``page`` is its name on the site."""
    style = f"<style>{stylesheet()}</style>"
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            if cell.source.startswith("## Now write it"):
                cell.metadata["id"] = STEP
            cell.source = LINK.sub(lambda found: found[1] + published(page, found[2]), cell.source)
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            if 'class="g2' in html:
                output.data["text/html"] = style + html
    first = next(i for i, cell in enumerate(nb.cells) if cell.cell_type == "code")
    keep = new_code_cell(KEEP, id="keep", metadata={"cellView": "form"})
    about = (
        f"*Here you can change and run everything. On [the page of the book]({published(page)}) "
        "the pictures answer to you, without a machine behind them.*"
    )
    nb.cells.insert(first, new_markdown_cell(about, id="about"))
    nb.cells.insert(first + 2, keep)
    if "accelerator" in nb.metadata:
        nb.cells.insert(first + 3, new_code_cell(GPU, id="gpu"))
    nb.cells.append(new_markdown_cell(after, id="go-on"))
    return nb


def goes_on(chapter: Chapter, page: Page | None = None) -> str:
    """The last cell of a page of the chapter, or of its practice: what follows, in Colab."""
    links = [
        f"[chapter {c.number}, {c.title}]({colab(f'notebooks/{c.name}')})"
        for c in chapters()[chapter.number :][:1]
    ]
    if page is None:
        links.append(f"[back to chapter {chapter.number}]({colab(f'notebooks/{chapter.name}')})")
    else:
        links.insert(0, f"[practice]({colab(f'notebooks/practice/{chapter.name}')})")
        later = chapter.pages[chapter.pages.index(page) + 1 :][:1]
        links[:0] = [f"[{one.title}]({colab(f'notebooks/{one.name}')})" for one in later]
    return f"**Go on in Colab**: {' · '.join(links)}"


def main() -> int:
    shutil.rmtree(OUT, ignore_errors=True)
    for chapter in chapters():
        after = {page.path: goes_on(chapter, page) for page in chapter.pages}
        for path, last in {**after, chapter.practice: goes_on(chapter)}.items():
            name = path.relative_to(ROOT).with_suffix("").as_posix()
            target = OUT / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            store(for_colab(nbformat.read(path, as_version=4), name, last), target)
    print(f"{len(list(OUT.rglob('*.ipynb')))} notebooks for Colab: {OUT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
