"""The book to carry: the PDF and the zip, made from the pages that `make book` built."""

from __future__ import annotations

import gc
import re
import shutil
import zipfile
from contextlib import nullcontext
from itertools import chain

import pytest
from fontTools.ttLib import TTFont
from pypdf import PdfReader

from gpt2_site import make_bundle, make_pdf
from gpt2_site.chapters import chapters
from gpt2_site.one_page import pages, place

FEW = (
    *("book/start", "notebooks/01_tokens", "notebooks/practice/01_tokens", "notebooks/03_crane"),
    "book/train",  # its table is wide
)


@pytest.fixture(scope="module")
def found(site):
    gc.disable()  # so many objects are made that half of the time would go to looking through them
    made = list(pages(site))
    gc.enable()
    return made


@pytest.fixture
def here(tmp_path, monkeypatch):
    """What is made stands in a folder of the test."""
    for module in (make_pdf, make_bundle):
        monkeypatch.setattr(module, "OUT", tmp_path)
    return tmp_path


@pytest.mark.thorough
def test_the_document_has_every_chapter_with_its_pages_and_its_practice_in_order(found):
    names = [page.name for page in found]
    own = chain.from_iterable(
        (*(page.name for page in c.pages), f"practice/{c.name}") for c in chapters()
    )
    assert [n.removeprefix("notebooks/") for n in names if "notebooks" in n] == list(own)
    assert [page.part for page in found if page.part][1:3] == [
        "Part 1. From text to vectors",
        "Part 2. Attention",
    ]


@pytest.mark.thorough
def test_the_document_has_its_links_its_pictures_and_no_solution(found):
    text = "".join(str(page.article) for page in found)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert not set(re.findall(r'href="#([^"]+)"', text)) - set(ids)
    assert not re.search(r'(?:href|src)="(?:file:|\.\./|http://127)', text)
    for page in found:
        summaries = [s.get_text() for s in page.article.find_all("summary")]
        assert not [s for s in summaries if s.startswith(("Hint", "Solution", "The book's answer"))]
        for element in page.article.find_all(re.compile("^gpt2-")):
            assert element.find(["table", "svg", "ol", "p"]), f"{page.name}: {element.name}"


@pytest.mark.browser
@pytest.mark.thorough
def test_a_pdf_has_bookmarks_by_part_numbers_and_its_own_faces(
    found, site, here, chromium, tmp_path_factory, monkeypatch
):
    # It is printed from a page that stands for a moment in the site, which other tests read.
    copied = shutil.copytree(site, tmp_path_factory.mktemp("copied") / "html")
    monkeypatch.setattr(make_pdf, "SITE", copied)
    monkeypatch.setattr(make_pdf, "starter", lambda missing: nullcontext(chromium))
    few = [page for page in found if page.name in FEW]
    monkeypatch.setattr(make_pdf, "pages", lambda site: few)
    assert make_pdf.main() == 0
    (pdf,) = here.glob("*.pdf")
    reader = PdfReader(pdf)
    titles = [entry if isinstance(entry, list) else entry.title for entry in reader.outline]
    assert titles[:2] == ["GPT-2 from the first token", "Contents"]
    before, in_parts = (entry for entry in reader.outline[3:] if isinstance(entry, list)), titles
    assert "Part 1. From text to vectors" in in_parts and "Part 2. Attention" in in_parts
    names = str([[str(getattr(e, "title", e)) for e in group] for group in before])
    assert "Start here" in names and "1. Tokens" in names and "3. The crane" in names
    listed = reader.pages[1].extract_text()
    for page in few:
        number = make_pdf.sheets_of(pdf, [place(page.name)])[place(page.name)]
        heading = page.article.find("h1").get_text(" ", strip=True)
        assert re.search(rf"{re.escape(heading)}\s*{number}\b", listed), (heading, number)
    assert reader.metadata.author and reader.metadata.title == "GPT-2 from the first token"
    links = [a.get_object().get("/A", {}) for p in reader.pages for a in p.get("/Annots", [])]
    assert not [a for a in links if str(a.get("/URI", "")).startswith(("file:", "http://127"))]
    assert [file.name for file in here.iterdir()] == [pdf.name]


def test_the_zip_opens_without_a_network_and_has_the_same_bytes_again(site, here, monkeypatch):
    (here / f"gpt2_edu-{make_bundle.version()}-py3-none-any.whl").write_bytes(b"a wheel")
    monkeypatch.setattr(make_bundle, "ROOT", here / "repository")
    (here / "repository" / "notebooks").mkdir(parents=True)
    own = ("LICENSE", "LICENSE-TEXT", "NOTICE", "CITATION.cff", "notebooks/x.ipynb")
    for name in own:
        (here / "repository" / name).write_text(name)
    assert make_bundle.main() == 0
    (made,) = here.glob("*.zip")
    first = made.read_bytes()
    with zipfile.ZipFile(made) as zipped:
        names = zipped.namelist()
        root, _, _ = names[0].partition("/")
        assert names == sorted(names)
        assert {f"{root}/{name}" for name in ("README.txt", "site/index.html", *own)} <= set(names)
        assert b"site/index.html" in zipped.read(f"{root}/README.txt")
    assert make_bundle.main() == 0
    assert made.read_bytes() == first


@pytest.mark.thorough
def test_what_is_of_others_is_named_and_has_its_licence(site):
    """A face that was cut may not keep a reserved name; each copy comes with its licence."""
    vendor = site / "_static" / "vendor"
    faces = list(vendor.rglob("*.woff2"))
    assert len(faces) == 3 + 20
    for face in faces:
        names = {record.nameID: record.toUnicode() for record in TTFont(face)["name"].names}
        own = [names[number] for number in (1, 3, 4, 6)]
        assert not [name for name in own if re.search("Source|JetBrains|KaTeX", name)], own
        assert re.search("Adobe|JetBrains|Khan Academy", names[0]) and "OFL" in names[14]
    assert "Reserved Font Name ‘Source’" in (vendor / "faces" / "OFL.txt").read_text("utf-8")
    for licence in ("katex/LICENSE", "minisearch/LICENSE.txt"):
        assert "Permission is hereby granted" in (vendor / licence).read_text("utf-8")
    notice = (site / "NOTICE").read_text("utf-8")
    shipped = (
        "Source Serif 4",
        "JetBrains Mono",
        "KaTeX",
        "clipboard.js",
        "MiniSearch",
        "three.js",
        "Workbox",
    )
    for name in (*shipped, "@noble/hashes", "lit, in", "gpt2.tiktoken"):
        assert name in notice
