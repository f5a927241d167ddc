"""The site that `make book` built, for the tests beside this file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from benchmarks.chromium import served
from gpt2_site.chapters import parts

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / os.environ.get("SITE", "_build/html")


def pages_of_the_book() -> list[str]:
    """The pages in the order of _toc.yml, as "notebooks/03_crane"."""
    pages = [page for part in parts() for page in part["chapters"]]
    files = [file["file"] for page in pages for file in [page, *page.get("sections", [])]]
    return ["book/index", *files]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", pages_of_the_book(), scope="session")


@pytest.fixture(scope="session")
def page_names() -> list[str]:
    return pages_of_the_book()


@pytest.fixture(scope="session")
def site(missing) -> Path:
    if not (SITE / "index.html").is_file():
        missing("there is no site in _build/html: run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="session")
def book_config() -> dict:
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
