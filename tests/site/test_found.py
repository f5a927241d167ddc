"""What others see of the site: search engines, messengers, language models."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml

import pytest
from bs4 import BeautifulSoup

from gpt2_site.addresses import published
from gpt2_site.chapters import chapters

ROOT = published("x").removesuffix("x.html")


@pytest.fixture(scope="module", params=chapters(), ids=lambda chapter: chapter.name)
def chapter(request):
    return request.param


def head(site, page):
    return BeautifulSoup((site / f"{page}.html").read_text("utf-8"), "html.parser").head


def test_a_page_has_its_address_title_and_picture(site, page_names):
    for page in page_names:
        if page not in ("search", "genindex"):
            said = head(site, page)
            assert said.find("link", rel="canonical")["href"] == published(page)
            assert said.find("meta", property="og:title")["content"].strip()
            picture = said.find("meta", property="og:image")["content"]
            assert picture.startswith(ROOT) and (site / picture.removeprefix(ROOT)).is_file()


def test_the_map_of_the_site_names_every_page_once(site, page_names):
    space = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
    found = [e.text for e in xml.parse(site / "sitemap.xml").findall(".//s:loc", space)]
    assert sorted(found) == sorted(
        published(page) for page in page_names if page not in ("search", "genindex")
    )
    assert f"Sitemap: {ROOT}sitemap.xml" in (site / "robots.txt").read_text("utf-8")


def test_a_language_model_finds_every_chapter_as_text(site, chapter):
    listed = (site / "llms.txt").read_text("utf-8")
    address = f"{ROOT}text/{chapter.name}.md"
    assert f"[{chapter.number} {chapter.title}]({address}): " in listed
    text = (site / "text" / f"{chapter.name}.md").read_text("utf-8")
    assert f"# {chapter.title}" in text and "```python" in text
    assert not re.search(r"\]\((?!https?://)[^)]", re.sub(r"```.*?```", "", text, flags=re.S))
    assert "<svg" not in text and "<style" not in text


def test_a_page_loads_nothing_but_the_book_s_own_files(site, page_names):
    for page in page_names:
        policy = head(site, page).find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == "'none'" and "http" not in rules["script-src"]
        assert "unsafe-inline" not in rules["script-src"] and "unsafe-eval'" in rules["script-src"]
        assert "'unsafe-eval'" not in rules["script-src"]
        hosts = re.findall(r"https?://[^\s;]+", policy)
        assert hosts and all(re.search(r"huggingface\.co$|hf\.co$", host) for host in hosts)
