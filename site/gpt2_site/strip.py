"""The strip at the head of a chapter: a whole pass, drawn small, with the chapter's part of it lit.

One drawing for all chapters (`_static/strip.svg`), from the numbers of the crane that one_pass.py
stores; `strip.svg#dark` is the same for a dark page. The page marks the part that is lit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from gpt2_site import front_facts as facts
from gpt2_site import one_pass

WIDTH, HEIGHT = 960, 96
TOP, FOOT = 22, 4  # px without lanes: the names stand above
BEGIN, END = 0.12, 0.14  # of the width, before the blocks and behind them
BLOCKS = 3
NARROW = 30  # per cent of the width, in which a name has no room
CHOSEN, FAINT = 0.08, 0.3  # weights below this are not drawn: into the last lane, into the others

ALT = (
    "One pass through the model, from left to right: tokens become vectors; three blocks, each "
    "attention and MLP, write into the stream; then comes the next token. The lane of ␣crane "
    "turns ochre, the machine's colour, after block 0, and teal, the bird's, in block 1."
)
PALETTES = {  # as flow.css has them
    "svg.pass": "#0a6a72 #c48a20 #c9ced4 #f5f6f8 #fff #98a4b0 #8a4b9b",
    "svg.pass:target": "#4fb3ba #dcae3c #4a545f #1b2027 #14181d #66717c #c48bd6",
}
ROLES = "bird machine stream zone paper line ribbon".split()
SENSE = "color-mix(in oklab, var(--bird) var(--side), var(--machine))"
LOOK = f"""
.pass .zone {{ fill: var(--zone); }}
.pass .lane {{ fill: color-mix(in oklab, {SENSE} var(--strength), var(--stream)); }}
.pass path {{ fill: none; stroke: var(--ribbon); }}
.pass circle, .pass .mlp {{ fill: var(--paper); stroke: var(--line); }}
.pass .lit {{ fill: var(--line); }}
"""


@dataclass(frozen=True)
class Place:
    """A part of the picture, from one depth to another, and how "Open the model" shows it."""

    name: str
    begin: float
    end: float
    query: str = ""

    @property
    def left(self) -> float:
        return 100 * along(self.begin) / WIDTH

    @property
    def width(self) -> float:
        return 100 * along(self.end) / WIDTH - self.left

    @property
    def style(self) -> str:
        return f"--left: {self.left:.1f}%; --width: {self.width:.1f}%"

    @property
    def side(self) -> str:
        """Where its name has room."""
        if self.width > NARROW:
            return "inside"
        return "before" if self.left + self.width > 100 - NARROW else "after"


WHOLE = (0, BLOCKS + 2)
ATTENTION = (2, 2.55)
PLACES = {
    "tokens": Place("tokens", 0, 0.55, "station=0"),
    "embeddings": Place("embeddings", 0.5, 1, "station=3"),
    "crane": Place("attention", *ATTENTION, "place=1.0.6.3"),
    "attention": Place("attention", *ATTENTION, "place=1.0&step=0"),
    "mask": Place("attention: the mask", *ATTENTION, "place=1.0&step=2"),
    "heads": Place("attention: its heads", *ATTENTION, "place=1"),
    "mlp": Place("the MLP", 2.55, 2.92, "place=1.mlp"),
    "residual": Place("the residual stream", 1, BLOCKS + 1, "place=1"),
    "layernorm": Place("LayerNorm", 2, 2.12, "place=1"),
    "block": Place("the block", 2, 3, "place=1"),
    "gpt2": Place("the whole of GPT-2", *WHOLE),
    "weights": Place("the weights", 0, BLOCKS + 1),
    "training": Place("training, from the next token back", *WHOLE),
    "training_well": Place("training, from the next token back", *WHOLE),
    "generation": Place("the next token", BLOCKS + 1, BLOCKS + 2),
    "cache": Place("keys and values, which stay", 1, BLOCKS + 1, "place=1.0"),
    "inside": Place("where the crane turns", *ATTENTION, "place=1.2"),
    "fast": Place("the whole model", *WHOLE),
    "bugs": Place("the whole, with bugs", *WHOLE),
    "llama": Place("the blocks, with other parts", 1, BLOCKS + 1, "place=1"),
    "bits": Place("the weights, in fewer bits", 0, BLOCKS + 1),
    "ask": Place("the whole, which learns to answer", *WHOLE),
    "reward": Place("the next token, from a mark back", *WHOLE),
    "how_big": Place("the whole, small and large", *WHOLE),
    "thought": Place("the next tokens, tried and drafted", *WHOLE),
}


def along(depth: float) -> float:
    """Pixels along the way: 0 to 1 is what comes before the blocks, then each is 1 wide."""
    zone = min(int(depth), BLOCKS + 1)
    room = (1 - BEGIN - END) / BLOCKS
    starts = [0, *(BEGIN + n * room for n in range(BLOCKS + 1)), 1]
    return WIDTH * (starts[zone] + (depth - zone) * (starts[zone + 1] - starts[zone]))


def svg() -> str:
    """The drawing; stretched to the room that it is given."""
    stored = one_pass.stored(facts.beginning(facts.PLACES[0]))
    parts = [*_zones(), *_lanes(stored), *_ribbons(stored), *_writers(stored), *_next(stored)]
    palettes = []
    for where, hues in PALETTES.items():
        pairs = zip(ROLES, hues.split(), strict=True)
        palettes.append(f"{where} {{ {' '.join(f'--{role}: {hue};' for role, hue in pairs)} }}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pass" id="dark" role="img" '
        f'aria-label="{ALT}" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">'
        f"<style>{' '.join(palettes)}{LOOK}</style>{''.join(parts)}</svg>\n"
    )


def _over(lane: int, lanes: int) -> float:
    return TOP + (lane + 0.5) * (HEIGHT - TOP - FOOT) / lanes


def _box(kind: str, x: float, y: float, width: float, height: float, rx: float, style="") -> str:
    look = f' style="{style}"' if style else ""
    return (
        f'<rect class="{kind}"{look} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:g}" rx="{rx:g}"/>'
    )


def _coloured(bird: float, machine: float) -> str:
    """By what the model would say there."""
    both = bird + machine
    side = bird / both if both else 0.5
    return f"--strength:{100 * min(1, both):.0f}%;--side:{100 * side:.0f}%"


def _zones() -> Iterator[str]:
    for zone in range(BLOCKS + 2):
        x, end = along(zone) + 1.5, along(zone + 1) - 1.5
        yield _box("zone", x, 0, end - x, HEIGHT, 4)


def _lanes(stored: dict[str, Any]) -> Iterator[str]:
    """Each token, and its lane of the stream."""
    many = len(stored["tokens"])
    ends = [0.55, *(1 + n + part for n in range(BLOCKS) for part in (0.5, 0.96)), BLOCKS + 1.05]
    stages = [(along(begin), along(end)) for begin, end in pairwise(ends)]
    for lane in range(many):
        y, thick = _over(lane, many), 5 if lane == many - 1 else 3
        for said, (x, end) in zip(stored["lens"], stages, strict=True):
            _, _, bird, machine, _ = said[lane]
            yield _box("lane", x, y - thick / 2, end - x, thick, 0, _coloured(bird, machine))
        yield _box("mlp", along(0.1), y - 3, along(0.5) - along(0.1), 6, 2)


def _ribbons(stored: dict[str, Any]) -> Iterator[str]:
    many = len(stored["tokens"])
    for block, heads in enumerate(stored["attention"]):
        x0, x1 = along(block + 1.06), along(block + 1.46)
        middle = (x0 + x1) / 2
        for packed in heads:
            weights = (stored["unit"] * whole for whole in packed)
            for query in range(many):
                last = query == many - 1
                for key in range(query + 1):
                    weight = next(weights)
                    if key == query or weight < (CHOSEN if last else FAINT):
                        continue
                    y0, y1 = _over(key, many), _over(query, many)
                    yield (
                        f'<path d="M{x0:.0f} {y0:.0f}C{middle:.0f} {y0:.0f} {middle:.0f} {y1:.0f} '
                        f'{x1:.0f} {y1:.0f}" stroke-width="{4 * weight:.1f}" '
                        f'opacity="{(0.8 if last else 0.25) * (0.3 + 0.7 * weight):.2f}"/>'
                    )


def _writers(stored: dict[str, Any]) -> Iterator[str]:
    """Where attention and MLPs write; of each MLP how many of its units are lit."""
    many = len(stored["tokens"])
    for block, lit in enumerate(stored["lit"]):
        x, width = along(block + 1.6), along(block + 1.86) - along(block + 1.6)
        for lane, units in enumerate(lit):
            y = _over(lane, many)
            for depth in (1.5, 1.96):
                yield f'<circle cx="{along(block + depth):.1f}" cy="{y:.1f}" r="2.5"/>'
            yield _box("mlp", x, y - 3, width, 6, 3)
            yield _box("lit", x + 3, y - 1, len(units) / stored["units"] * (width - 6), 2, 0)


def _next(stored: dict[str, Any]) -> Iterator[str]:
    x, room = along(BLOCKS + 1.12), along(BLOCKS + 1.95) - along(BLOCKS + 1.12)
    for i, one in enumerate(stored["next"]):
        look = _coloured(0.6 * (one["sense"] == "bird"), 0.6 * (one["sense"] == "machine"))
        yield _box("lane", x, TOP + 2 + 12 * i, max(1.5, room * one["p"]), 8, 1, look)


def write(app: Sphinx, error: Exception | None) -> None:
    if not error and app.builder.name == "html":
        (Path(app.outdir) / "_static" / "strip.svg").write_text(svg(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
