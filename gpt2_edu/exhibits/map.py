"""The book's map: all of GPT-2 in one picture, with the part that a chapter is about marked."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import NamedTuple

from ..machine.display import Exhibit, figure
from ..machine.messages import nearest

WIDTH, HEIGHT = 360, 736
SPINE = 62  # x of the residual stream

# The chapters' names in the order of the book.
CHAPTERS = (Path(__file__).parents[1] / "assets" / "chapters.txt").read_text("utf-8").split()


class Part(NamedTuple):
    """A part of the picture: its name in a sentence, its chapters' names, its frame, its flag."""

    words: str
    chapters: str
    frame: tuple[int, int, int, int]  # x, y, width, height
    flag: tuple[int, int]  # the middle of "you are here" …
    tip: tuple[int, int]  # … and the point that it points to


# In the order in which they are drawn: what stands inside comes later.
PARTS = {
    "whole": Part(
        "the whole of GPT-2", "gpt2 inside fast bugs", (2, 2, 356, 732), (286, 25), (286, 4)
    ),
    "tokens": Part("tokens", "tokens", (28, 18, 206, 46), (286, 54), (233, 54)),
    "weights": Part("the weights", "weights", (8, 92, 322, 504), (276, 77), (276, 91)),
    "embeddings": Part("embeddings", "embeddings", (28, 116, 296, 76), (270, 203), (270, 193)),
    "block": Part("the block", "block", (28, 218, 296, 276), (274, 476), (274, 493)),
    "residual": Part("the residual stream", "residual", (54, 170, 16, 342), (124, 204), (71, 204)),
    "ln_1": Part("ln_1", "layernorm", (98, 250, 150, 26), (298, 263), (247, 263)),
    "attention": Part(
        "attention", "crane attention mask heads", (98, 296, 150, 46), (278, 284), (247, 304)
    ),
    "cache": Part("the key-value cache", "cache", (266, 296, 52, 46), (278, 358), (292, 343)),
    "ln_2": Part("ln_2", "layernorm", (98, 392, 150, 26), (298, 400), (247, 400)),
    "mlp": Part("the MLP", "mlp", (98, 438, 150, 46), (278, 424), (249, 442)),
    "ln_f": Part("ln_f", "layernorm gpt2", (28, 512, 158, 26), (240, 525), (187, 525)),
    "lm_head": Part("lm_head", "gpt2", (28, 552, 158, 26), (240, 565), (187, 565)),
    "training": Part(
        "training", "training training_well", (18, 642, 140, 46), (88, 700), (88, 689)
    ),
    "sampling": Part("sampling", "generation", (180, 642, 140, 46), (250, 700), (250, 689)),
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
BLOCK = ("ln_1", "attention", "cache", "residual", "ln_2", "mlp", "residual")


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
        place = f"You are here: {_several([part.words for part in here])}."
        marked = _several([f"{part.words} (chapter {numbers(part.chapters)})" for part in here])
        drawing = self.svg(f"{ABOUT} You are here: {marked}.")
        legend = f"<p><strong>{escape(place)}</strong> {escape(LEGEND)}</p>"
        line = f'<summary aria-label="{escape(place)} Map of GPT-2">{self._line()}</summary>'
        return figure("map", "", f'<details class="g2-way">{line}{legend}{drawing}</details>')

    def _line(self) -> str:
        """The stations from tokens to the next token; what is marked is bold and has a frame."""
        ends = [name for name in ("training", "sampling") if name in self.here] or ["sampling"]
        block = f'<span class="block">[ {self._stations(*BLOCK)} ] × N</span>'
        model = (
            f"{self._stations('embeddings')} · {self._lit('block', block)} · "
            f"{self._stations('ln_f', 'lm_head')}"
        )
        line = f"{self._stations('tokens')} · {self._lit('weights', model)} → "
        return self._lit("whole", line + self._stations(*ends))

    def _stations(self, *parts: str) -> str:
        """Some of the line; the cache only where it is meant."""
        shown = (part for part in parts if part != "cache" or part in self.here)
        return " · ".join(self._lit(part, STATIONS.get(part, part)) for part in shown)

    def _lit(self, part: str, words: str) -> str:
        return f'<b aria-current="true">{words}</b>' if part in self.here else words

    def svg(self, label: str) -> str:
        """The picture. It holds no ids, so that a page can show it more than once."""
        frames = "".join(self._frame(name) for name in PARTS)
        flags = "".join(_flag(PARTS[name]) for name in self.here)
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}" '
            f'fill="none" stroke="currentColor" font-size="12">{frames}{LINES}'
            f'<g fill="currentColor" stroke="none">{TEXTS}{flags}</g></svg>'
        )

    def _frame(self, name: str) -> str:
        x, y, width, height = PARTS[name].frame
        kind = f'"{name} here" stroke-width="3"' if name in self.here else f'"{name}"'
        return f'<rect class={kind} x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>'


def numbers(chapters: str) -> str:
    """The numbers of chapters given by name: "11, 16–18"."""
    runs: list[list[int]] = []
    for number in sorted(CHAPTERS.index(name) + 1 for name in chapters.split()):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _several(words: list[str]) -> str:
    """One, or one and another, or one, another and a third."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


LOOKS = {
    "mid": ' text-anchor="middle"',
    "end": ' text-anchor="end"',
    "name": ' font-weight="700"',
    "flagged": ' fill="#fff"',
}


def _text(x: int, y: int, words: str, kind: str = "", turn: bool = False) -> str:
    """Words whose place, weight and colour also stand in attributes, for frames without CSS."""
    kinds = kind.split()
    look = "".join(attributes for name, attributes in LOOKS.items() if name in kinds)
    css = f' class="{kind}"' if kind else ""
    turned = f' transform="rotate(-90 {x} {y})"' if turn else ""
    return f'<text{css} x="{x}" y="{y}"{look}{turned}>{escape(words)}</text>'


def _taught(x: int, y: int, chapters: str, kind: str = "soft end") -> str:
    """Where a part is taught."""
    return _text(x, y, f"ch. {numbers(chapters)}", kind)


def _box(x: int, y: int, width: int, height: int) -> str:
    """A small box, for something that is not a part."""
    return f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/>'


def _line(*points: tuple[int, int], kind: str = "", head: bool = True) -> str:
    """A line through points, with a head at its end."""
    css = f' class="{kind}"' if kind else ""
    path = "M" + "L".join(f"{x} {y}" for x, y in points)
    if head:
        (x0, y0), (x, y) = points[-2:]
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)  # lines run along an axis
        path += f"M{x - 5 * dx - 4 * dy} {y - 5 * dy - 4 * dx}L{x} {y}"
        path += f"L{x - 5 * dx + 4 * dy} {y - 5 * dy + 4 * dx}"
    return f'<path{css} d="{path}"/>'


def _plus(y: int) -> str:
    x = SPINE
    return (
        f'<circle class="plus" cx="{x}" cy="{y}" r="8"/>'
        f'<path d="M{x - 4} {y}H{x + 4}M{x} {y - 4}V{y + 4}"/>'
    )


def _flag(part: Part) -> str:
    """ "You are here", on a label that ends in a point."""
    (x, y), (tip_x, tip_y) = part.flag, part.tip
    across = abs(tip_x - x) > 43  # else the point is above or below
    base = f"{x} {y - 6}L{x} {y + 6}" if across else f"{x - 6} {y}L{x + 6} {y}"
    return (
        f'<path class="flag" d="M{base}L{tip_x} {tip_y}Z"/>'
        f'<rect class="flag" fill="#1c2126" x="{x - 43}" y="{y - 9}" '
        'width="86" height="18" rx="9"/>'
        f"{_text(x, y + 4, 'you are here', 'flagged mid')}"
    )


CELLS = ((34, 18, "A"), (54, 46, "␣crane"), (102, 34, "␣ate"), (138, 38, "␣fish"), (178, 16, "."))

LINES = "".join(
    [
        _line((SPINE, 64), (SPINE, 122)),
        _line((SPINE, 146), (SPINE, 170)),  # from the embeddings' sum down to ln_f
        _line((SPINE, 186), (SPINE, 310)),
        _line((SPINE, 326), (SPINE, 452)),
        _line((SPINE, 468), (SPINE, 511)),
        _line((SPINE, 538), (SPINE, 551)),
        _line((98, 178), (71, 178)),
        _line((SPINE, 263), (97, 263)),  # attention: a copy out, a sum back
        _line((173, 276), (173, 295)),
        _line((98, 318), (71, 318)),
        _line((248, 312), (265, 312)),
        _line((266, 328), (249, 328)),
        _line((SPINE, 405), (97, 405)),  # the MLP
        _line((173, 418), (173, 437)),
        _line((98, 460), (71, 460)),
        _line((SPINE, 578), (SPINE, 641)),  # logits
        _line((SPINE, 624), (250, 624), (250, 641)),
        _line((136, 642), (136, 597), kind="dashed"),
        _line((28, 565), (18, 565), (18, 134), (35, 134), kind="dashed", head=False),
        _line((320, 665), (344, 665), (344, 36), (235, 36)),
        _plus(178),
        _plus(318),
        _plus(460),
        _box(36, 122, 84, 24),
        _box(98, 166, 84, 24),
        *(_box(x, 40, width, 18) for x, width, _ in CELLS),
    ]
)

REST = (("inside it", "inside"), ("speed", "fast"), ("bugs", "bugs"))

TEXTS = "".join(
    [
        *(_text(x + w // 2, 53, word, "mid small") for x, w, word in CELLS),
        _text(34, 34, "tokens", "name"),
        _text(100, 34, "(B, T)"),
        _taught(226, 34, "tokens"),
        _text(16, 108, "GPT2", "name"),
        _text(82, 108, "all its weights"),
        _taught(322, 108, "weights"),
        _text(78, 138, "wte", "name mid"),
        _text(140, 182, "wpe", "name mid"),
        _text(132, 138, "a row for each token"),
        _text(192, 182, "… each position"),
        _taught(316, 138, "embeddings"),
        _text(82, 238, "h", "name"),
        _text(98, 238, "the block, × N"),
        _taught(316, 238, "block"),
        _text(106, 267, "ln_1", "name"),
        _taught(240, 267, "layernorm"),
        _text(106, 314, "attn", "name"),
        _taught(240, 314, "crane attention mask heads"),
        _text(106, 333, "inside (B, H, T, T)"),
        _text(292, 314, "cache", "name mid"),
        _taught(292, 333, "cache", "soft mid"),
        _text(82, 380, "residual stream (B, T, C)"),
        _taught(316, 380, "residual"),
        _text(106, 409, "ln_2", "name"),
        _taught(240, 409, "layernorm"),
        _text(106, 456, "mlp", "name"),
        _taught(240, 456, "mlp"),
        _text(106, 475, "inside (B, T, F)"),
        _text(36, 529, "ln_f", "name"),
        _taught(178, 529, "layernorm"),
        _text(36, 569, "lm_head", "name"),
        _taught(178, 569, "gpt2"),
        _text(22, 350, "tied: one table, two roles", "mid on", turn=True),
        _text(348, 530, "the new token joins the input", "mid on", turn=True),
        _text(152, 616, "logits (B, T, V)"),
        _text(130, 616, "update", "end"),
        _text(26, 661, "training", "name"),
        _taught(150, 661, "training training_well"),
        _text(26, 679, "loss"),
        _text(188, 661, "sampling", "name"),
        _taught(312, 661, "generation"),
        _text(188, 679, "the next token"),
        _text(
            180, 722, ", ".join(f"{what}: ch. {numbers(name)}" for what, name in REST), "soft mid"
        ),
    ]
)
