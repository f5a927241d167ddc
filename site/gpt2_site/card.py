"""Sphinx extension: ``read-card``, a model's config.json explained line by line, and counted.

web/card reads and counts; its tests compare the counts with the package's. Before its script the
page has what web/build.mjs wrote with the same code.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).resolve().parents[2] / "web" / "card"
EXAMPLES = {  # as they are on the hub: a file of web/card/examples → the model's name
    "gpt2": "GPT-2 124M",
    "gpt2-xl": "GPT-2 XL",
    "smollm2-135m": "SmolLM2-135M",
    "qwen3-0.6b": "Qwen3-0.6B",
    "llama-3-8b": "Llama 3 8B",
    "llama-3.1-8b": "Llama 3.1 8B",
}
FIRST = (
    "Choose a card, paste one, or drop a config.json here. Each of its lines is explained below."
)


def text(name: str) -> str:
    """An example's config.json."""
    return (FOLDER / "examples" / f"{name}.json").read_text(encoding="utf-8")


def settings() -> dict[str, Any]:
    """What the element is told."""
    examples = {name: {"name": told, "text": text(name)} for name, told in EXAMPLES.items()}
    return {"first": FIRST, "examples": examples}


class ReadCard(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        told = escape(json.dumps(settings(), ensure_ascii=False))
        printed = (FOLDER / "printed.txt").read_text(encoding="utf-8")
        html = (
            f'<gpt2-card class="g2-live" data-settings="{told}">'
            f'<div class="card-view printed">{printed}</div></gpt2-card>'
        )
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("read-card", ReadCard)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
