"""The book's map: all of GPT-2 in one picture, with the part that a chapter is about marked.

The picture is assets/map.svg, where "{layernorm}" stands for the number of that chapter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from ..machine.display import Exhibit, figure
from ..machine.messages import nearest

ASSETS = Path(__file__).parents[1] / "assets"
# The chapters' names in the order of the book.
CHAPTERS = (ASSETS / "chapters.txt").read_text("utf-8").split()

# Of each part: its name in a sentence, and the chapters about it.
PARTS = {
    "whole": ("the whole of GPT-2", "gpt2 inside fast bugs"),
    "tokens": ("tokens", "tokens"),
    "weights": ("the weights", "weights"),
    "embeddings": ("embeddings", "embeddings"),
    "block": ("the block", "block"),
    "residual": ("the residual stream", "residual"),
    "ln_1": ("ln_1", "layernorm"),
    "attention": ("attention", "crane attention mask heads"),
    "cache": ("the key-value cache", "cache"),
    "ln_2": ("ln_2", "layernorm"),
    "mlp": ("the MLP", "mlp"),
    "ln_f": ("ln_f", "layernorm gpt2"),
    "lm_head": ("lm_head", "gpt2"),
    "training": ("training", "training training_well"),
    "sampling": ("sampling", "generation"),
}

ABOUT = (
    "Map of GPT-2, from top to bottom: tokens; the embeddings wte and wpe, added; N blocks, each "
    "ln_1, attention, add, ln_2, MLP, add; then ln_f; lm_head, tied to wte; logits. From there, "
    "training computes a loss and updates the weights, and sampling gives a token that joins the "
    "input."
)

LEGEND = "The way of a text through GPT-2, from top to bottom; ch. = chapter."

# The line's stations, by their parts.
STATIONS = {
    "embeddings": "wte\u00a0+\u00a0wpe",
    "residual": "+",
    "mlp": "MLP",
    "sampling": "next\u00a0token",
}


class Map(Exhibit):
    """The way through the model as one line, with the parts named in ``here`` marked; it opens to
    the whole picture.

    here: one of "whole", "tokens", "weights", "embeddings", "block", "residual", "ln_1",
    "attention", "cache", "ln_2", "mlp", "ln_f", "lm_head", "training", "sampling", or several.
    """

    def __init__(self, here: str | Iterable[str] = "whole") -> None:
        names = [here] if isinstance(here, str) else list(here)
        for name in names:
            if name not in PARTS:
                raise ValueError(f"unknown part {name!r}. {nearest(str(name), PARTS)}")
        if not names:
            raise ValueError(f"name at least one part. Known: {', '.join(PARTS)}")
        self.here = tuple(name for name in PARTS if name in names)

    @classmethod
    def example(cls) -> Map:
        return cls("attention")

    def __repr__(self) -> str:
        return f"Map({', '.join(self.here)})"

    def html(self) -> str:
        here = [PARTS[name] for name in self.here]
        place = f"You are here: {_join([words for words, _ in here])}."
        marked = _join([f"{words} (chapter {numbers(chapters)})" for words, chapters in here])
        drawing = self._drawing(f"{ABOUT} You are here: {marked}.")
        legend = f"<p><strong>{escape(place)}</strong> {escape(LEGEND)}</p>"
        line = f'<summary aria-label="{escape(place)} Map of GPT-2">{self._line()}</summary>'
        return figure("map", "", f'<details class="g2-way">{line}{legend}{drawing}</details>')

    def _line(self) -> str:
        """The stations from tokens to the next token; a marked one is bold and has a frame."""
        cache = ["cache"] if "cache" in self.here else []
        ends = [name for name in ("training", "sampling") if name in self.here] or ["sampling"]
        block = self._stations("ln_1", "attention", *cache, "residual", "ln_2", "mlp", "residual")
        block = self._mark("block", f'<span class="block">[ {block} ] × N</span>')
        model = f"{self._stations('embeddings')} · {block} · {self._stations('ln_f', 'lm_head')}"
        line = f"{self._stations('tokens')} · {self._mark('weights', model)} → "
        return self._mark("whole", line + self._stations(*ends))

    def _stations(self, *parts: str) -> str:
        return " · ".join(self._mark(part, STATIONS.get(part, part)) for part in parts)

    def _mark(self, part: str, html: str) -> str:
        return f'<b aria-current="true">{html}</b>' if part in self.here else html

    def _drawing(self, label: str) -> str:
        """The picture as inline SVG. It has no ids, so that a page can show it more than once."""
        svg = (ASSETS / "map.svg").read_text("utf-8")
        svg = re.sub(r"<!--.*?-->|\n", "", svg)
        for part in PARTS:
            flag = re.compile(f'<g class="flag-{part}">(.*?)</g>')
            svg = flag.sub(r"\1" if part in self.here else "", svg)
            if part in self.here:
                svg = svg.replace(f'class="{part}"', f'class="{part} here" stroke-width="3"')
        svg = re.sub(r"\{(.*?)\}", lambda chapters: numbers(chapters[1]), svg)
        return svg.replace('xmlns="http://www.w3.org/2000/svg" ', "").replace(
            "LABEL", escape(label)
        )


def numbers(chapters: str) -> str:
    """The numbers of chapters given by name: "11, 16–18"."""
    runs: list[list[int]] = []
    for number in sorted(CHAPTERS.index(name) + 1 for name in chapters.split()):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _join(words: list[str]) -> str:
    """One, or one and another, or one, another and a third."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
