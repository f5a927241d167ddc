"""The small pictures of the first page, one for each part of the book, drawn with real numbers.

Colours are the page's own; a number's size is how much of the accent its cell has.
"""

from __future__ import annotations

import math
from html import escape

from gpt2_site import front_facts as facts

WIDE, HIGH = 220, 132


def picture(inside: str, says: str) -> str:
    """An inline SVG, and in words what it shows."""
    return (
        f'<svg class="sketch" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{escape(says)}">'
        f"{inside}</svg>"
    )


def text(x: float, y: float, said: str, kind: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(said)}</text>'


def cell(x: float, y: float, wide: float, high: float, share: float, kind: str = "heat") -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" class="{kind}" '
        f'fill-opacity="{min(1, abs(share)):.2f}"/>'
    )


def box(x: float, y: float, wide: float, high: float, said: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="4" class="box"/>'
        f"{text(x + wide / 2, y + high / 2 + 4, said, 'mid')}"
    )


def tokens() -> str:
    """A sentence as tokens, ids and vectors."""
    sentence = "A crane ate fish"
    numbers = facts.ids(sentence)[1:]
    names = facts.names(numbers)
    drawn = []
    for n, (name, number, vector) in enumerate(
        zip(names, numbers, facts.vectors(numbers, 6), strict=True)
    ):
        x = 4 + 54 * n
        drawn += [box(x, 4, 50, 26, name), text(x + 25, 48, str(number), "mid soft")]
        most = 0.5  # of a number in these vectors
        drawn += [
            cell(x + 15, 58 + 12 * i, 20, 11, value / most, "heat" if value > 0 else "other")
            for i, value in enumerate(vector)
        ]
    listed = ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))
    return picture(
        "".join(drawn),
        f"The tokens of “{sentence}” with their ids: {listed}. Below each the first six numbers of "
        "its vector.",
    )


def attention() -> str:
    """Who looks at whom, in one head."""
    sentence = facts.beginning("marsh")
    names = facts.names(facts.ids(sentence))
    block, head = facts.HEAD
    rows = facts.weights(sentence, block, head).tolist()
    size, left, top = 17, 62, 6
    drawn = []
    for r, row in enumerate(rows):
        drawn.append(text(left - 6, top + size * r + 12.5, names[r], "end"))
        for c, weight in enumerate(row[: r + 1]):
            x, y = left + size * c, top + size * r
            drawn += [
                f'<rect x="{x}" y="{y}" width="16" height="16" class="room"/>',
                cell(x, y, 16, 16, weight),
            ]
    key = names.index("␣marsh")
    weight = rows[-1][key]
    x = left + size * len(rows) + 4
    drawn.append(text(x, top + size * (len(rows) - 1) + 12.5, f"{weight:.2f}"))
    return picture(
        "".join(drawn),
        f"Attention weights of head {block}.{head} for “{sentence}”, a triangle. The last row is "
        f"crane's: marsh has {weight:.2f} of it.",
    )


def block() -> str:
    """What a block is made of."""
    config = facts.model().config
    width, heads = config.n_embd, config.n_head
    drawn = [f'<path class="line" d="M 20 {HIGH - 4} V 4"/>']
    for y, name, inner in ((92, "attention", f"{heads} heads"), (32, "MLP", f"{4 * width} units")):
        drawn += [
            f'<path class="line" d="M 20 {y + 26} H 46 M 136 {y} H 156 V {y - 16} H 27"/>',
            f'<path class="line" d="M 96 {y + 13} V {y}"/>',
            box(46, y + 14, 90, 20, "LayerNorm"),
            box(46, y - 10, 90, 20, name),
            text(162, y + 4, inner, "soft"),
            f'<circle cx="20" cy="{y - 16}" r="7" class="box"/>',
            text(20, y - 12, "+", "mid"),
        ]
    return picture(
        "".join(drawn),
        f"A block: a stream of {width} numbers a token runs upwards. LayerNorm and attention "
        f"with {heads} heads read it and add to it, then LayerNorm and an MLP of {4 * width} units "
        "do.",
    )


def training() -> str:
    """The loss of the run that trained the book's model."""
    curve, floor = facts.training()
    first, (start, _), (steps, last) = curve[0][1], curve[1], curve[-1]
    left, right, top, bottom = 26, WIDE - 8, 14, HIGH - 26

    def x(step: int) -> float:  # both axes in powers of ten
        return left + (right - left) * math.log(max(step, start) / start, steps / start)

    def y(loss: float) -> float:
        return bottom - (bottom - top) * math.log(loss / floor, first / floor)

    shown = curve[:1] + [row for row in curve[1:] if fresh(x(row[0]), x(row[0] - start))]
    points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in shown)
    drawn = [
        f'<path class="axis" d="M {left} {top - 6} V {bottom + 6} H {right}"/>',
        f'<path class="dashed" d="M {left} {y(floor):.1f} H {right}"/>',
        f'<polyline class="curve" points="{points}"/>',
        text(left + 16, y(first) + 4, f"{first:.2f}"),
        text(right, y(last) - 12, f"{last:.2f}", "end"),
        text(left + 6, y(floor) - 5, f"floor {floor:.2f}", "soft"),
        text(10, 70, "loss", "mid soft"),
        text(left, HIGH - 6, f"step {start}", "soft"),
        text(right, HIGH - 6, f"{steps:,}", "end soft"),
    ]
    return picture(
        "".join(drawn),
        f"The loss of the run that trained the book's model: from {first:.2f} to {last:.2f} in "
        f"{steps:,} steps, close above the floor of {floor:.2f}.",
    )


def fresh(place: float, before: float, apart: float = 2.5) -> bool:
    """Whether a point is far enough from the one before it to be seen beside it."""
    return int(place / apart) > int(before / apart)


def lens() -> str:
    """What the model would say after each block."""
    sentence = facts.beginning("marsh")
    drawn, listed = [], []
    for n, (stage, said) in enumerate(facts.lens(sentence)):
        y = HIGH - 32 - 32 * n
        drawn += [
            text(76, y + 15, stage, "end soft"),
            f'<rect x="84" y="{y}" width="132" height="22" rx="3" class="room"/>',
            cell(84, y, 132 * said.p, 22, 0.4),
            text(90, y + 15, said.token),
            text(210, y + 15, f"{said.p:.2f}", "end"),
        ]
        listed.append(f"{stage} {said.token} {said.p:.2f}")
    return picture(
        "".join(drawn),
        f"What the model would say after “{sentence}” at each stage: {', '.join(listed)}.",
    )


OF_PART = {1: tokens, 2: attention, 3: block, 4: training, 5: lens}
