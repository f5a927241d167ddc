"""The built pages, read as files: links, pictures, other hosts, folds, and what others see."""

from __future__ import annotations

import gzip
import re
import xml.etree.ElementTree as xml
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from fontTools.ttLib import TTFont

from gpt2_site.addresses import colab_tag, published, repository
from gpt2_site.chapters import chapter_of, pages
from tests.site.conftest import ROOT, parsed

PUBLISHED = published("x").removesuffix("x.html")

# What a browser fetches by itself, as opposed to links that a reader may follow.
FETCHED = "script img source iframe embed object video audio link image use".split()
KEYS = "src srcset href data poster".split()
OTHER_HOST = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.I)
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
MOVED = {
    old: str(PurePosixPath(old).parent / new).removesuffix(".html")
    for old, new in CONFIG["sphinx"]["config"]["redirects"].items()
}
STYLE_FETCHES = re.compile(r"@import\s+[\"']([^\"']+)|url\(\s*[\"']?([^\"')]+)")


@cache
def anchors(path: Path) -> frozenset[str]:
    page = parsed(path)
    return frozenset(
        name for tag in page.find_all(True) for name in (tag.get("id"), tag.get("name")) if name
    )


@pytest.fixture(scope="session")
def files(site: Path) -> list[Path]:
    """Every page but the search page, whose links are made in the browser."""
    return sorted(p for p in site.rglob("*.html") if "_static" not in p.parts)


def attribute(tag: Tag, name: str) -> str:
    value = tag.get(name) or ""
    return value if isinstance(value, str) else " ".join(value)


def test_every_page_of_the_table_of_contents_is_built(site, page_names):
    assert [name for name in page_names if not (site / f"{name}.html").is_file()] == []


def test_every_internal_link_leads_to_a_file_and_an_anchor(site, files):
    broken = []
    for file in files:
        for tag in parsed(file).find_all(["a", "link", "script", "img"]):
            target = attribute(tag, "href") or attribute(tag, "src")
            parts = urlsplit(target)
            if not target or parts.scheme or parts.netloc:
                continue
            path = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            path = path / "index.html" if path.is_dir() else path
            where = f"{file.relative_to(site)}: {target}"
            if not path.is_file() or not path.is_relative_to(site):
                broken.append(f"{where}: no such file")
            elif tag.name == "a" and parts.fragment and path.suffix == ".html":
                if unquote(parts.fragment) not in anchors(path):
                    broken.append(f"{where}: no such anchor")
    assert broken == []


def test_no_page_fetches_from_another_host(site, files):
    found = []
    for file in files:
        page = parsed(file)
        where = file.relative_to(site)
        for tag in page.find_all(FETCHED):
            only_named = set(tag.get("rel") or []) & {"canonical", "author", "license"}
            for key in KEYS:
                if not only_named and OTHER_HOST.match(attribute(tag, key)):
                    found.append(f"{where}: <{tag.name} {key}={attribute(tag, key)}>")
        inline = [tag.get_text() for tag in page.find_all("style")]
        inline += [attribute(tag, "style") for tag in page.find_all(style=True)]
        found += [f"{where}: style {url}" for text in inline for url in other_hosts(text)]
        refresh = page.find("meta", attrs={"http-equiv": re.compile("^refresh$", re.I)})
        if refresh and "//" in attribute(refresh, "content"):
            found.append(f"{where}: {refresh}")
    for file in site.rglob("*.css"):
        text = file.read_text(encoding="utf-8")
        found += [f"{file.relative_to(site)}: {url}" for url in other_hosts(text)]
    assert found == []


def other_hosts(css: str) -> list[str]:
    urls = (a or b for a, b in STYLE_FETCHES.findall(css))
    return [url for url in urls if OTHER_HOST.match(url)]


def test_every_picture_says_what_it_shows(site, files):
    """A path, a file name or a word is what tools put there when the author has said nothing."""
    silent = []
    for file in files:
        for image in parsed(file).find_all("img"):
            alt = attribute(image, "alt").strip()
            decorative = image.find_parent(class_="brand")  # beside the book's title
            looks_like_path = re.search(r"[/\\]|\.(png|svg|jpe?g|gif|webp)\b", alt, re.I)
            if decorative:
                continue
            if not alt or looks_like_path or len(alt.split()) < 4:
                silent.append(f"{file.relative_to(site)}: alt={alt!r}, src={image.get('src')}")
    assert silent == []


def test_colab_links_open_the_notebook_in_the_public_repository(soup, page_names):
    owner_and_name = urlsplit(repository()).path.strip("/")
    root = f"https://colab.research.google.com/github/{owner_and_name}/blob/{colab_tag()}"
    for name in (name for name in page_names if name.startswith("notebooks/")):
        links = {attribute(a, "href") for a in soup(name).find_all("a")}
        # a practice page has a link for each exercise, too, which lands at its cell
        colab = {link.partition("#")[0] for link in links if "colab.research.google.com" in link}
        assert colab == {f"{root}/{name}.ipynb"}
        assert (ROOT / f"{name}.ipynb").is_file()


def test_notebooks_can_be_downloaded_rather_than_shown_as_json(soup, page_names):
    for name in page_names:
        for link in soup(name).find_all("a", href=re.compile("_sources/")):
            assert link.has_attr("download"), f"{name}: {link}"


def test_mathematics_is_set_when_the_site_is_built(site, files):
    """It shows without a script, and says its formula to those who hear the page."""
    formulas, signs = 0, {"\u200b"}  # that has no shape
    for face in (site / "_static/vendor/katex/fonts").glob("*.woff2"):
        signs |= set(map(chr, TTFont(face).getBestCmap()))
    for file in files:
        for math in parsed(file).select("article .math"):
            where = f"{file.relative_to(site)}: {math.get_text()[:60]}"
            assert math.select_one(".katex math annotation"), where
            assert not math.select(".katex-error"), where
            shown = "".join(part.get_text() for part in math.select(".katex-html"))
            assert set(shown) <= signs, f"{where}: add them to make_vendor.py's characters"
            formulas += 1
    assert formulas > 300


@pytest.mark.parametrize(("pages", "most"), [("book/index.html", 90_000), ("*/*.html", 175_000)])
def test_a_page_is_light(site, pages, most):
    """What a page fetches before a reader touches anything, compressed as servers send it."""
    for file in site.glob(pages):
        page = parsed(file)
        own = [file]
        for tag in page.select("[data-scripts], script[src], link[rel=stylesheet], img[src]"):
            named = (attribute(tag, name) for name in ("data-scripts", "src", "href"))
            address = next(filter(None, named))
            if not address.startswith("data:"):
                own.append((file.parent / address.partition("?")[0]).resolve())
        italic = page.select_one("article :is(em, cite, .mathnormal)")
        asked = (face for face in faces(page) if italic or "italic" not in face.lower())
        own += [(file.parent / face).resolve() for face in asked]
        assert sum(len(sent(path)) for path in set(own)) <= most, file.relative_to(site)


def faces(page: BeautifulSoup) -> list[str]:
    named = "".join(style.get_text() for style in page.select("style"))
    return re.findall(r"url\([\"']?([^\"')]+woff2)", named)


def test_a_page_waits_for_one_stylesheet_and_for_no_face(site, page_names, soup):
    """What formulas need of KaTeX's is in it; faces are named in the page, for after its paint."""
    for name in page_names:
        page = soup(name)
        (sheet,) = [attribute(link, "href") for link in page.select("link[rel=stylesheet]")]
        text = (site / name).parent.joinpath(sheet.partition("?")[0]).read_text(encoding="utf-8")
        inside = (tag for formula in page.select(".katex") for tag in formula.find_all(True))
        used = {one for tag in inside for one in tag.get("class", [])}
        assert ".katex-mathml{" in text or not used, name
        assert not used & {"vlist", "mfrac"} or ".katex .vlist{" in text, name
        assert ".mathfrak" not in text and "woff2" not in text
        named = {Path(face).stem for face in faces(page)}
        assert named >= {"serif", "serif-italic", "mono"}
        assert ("EduMath_Math-Italic" in named) == ("mathnormal" in used), name


@cache
def sent(path: Path) -> bytes:
    data = path.read_bytes()
    return data if path.suffix in (".woff2", ".png") else gzip.compress(data)


def test_links_to_the_glossary_show_its_entries(site, files):
    """The text without mathematics' markup; a link that is no term leads to the page alone."""
    links = [
        (page, link)
        for page in files
        for link in parsed(page).select("article a[href*='glossary.html#']")
    ]
    assert len(links) > 100
    bad = [
        f"{page.relative_to(site)}: {attribute(link, 'href')}"
        for page, link in links
        if len(attribute(link, "title")) < 20 or re.search(r"\\|Chapter", attribute(link, "title"))
    ]
    assert bad == []


# ---- Folds and old addresses


def test_a_deeper_section_is_a_closed_fold_with_its_heading_as_summary(soup, told):
    page = soup(f"notebooks/{told.name}")
    folds = page.select("article details.deeper")
    assert len(folds) == len(re.findall(r"^### Deeper: ", told.markdown, re.M))
    for fold in folds:
        assert "open" not in fold.attrs
        assert fold.parent.name == "section" and fold.parent["id"].startswith("deeper-")
        heading = fold.summary.find("h3").get_text()
        assert heading and "Deeper" not in heading
        assert not fold.summary.find("a"), "a link in a summary can hardly be clicked"
        assert len(fold.get_text()) > len(heading) + 60, f"{heading}: nothing in it"
        assert fold.find("h2") is None, "the story does not end in a fold"
        assert not [tag for tag in fold.next_siblings if getattr(tag, "name", None)]


def test_figures_are_numbered_through_the_pages_of_a_chapter(soup, told):
    earlier = chapter_of(told).pages[: chapter_of(told).pages.index(told)]
    count = sum(len(soup(f"notebooks/{page.name}").select("figure.g2-plot")) for page in earlier)
    style = soup(f"notebooks/{told.name}").select_one("article > section").get("style", "")
    assert style == (f"counter-reset: figure {count}" if count else "")


def test_every_old_address_leads_to_a_page(site, soup):
    assert MOVED
    for old, new in MOVED.items():
        page = soup(old)
        goal = (site / old).parent / page.find("link", rel="canonical")["href"]
        assert goal.resolve() == (site / f"{new}.html").resolve()
        assert goal.is_file()
        assert page.find("a")["href"] in str(page.find("noscript"))


# ---- What search engines, messengers and language models see


def test_a_page_has_its_address_title_picture_and_policy(site, soup, page_names):
    for name in page_names:
        head = soup(name).head
        assert head.find("link", rel="canonical")["href"] == published(name)
        assert head.find("meta", property="og:title")["content"].strip()
        picture = head.find("meta", property="og:image")["content"]
        assert picture.startswith(PUBLISHED)
        assert (site / picture.removeprefix(PUBLISHED)).is_file()
        policy = head.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == "'none'" and "http" not in rules["script-src"]
        assert "unsafe-inline" not in rules["script-src"]
        assert "'unsafe-eval'" not in rules["script-src"]
        assert rules["require-trusted-types-for"] == "'script'"
        hosts = re.findall(r"https?://[^\s;]+", policy)
        assert hosts and all(re.search(r"huggingface\.co$|hf\.co$", host) for host in hosts)


def test_a_chapter_says_what_it_is_about_and_what_comes_next(soup):
    found = [soup(f"notebooks/{page.name}") for page in pages()]
    told = {page.find("meta", attrs={"name": "description"})["content"] for page in found}
    assert len(told) == len(found) and all(60 < len(text) <= 160 for text in told)
    assert all(len(page.select_one(".onward .next span").get_text().split()) > 5 for page in found)


def test_what_comes_next_is_told_in_whole_sentences(soup, page_names):
    told = {
        name: soup(name).select_one(".onward .next span:not(.section-number)")
        for name in page_names
    }
    texts = {name: span.get_text() for name, span in told.items() if span}
    assert "config.json" in texts["book/scale"]
    assert [text for text in texts.values() if not re.match(r"[“‘(]?[A-Z0-9]", text)] == []


def test_the_map_of_the_site_names_every_page_once(site, page_names):
    space = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
    found = [e.text for e in xml.parse(site / "sitemap.xml").findall(".//s:loc", space)]
    assert sorted(found) == sorted(map(published, page_names))
    assert f"Sitemap: {PUBLISHED}sitemap.xml" in (site / "robots.txt").read_text("utf-8")


def test_a_language_model_finds_every_chapter_as_text(site, told):
    listed = (site / "llms.txt").read_text("utf-8")
    address = f"{PUBLISHED}text/{told.name}.md"
    assert f"[{told.number} {told.title}]({address}): " in listed
    text = (site / "text" / f"{told.name}.md").read_text("utf-8")
    assert f"# {told.title}" in text and "```python" in text
    assert "exhibits.setup()" not in text and "import torch" in text
    assert not re.search(r"\]\((?!https?://)[^)]", re.sub(r"```.*?```", "", text, flags=re.S))
    assert "<svg" not in text and "<style" not in text
