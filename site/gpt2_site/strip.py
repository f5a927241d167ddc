"""The strip at the head of a chapter: a whole pass, drawn small, with the chapter's part of it lit.

One drawing for all chapters (`_static/strip.svg`, by miniature.py). Its address names the chapter,
`strip.svg#mlp`; the page says the part's name, and where it begins and ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sphinx.application import Sphinx

from gpt2_site import miniature
from gpt2_site.miniature import ALT, BLOCKS, WIDTH, along

FAR = 55  # per cent of the width: a part that begins behind it has its name to the left
BROAD = 60  # per cent of the width: a part for which a phone shows all of the picture

__all__ = ["ALT", "PLACES", "Place", "svg"]


@dataclass(frozen=True)
class Place:
    """A part of the picture, from one depth to another, what is lit of it, and how to open it."""

    name: str
    begin: float
    end: float
    lights: str
    query: str = ""

    @property
    def left(self) -> float:
        return 100 * along(self.begin) / WIDTH

    @property
    def width(self) -> float:
        return 100 * along(self.end) / WIDTH - self.left

    @property
    def style(self) -> str:
        slug = next(slug for slug, place in PLACES.items() if place is self)
        drawn = f"url(../_static/strip.svg#{slug})"
        return f"--left: {self.left:.1f}; --width: {self.width:.1f}; --drawn: {drawn}"

    @property
    def side(self) -> str:
        """Where its name has room, and how much of the picture a phone shows."""
        if self.width > BROAD:
            return "all"
        return "before" if self.left > FAR else "after"


WHOLE = (0, BLOCKS + 2)
ATTENTION = (2, 2.53)
DEEP = (1, BLOCKS + 1)
# What is lit, by its name in miniature.py.
ALL, CUBES, BACK = "dim", "cubes", "more-back more-answer"
OWN, BLOCK = "own0 own1 own2", "stage2 stage3 own1 read1 mlp1 plus1"
PARTS = " ".join(f"own{n} read{n} mlp{n} plus{n}" for n in range(BLOCKS))
PLACES = {
    "tokens": Place("tokens", 0.05, 0.5, "tokens", "station=0"),
    "embeddings": Place("embeddings", 0.05, 0.95, "vectors table", "station=3"),
    "crane": Place("attention", *ATTENTION, "own1 stage2", "place=1.0.6.3"),
    "attention": Place("attention", *ATTENTION, "own1 read1", "place=1.0&step=0"),
    "mask": Place("attention: the mask", *ATTENTION, "more-mask !own1 !read1", "place=1.0&step=2"),
    "heads": Place("attention: its heads", 2, 3, "more-heads !own1 !read1 !mlp1 !plus1", "place=1"),
    "mlp": Place("the MLP", 2.55, 2.97, "mlp1", "place=1.mlp"),
    "residual": Place(
        "the residual stream", 0.84, BLOCKS + 1.05, "lanes lane-own plus0 plus1 plus2", "place=1"
    ),
    "layernorm": Place("LayerNorm", 1, BLOCKS + 1.05, "norm", "place=1"),
    "block": Place("the block", 2, 3, f"{BLOCK} cube1", "place=1"),
    "gpt2": Place("the whole of GPT-2", *WHOLE, ALL),
    "weights": Place("the weights", 0.05, BLOCKS + 2, CUBES),
    "training": Place("training, from the next token back", *WHOLE, f"{ALL} {BACK}"),
    "training_well": Place("training, a step for each weight", *WHOLE, f"{CUBES} more-step"),
    "generation": Place("the next token", BLOCKS + 1, BLOCKS + 2, "next loop head"),
    "cache": Place("keys and values, which stay", *DEEP, f"more-kept lane-own {OWN}", "place=1.0"),
    "inside": Place("where the crane turns", *ATTENTION, "lane-own own1", "place=1.2"),
    "fast": Place("the whole model", *WHOLE, ALL),
    "bugs": Place("the whole, with bugs", *WHOLE, f"{ALL} more-bugs"),
    "llama": Place("the blocks, with other parts", *DEEP, f"norm {PARTS}", "place=1"),
    "bits": Place("the weights, in fewer bits", *DEEP, "more-bits !cube0 !cube1 !cube2"),
    "ask": Place("the whole, which learns to answer", *WHOLE, f"{ALL} more-answer"),
    "reward": Place("the next token, from a mark back", *WHOLE, f"next {BACK} more-mark"),
    "how_big": Place("the whole, small and large", *WHOLE, ALL),
    "thought": Place(
        "the next tokens, tried and drafted", BLOCKS + 1, BLOCKS + 2, "next loop tokens"
    ),
}


def svg(own: str = "") -> str:
    """The drawing of all chapters, or for a page that shows but one of them, lit."""
    places = {own: PLACES[own]} if own else PLACES
    return miniature.svg({slug: place.lights for slug, place in places.items()}, lit=bool(own))


def write(app: Sphinx, error: Exception | None) -> None:
    if not error and app.builder.name == "html":
        (Path(app.outdir) / "_static" / "strip.svg").write_text(svg(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
