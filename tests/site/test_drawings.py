"""Plots on a page are written shorter than in their notebooks, and show the same picture."""

from __future__ import annotations

import json
import re

import pytest
from bs4 import BeautifulSoup

from gpt2_site.chapters import pages
from gpt2_site.drawings import PLOT, relative, shortened

NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
POINTS = {"m": 1, "l": 1, "q": 2, "c": 3}


def absolute(path: str) -> list[tuple[str, float, float]]:
    """Command and place of each point, read as SVG's specification has it."""
    found = []
    x = y = 0.0
    begun = (x, y)
    for letter, text in re.findall(r"([mlqcz])([^mlqcz]*)", path, re.I):
        if letter in "zZ":
            x, y = begun
            found.append(("Z", x, y))
            continue
        numbers = [float(number) for number in NUMBER.findall(text)]
        size = POINTS[letter.lower()]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        assert len(pairs) % size == 0
        for i in range(0, len(pairs), size):
            offset = (x, y) if letter.islower() else (0.0, 0.0)
            places = [(px + offset[0], py + offset[1]) for px, py in pairs[i : i + size]]
            kind = "L" if letter in "mM" and i else letter.upper()
            found += [(kind, round(px, 2) + 0, round(py, 2) + 0) for px, py in places]
            x, y = places[-1]
            if kind == "M":
                begun = (x, y)
    return found


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("M 44.4 -1 L 44.84 23.74 L 45.32 38.78", "m44.4-1 .44 24.74.48 15.04"),
        ("M 0 0 L 0.5 0.25 L 1 10.25 z", "m0 0 .5.25.5 10z"),
        ("M 1 1 L 2 1 z M 5 5 L 6 5", "m1 1 1 0zm4 4 1 0"),
        ("M 1 1 C 1 2 3 4 5 6 C 7 8 9 10 11 12 Z", "m1 1c0 1 2 3 4 5 2 2 4 4 6 6z"),
        ("M 1 1 Q 2 2 3 3 L 4 4 L 5 5", "m1 1q1 1 2 2l1 1 1 1"),
    ],
)
def test_a_path_is_relative_and_has_no_needless_character(path, short):
    assert relative(path) == short
    assert absolute(short) == absolute(path)


def test_every_plot_of_the_book_keeps_its_points_and_their_clips(site):
    before = after = 0
    for page in pages():
        notebook = json.loads(page.path.read_text(encoding="utf-8"))
        html = [
            "".join(output["data"]["text/html"])
            for cell in notebook["cells"]
            for output in cell.get("outputs", [])
            if "text/html" in output.get("data", {})
        ]
        stored = PLOT.findall("".join(html))
        built = (site / "notebooks" / f"{page.name}.html").read_text(encoding="utf-8")
        for one, shown in zip(stored, PLOT.findall(built), strict=True):
            assert elements(shown) == elements(one), page.name
            before, after = before + len(one), after + len(shown)
    assert after < 0.9 * before


def elements(svg: str) -> list[tuple[object, ...]]:
    """What is drawn, in order, with what clips it and how it is styled."""
    found = []
    for element in BeautifulSoup(svg, "html.parser").find_all(True):
        around = element.find_parent("g", attrs={"clip-path": True})
        clip = element.get("clip-path") or (around and around["clip-path"])
        if element.name == "g" and set(element.attrs) <= {"clip-path"}:
            continue
        rest = {k: v for k, v in element.attrs.items() if k not in ("d", "clip-path")}
        found.append((element.name, absolute(element.get("d", "")), clip, rest))
    return found


def test_elsewhere_nothing_is_changed():
    path = '<svg><path d="M 1 1 L 2 2"></path></svg>'
    assert shortened(path) == path
