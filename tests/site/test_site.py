"""The built pages, read as files: links, alternative text, other hosts, Colab."""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

from gpt2_site.addresses import colab_tag

# What a browser fetches by itself, as opposed to links that a reader may follow.
FETCHED = [
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("video", "src"),
    ("video", "poster"),
    ("audio", "src"),
    ("link", "href"),
    ("image", "href"),
    ("use", "href"),
]
OTHER_HOST = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.I)
STYLE_FETCHES = re.compile(r"@import\s+[\"']([^\"']+)|url\(\s*[\"']?([^\"')]+)")


@cache
def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path: Path) -> frozenset[str]:
    page = parse(path)
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
        for tag in parse(file).find_all(["a", "link", "script", "img"]):
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
        page = parse(file)
        where = file.relative_to(site)
        for name, key in FETCHED:
            for tag in page.find_all(name):
                only_named = set(tag.get("rel") or []) & {"canonical", "author", "license"}
                if not only_named and OTHER_HOST.match(attribute(tag, key)):
                    found.append(f"{where}: <{name} {key}={attribute(tag, key)}>")
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
        for image in parse(file).find_all("img"):
            alt = attribute(image, "alt").strip()
            decorative = image.find_parent(class_="brand")  # beside the book's title
            looks_like_path = re.search(r"[/\\]|\.(png|svg|jpe?g|gif|webp)\b", alt, re.I)
            if decorative:
                continue
            if not alt or looks_like_path or len(alt.split()) < 4:
                silent.append(f"{file.relative_to(site)}: alt={alt!r}, src={image.get('src')}")
    assert silent == []


def test_colab_links_open_the_notebook_in_the_public_repository(site, page_names, book_config):
    owner_and_name = urlsplit(book_config["repository"]["url"]).path.strip("/")
    root = f"https://colab.research.google.com/github/{owner_and_name}/blob/{colab_tag()}"
    notebooks = [name for name in page_names if name.startswith("notebooks/")]
    assert notebooks
    for name in notebooks:
        links = {attribute(a, "href") for a in parse(site / f"{name}.html").find_all("a")}
        # a practice page has a link for each exercise, too, which lands at its cell
        colab = {link.partition("#")[0] for link in links if "colab.research.google.com" in link}
        assert colab == {f"{root}/{name}.ipynb"}
        assert (Path(__file__).resolve().parents[2] / f"{name}.ipynb").is_file()


def test_notebooks_can_be_downloaded_rather_than_shown_as_json(site, page_names):
    for name in page_names:
        for link in parse(site / f"{name}.html").find_all("a", href=re.compile("_sources/")):
            assert link.has_attr("download"), f"{name}: {link}"


def test_mathematics_is_set_when_the_site_is_built(site, files):
    """It shows without a script, and says its formula to those who hear the page."""
    formulas = 0
    for file in files:
        for math in parse(file).select("article .math"):
            where = f"{file.relative_to(site)}: {math.get_text()[:60]}"
            assert math.select_one(".katex math annotation"), where
            assert not math.select(".katex-error"), where
            formulas += 1
    assert formulas > 300


@pytest.mark.parametrize(("pages", "most"), [("book/index.html", 150_000), ("*/*.html", 250_000)])
def test_a_page_is_light(site, pages, most):
    """What a page fetches before a reader touches anything, compressed as servers send it."""
    for file in site.glob(pages):
        page = parse(file)
        own = [file]
        for tag in page.select("script[src], link[rel=stylesheet], link[rel=preload], img[src]"):
            address = attribute(tag, "src") or attribute(tag, "href")
            if not address.startswith("data:"):
                own.append((file.parent / address.partition("?")[0]).resolve())
        for sheet in [path for path in own if path.suffix == ".css"]:
            faces = re.findall(r"url\([\"']?([^\"')]+woff2)", sheet.read_text(encoding="utf-8"))
            own += [(sheet.parent / face).resolve() for face in faces if "faces" in face]
        if page.select_one(".katex"):  # the faces that most formulas need
            fonts = site / "_static/vendor/katex/fonts"
            own += [fonts / f"KaTeX_{face}.woff2" for face in ("Main-Regular", "Math-Italic")]
        assert sum(len(sent(path)) for path in set(own)) <= most, file.relative_to(site)


@cache
def sent(path: Path) -> bytes:
    data = path.read_bytes()
    return data if path.suffix in (".woff2", ".png") else gzip.compress(data)


def test_links_to_the_glossary_show_its_entries(site, files):
    """The text without mathematics' markup; a link that is no term leads to the page alone."""
    links = [
        (page, link)
        for page in files
        for link in parse(page).select("article a[href*='glossary.html#']")
    ]
    assert len(links) > 100
    bad = [
        f"{page.relative_to(site)}: {attribute(link, 'href')}"
        for page, link in links
        if len(attribute(link, "title")) < 20 or re.search(r"\\|Chapter", attribute(link, "title"))
    ]
    assert bad == []
