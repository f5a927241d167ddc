"""The dark stage of the whole pass in small, as one drawing for all chapters.

Its numbers are those of the crane that one_pass.py stores. An address such as `strip.svg#mlp`
lights what the chapter `mlp` is about; the rest stays dim.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from PIL import Image

from gpt2_site import front_facts as facts
from gpt2_site import one_pass

WIDTH, HEIGHT = 960, 128
BEGIN, END = 0.12, 0.14  # of the width, before the blocks and behind them
BLOCKS = 3
CEILING, FLOOR = 26, 119  # of the plates of glass; names stand above, the way back is below
TOP, FOOT = 33, 92  # of the lanes
CUBES = 97  # where the weights stand
THICK, SLANT, RISE = 3, 6, 2.4  # of a lane, and how far the lid reaches back and up
STRONG = 6  # the width of a ribbon whose weight is 1
CHOSEN, FAINT = 0.08, 0.3  # weights below this are not drawn: into the last lane, into the others
COLUMNS = 64  # of an MLP's units
READ = (0.05, 0.56)  # where attention and the MLP read: LayerNorm
WRITTEN = (0.5, 0.96)  # where they add to the stream
HUES = ("#c48bd6", "#e0a9ec", "#9a96e6", "#d990b2")  # of heads, as flow.css has them

ALT = (
    "One pass through the model, from left to right: tokens become vectors; three blocks, each "
    "attention and MLP, write into the stream; then comes the next token. The lane of ␣crane "
    "turns ochre, the machine's colour, after block 0, and teal, the bird's, in block 1."
)
SENSE = "color-mix(in oklab, var(--bird) var(--side), var(--machine))"
LOOK = f"""
svg {{ --bird: #4fb3ba; --machine: #dcae3c; }}
.dim {{ opacity: .5; }} .more {{ display: none; }}
.glass {{ fill: url(#glass); }} .top {{ fill: #33444f; }} .side {{ fill: #0c1218; }}
.lane, .wire {{ --made: color-mix(in oklab, {SENSE} var(--strength), #566779); fill: var(--made); }}
.lid {{ fill: color-mix(in oklab, var(--made) 70%, #fff); }}
.wire {{ fill: none; stroke: var(--made); stroke-opacity: .7; }}
.ribbons {{ mix-blend-mode: screen; fill: none; }} .aura {{ stroke-opacity: .3; }}
.plate {{ fill: #3a4b5b; }} .edge {{ fill: #1d2833; }}
.box {{ fill: #2b3f4f; stroke: #8aa0b0; }}
.own {{ fill: #1e565b; stroke: #5fc3ca; stroke-width: 1.5; }}
.plus {{ fill: #0a0e13; stroke: #c9d4de; }}
.bead {{ fill: #8fb0d8; fill-opacity: .5; }}
:is(#layernorm, #llama):target~.norm .bead {{ fill: #e3efff; fill-opacity: 1; stroke: #8fb0d8; }}
#mlp:target~.mlp1 .plate {{ fill: #6b8597; }}
g:target~:is(.cubes, .more-bits) use {{ filter: brightness(1.35); }}
.way {{ fill: none; stroke: #a3b1be; stroke-width: 1.5; }}
.back {{ fill: #ffb45e; stroke: #1d1206; stroke-width: .6; }}
[id^=map], .cells {{ image-rendering: pixelated; }} .grid {{ fill: none; stroke: #18212a; }}
.k {{ fill: #ee8f55; }} .v {{ fill: #43b892; }}
.mark {{ fill: none; stroke: #7fe0b8; stroke-width: 4; }}
.bug {{ fill: none; stroke: #ff8fa0; stroke-width: 1.8; }}
"""


def along(depth: float) -> float:
    """Pixels along the way: 0 to 1 is what comes before the blocks, then each is 1 wide."""
    zone = min(int(depth), BLOCKS + 1)
    room = (1 - BEGIN - END) / BLOCKS
    starts = [0, *(BEGIN + n * room for n in range(BLOCKS + 1)), 1]
    return WIDTH * (starts[zone] + (depth - zone) * (starts[zone + 1] - starts[zone]))


def over(lane: int, lanes: int) -> float:
    return TOP + (lane + 0.5) * (FOOT - TOP) / lanes


def svg(lights: Mapping[str, str], lit: bool = False) -> str:
    """The drawing; `lights` says by a chapter's name which parts are lit. `!` hides a part.

    In an image its address names the chapter. In a page no address does: `lit` is for that of one.
    """
    stored = one_pass.stored(facts.beginning(facts.PLACES[0]))
    groups: dict[str, list[str]] = {}
    for name, drawn in _parts(stored):
        groups.setdefault(name, []).append(drawn)
    rules = []
    known = {"dim", *(one for group in groups for one in group.split())}
    for chapter, names in lights.items():
        for way in ("", "!"):
            chosen = [n.lstrip("!") for n in names.split() if n.startswith("!") == bool(way)]
            if missing := set(chosen) - known:
                raise ValueError(f"no such part: {missing}")
            if chosen:
                where = ",".join(f"#{chapter}:target~.{name}" for name in chosen)
                rules.append(f"{where}{{{'display:none' if way else 'display:inline;opacity:1'}}}")
    body = "".join(
        f'<g class="{_layer(name)} {name}">{"".join(drawn)}</g>' for name, drawn in groups.items()
    )
    look = LOOK + "".join(rules)
    if lit:
        look = look.replace(":target", "")
    targets = "".join(f'<g id="{chapter}"/>' for chapter in lights)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{ALT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">'
        f"<style>{look}</style>{_defs(stored)}{targets}{_stage()}{body}</svg>\n"
    )


def _layer(name: str) -> str:
    return "more" if name.startswith("more") else "dim"


def _defs(stored: dict[str, Any]) -> str:
    """The glass, the light of ribbons, and pictures of weights."""
    made = [
        '<linearGradient id="glass" x2="0" y2="1"><stop stop-color="#26313b"/>'
        '<stop offset="1" stop-color="#10171f"/></linearGradient>'
    ]
    for n, hue in enumerate(HUES):  # light fades where a ribbon begins and ends
        ends = (f'<stop offset="{at}" stop-color="{hue}" stop-opacity="0"/>' for at in (0, 1))
        middle = f'<stop offset=".4" stop-color="{hue}"/>'
        made.append(f'<linearGradient id="h{n}">{middle.join(ends)}</linearGradient>')
    pictures = [(f"cells{n}", box) for n, box in enumerate(one_pass.boxes())]
    pictures += [
        (f"map{n}", _map(n, head, stored)) for n, head in enumerate(stored["attention"][1])
    ]
    for name, picture in pictures:
        made.append(
            f'<image id="{name}" href="{picture}" width="1" height="1" preserveAspectRatio="none"/>'
        )
    return f"<defs>{''.join(made)}</defs>"


def _stages() -> list[tuple[float, float]]:
    ends = [0.84, *(1 + n + part for n in range(BLOCKS) for part in WRITTEN), BLOCKS + 1.06]
    return [(along(begin), along(end)) for begin, end in pairwise(ends)]


def _stage() -> str:
    drawn = []
    for zone in range(BLOCKS + 2):
        x, end = along(zone) + 4, along(zone + 1) - 9
        lid = f"M{x:.1f} {CEILING}l7-5H{end + 7:.1f}l-7 5z"
        side = f"M{end:.1f} {CEILING}l7-5V{FLOOR - 4}l-7 4z"
        drawn.append(
            f'<path class="top" d="{lid}"/><path class="side" d="{side}"/>'
            f'<path class="glass" d="M{x:.1f} {CEILING}H{end:.1f}V{FLOOR}H{x:.1f}z"/>'
        )
    return "".join(drawn)


def _parts(stored: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each part's name and a piece of it, from back to front."""
    many = len(stored["tokens"])
    ys = [over(lane, many) for lane in range(many)]
    yield from _before(stored, ys)
    yield from _cubes()
    yield from _lanes(stored, ys)
    for block, heads in enumerate(stored["attention"]):
        yield from _attention(block, heads, stored["unit"], ys)
        yield from _mlp(block, stored, ys)
    yield "norm", _norm(BLOCKS + 0.985, ys)
    yield from _next(stored, ys)
    yield from _more(stored, ys)


def _before(stored: dict[str, Any], ys: list[float]) -> Iterator[tuple[str, str]]:
    """Tokens, and the first numbers of the vectors that they become."""
    x, letter = along(0.1), (along(0.47) - along(0.1)) / max(map(len, stored["tokens"]))
    for y, token in zip(ys, stored["tokens"], strict=True):
        own = " own" if y == ys[-1] else ""
        yield "tokens", _rect(f"box{own}", x, y - 3, letter * len(token), 6, ' rx="2"')
    left, right = along(0.53), along(0.8)
    for y, vector in zip(ys, stored["vectors"], strict=True):
        row = Image.new("RGBA", (one_pass.FIRST, 1))
        row.putdata([_colour(value) for value in vector])
        yield (
            "vectors",
            f'<image class="cells" href="{_png(row)}" x="{left:.1f}" y="{y - 3:.1f}" '
            f'width="{right - left:.1f}" height="6" preserveAspectRatio="none"/>',
        )


def _colour(value: float) -> tuple[int, int, int, int]:
    """Of a number in a vector: its sign, and as opacity its size."""
    opacity = round(255 * min(1, 0.2 + 1.6 * abs(value)))
    return (0x8F, 0xB0, 0xD8, opacity) if value > 0 else (0xDC, 0xAE, 0x3C, opacity)


def _cubes() -> Iterator[tuple[str, str]]:
    """All matrices of a block as a cube; its front has cells, of each eighth row and column."""
    for block in range(BLOCKS):
        yield f"cubes cube{block}", _cube(along(block + 1.08), 196, block)
    yield "cubes table", _cube(along(0.1), 62, BLOCKS)
    yield "cubes head", _cube(along(BLOCKS + 1.14), 82, BLOCKS)


def _cube(x: float, width: float, cells: int, deep: float = 9) -> str:
    end, foot, rise = x + width, FLOOR - 3, deep / 3.2
    back = f"{deep:.1f}-{rise:.1f}"
    return (
        f'<path class="top" d="M{x:.1f} {CUBES}l{back}h{width}L{end:.1f} {CUBES}z"/>'
        f'<path class="edge" d="M{end:.1f} {CUBES}l{back}V{foot - rise:.1f}L{end:.1f} {foot}z"/>'
        f"{_rect('edge', x, CUBES, width, foot - CUBES)}"
        f'<use href="#cells{cells}" transform="translate({x:.1f} {CUBES}) '
        f'scale({width} {foot - CUBES})"/>'
    )


def coloured(bird: float, machine: float) -> str:
    """By what the model would say there."""
    both = bird + machine
    side = bird / both if both else 0.5
    return f"--strength:{100 * min(1, both):.0f}%;--side:{100 * side:.0f}%"


def _lanes(stored: dict[str, Any], ys: list[float]) -> Iterator[tuple[str, str]]:
    for lane, middle in enumerate(ys):
        own, y = middle == ys[-1], middle - 1
        name, thick = ("lane-own", THICK + 1.5) if own else ("lanes", THICK)
        for n, ((x, end), said) in enumerate(zip(_stages(), stored["lens"], strict=True)):
            _, _, bird, machine, _ = said[lane]
            lid = f"M{x:.1f} {y:.1f}l{SLANT}-{RISE}H{end + SLANT:.1f}L{end:.1f} {y:.1f}z"
            front = f"M{x:.1f} {y:.1f}H{end:.1f}v{thick}H{x:.1f}z"
            yield (
                f"{name} stage{n}",
                f'<g class="lane" style="{coloured(bird, machine)}">'
                f'<path class="lid" d="{lid}"/><path d="{front}"/></g>',
            )


def _attention(
    block: int, heads: list[list[int]], unit: float, ys: list[float]
) -> Iterator[tuple[str, str]]:
    """Its weights as ribbons, from the token that is read to the one that reads."""
    yield "norm", _norm(block + 1 + READ[0], ys)
    x0, x1 = along(block + 1.09), along(block + 1 + WRITTEN[0]) - 4
    drawn: dict[bool, list[str]] = {False: [], True: []}
    for head, packed in enumerate(heads):
        weights = (unit * whole for whole in packed)
        for query, y1 in enumerate(ys):
            own = query == len(ys) - 1
            for key in range(query + 1):
                weight = next(weights)
                if key == query or weight < (CHOSEN if own else FAINT):
                    continue
                way = _curve(x0, ys[key], x1, y1)
                opacity = (0.95 if own else 0.4) * (0.35 + 0.65 * weight)
                look = f'stroke="{HUES[head]}" opacity="{opacity:.2f}"'
                wide = STRONG * weight
                if own:
                    aura = f'stroke="url(#h{head})" stroke-width="{3 * wide:.1f}"'
                    drawn[own].append(f'<path class="aura" d="{way}" {aura}/>')
                drawn[own].append(f'<path d="{way}" {look} stroke-width="{wide:.1f}"/>')
    yield f"read{block}", f'<g class="ribbons">{"".join(drawn[False])}</g>'
    yield f"own{block}", f'<g class="ribbons">{"".join(drawn[True])}</g>'


def _mlp(block: int, stored: dict[str, Any], ys: list[float]) -> Iterator[tuple[str, str]]:
    """A plate for each token, with its units that are lit; and where both parts write."""
    yield "norm", _norm(block + 1 + READ[1], ys)
    x, end = along(block + 1.6), along(block + 1.86)
    high, far = 5.6, 11  # how a plate reaches up, and to the right
    for lane, y in enumerate(ys):
        lit = stored["lit"][block][lane]
        rows = stored["units"] // COLUMNS
        cell = f"{(end - x) / COLUMNS:.3f} 0 {-far / rows:.3f} {high / rows:.3f}"
        yield (
            f"mlp{block}",
            f'<path class="edge" d="M{x:.1f} {y:.1f}H{end:.1f}v2H{x:.1f}z"/>'
            f'<path class="plate" d="M{x:.1f} {y:.1f}l{far}-{high}H{end + far:.1f}l-{far} {high}"/>'
            f'<image href="{_units(lit, stored["units"])}" width="{COLUMNS}" height="{rows}" '
            f'transform="matrix({cell} {x + far:.1f} {y - high:.1f})"/>',
        )
    sizes = [3 if y == ys[-1] else 1.8 for y in ys]
    rings = "".join(
        _ring(block + 1 + depth, y, r) for depth in WRITTEN for y, r in zip(ys, sizes, strict=True)
    )
    yield f"plus{block}", f'<path class="plus" d="{rings}"/>'


def _units(lit: Iterable[int], units: int) -> str:
    """Those that are lit as white pixels."""
    image = Image.new("P", (COLUMNS, units // COLUMNS))
    image.putpalette([255] * 6)
    for unit in lit:
        image.putpixel((unit % COLUMNS, unit // COLUMNS), 1)
    return _png(image, bits=1, transparency=bytes([0, 255]))


def _norm(depth: float, ys: list[float]) -> str:
    x = along(depth) - 2.5
    beads = "".join(f"M{x:.1f} {y - 1.1:.1f}a2.5 2.5 0 0 1 5 0v2.2a2.5 2.5 0 0 1-5 0z" for y in ys)
    return f'<path class="bead" d="{beads}"/>'


def _next(stored: dict[str, Any], ys: list[float]) -> Iterator[tuple[str, str]]:
    x, room = along(BLOCKS + 1.24), along(BLOCKS + 1.9) - along(BLOCKS + 1.24)
    pitch = (FOOT - TOP) / len(stored["next"])
    for i, one in enumerate(stored["next"]):
        look = coloured(0.8 * (one["sense"] == "bird"), 0.8 * (one["sense"] == "machine"))
        y, begin = TOP + i * pitch, along(BLOCKS + 1.1)
        way = _curve(begin, ys[-1], x, y + 4)
        yield "next", f'<path class="wire" style="{look}" d="{way}"/>'
        wide = max(1.5, room * one["p"] / stored["next"][0]["p"] * 0.9)
        yield "next", _rect("lane", x, y, wide, 7.5, f' rx="1.5" style="{look}"')


def _more(stored: dict[str, Any], ys: list[float]) -> Iterator[tuple[str, str]]:
    """What some chapters add to the picture."""
    start, stop = along(BLOCKS + 1.5), along(0.28)
    arrow = f"M{start:.0f} {FLOOR}v3q0 3-3 3H{stop + 3:.0f}q-3 0-3-3v-3m-4 3l4-4 4 4"
    yield "loop", f'<path class="way" d="{arrow}"/>'
    # The gradient's way: from the next token back.
    places = [0.92, *(1 + n + part for n in range(BLOCKS) for part in (0.28, 0.73)), BLOCKS + 1.04]
    for lane, y in enumerate(ys):
        drawn = "".join(f"M{along(place) - 3 * lane:.0f} {y:.1f}l7-3.4v6.8z" for place in places)
        answer = "more-answer" if lane >= len(ys) - 3 else "more-back"
        yield answer, f'<path class="back" d="{drawn}"/>'
    # One step for each weight.
    down = "".join(
        f"M{along(block + 1.08) + 12 + 16 * n:.0f} {CUBES + 1}l-4-8h8z"
        for block in range(BLOCKS)
        for n in range(12)
    )
    yield "more-step", f'<path class="back" d="{down}"/>'
    for head in range(len(HUES)):
        yield "more-heads", _grid(head, along(2.07 + 0.235 * head), 46, len(ys))
    yield "more-mask", _grid(0, along(2.1), 88, len(ys))
    for part, shift in (("k", 0), ("v", 9)):
        kept = "".join(
            f"M{along(block + 1.1) + shift:.1f} {y - 3.5:.1f}h8v6h-8z"
            for block in range(BLOCKS)
            for y in ys[:-1]
        )
        yield "more-kept", f'<path class="{part}" d="{kept}"/>'
    for block, deep in enumerate((32, 8, 4)):  # bits of each weight
        yield "more-bits", _cube(along(block + 1.08), 180, block, deep * 0.8)
    x = along(BLOCKS + 1.8)
    yield "more-mark", f'<path class="mark" d="M{x - 8:.0f} 70l6 7 12-17"/>'
    # Where wrong lines of the museum stand: positions, masks and scores, norms, sums, logits.
    spots = [(0.66, 2), (1.05, 0), (1.28, 3), (1.96, 5), (2.28, 1), (2.56, 6), (2.72, 3)]
    spots += [(3.28, 4), (3.5, 2), (BLOCKS + 1.4, 1)]
    rings = "".join(_ring(depth, ys[lane], 5) for depth, lane in spots)
    yield "more-bugs", f'<path class="bug" d="{rings}"/>'


def _map(nth: int, head: list[int], stored: dict[str, Any]) -> str:
    """A head's weights, a row for each token that reads; what is masked is black."""
    weights, many = iter(head), len(stored["tokens"])
    colour = [int(HUES[nth][at : at + 2], 16) for at in (1, 3, 5)]
    image = Image.new("RGB", (many, many), "#05080c")
    for query in range(many):
        for key in range(query + 1):
            share = 0.3 + 0.7 * stored["unit"] * next(weights)
            image.putpixel((key, query), tuple(round(share * part) for part in colour))
    return _png(image)


def _grid(head: int, x: float, width: float, many: int) -> str:
    """Such a map with lines between its cells; its rows are the lanes."""
    high = FOOT - TOP
    lines = "".join(
        f"M{x + n * width / many:.1f} {TOP}v{high}M{x:.1f} {TOP + n * high / many:.1f}h{width}"
        for n in range(many + 1)
    )
    return (
        f'<use href="#map{head}" transform="translate({x:.1f} {TOP}) scale({width} {high})"/>'
        f'<path class="grid" d="{lines}"/>'
    )


def _png(image: Image.Image, **how: Any) -> str:
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=9, **how)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _curve(x0: float, y0: float, x1: float, y1: float) -> str:
    middle = (x0 + x1) / 2
    return f"M{x0:.0f} {y0:.0f}C{middle:.0f} {y0:.0f} {middle:.0f} {y1:.0f} {x1:.0f} {y1:.0f}"


def _ring(depth: float, y: float, r: float) -> str:
    half = f"a{r} {r} 0 1 0"
    return f"M{along(depth) - r:.1f} {y:.1f}{half} {2 * r} 0{half}-{2 * r} 0z"


def _rect(kind: str, x: float, y: float, width: float, height: float, more: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<rect{named} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:g}"{more}/>'
