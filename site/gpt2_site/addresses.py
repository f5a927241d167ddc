"""Where the book is published: the pages, the repository, and the notebooks in Colab.

The repository stands in _config.yml, the version in gpt2_edu; nothing else names them.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath

import yaml
from docutils.nodes import make_id

from gpt2_edu import __version__
from gpt2_site.chapters import ROOT


def version() -> str:
    """The version of the package and of the book: "0.1.0"."""
    return __version__


@cache
def _config() -> dict:
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def title() -> str:
    """What the book is called."""
    return str(_config()["title"])


def author() -> str:
    """Who the book is by."""
    return str(_config()["author"])


def repository() -> str:
    """The public repository: "https://github.com/…"."""
    return str(_config()["repository"]["url"])


def published(page: str, link: str = "") -> str:
    """The address of a page, "notebooks/03_crane", or of what a relative link on it leads to."""
    target, _, anchor = link.partition("#")
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / target if target else PurePosixPath(page)).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    path = PurePosixPath(*parts).with_suffix(".html")
    place = f"#{make_id(anchor)}" if anchor else ""  # as a heading's id is written
    return f"{_config()['html']['baseurl']}{path}{place}"


def bootstrap() -> str:
    """The first code cell of every notebook."""
    package = f"git+{repository()}@v{version()}"
    return f"""\
import sys

if "google.colab" in sys.modules:
    %pip install -q "{package}"
# elsewhere, once:
# pip install "gpt2-edu[book] @ {package}"
from gpt2_edu import exhibits

exhibits.setup()"""


def colab_tag() -> str:
    """The tag under which this version's notebooks for Colab are published."""
    return f"colab-v{version()}"


def colab(page: str) -> str:
    """Where the notebook of a page opens in Colab."""
    owner_and_name = repository().partition("github.com/")[2]
    root = f"https://colab.research.google.com/github/{owner_and_name}/blob/{colab_tag()}"
    return f"{root}/{page}.ipynb"
