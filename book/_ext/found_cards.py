"""The picture that stands for a page in a message: its title, and where in the book it stands."""

from __future__ import annotations

import textwrap
from functools import cache
from io import BytesIO
from pathlib import Path

from chapters import ROOT, chapters
from fontTools.ttLib import TTFont
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, EDGE = 1200, 630, 80  # pixels: what messengers show
PAPER, INK, SOFT, LINE, ACCENT = "#ffffff", "#1c2126", "#56606b", "#c9d0d6", "#8b4a9c"
FACES = ROOT / "book" / "_static" / "vendor" / "faces"


@cache
def face(name: str, size: int) -> ImageFont.FreeTypeFont:
    """One of the site's own faces."""
    font, bare = TTFont(FACES / f"{name}.woff2"), BytesIO()
    font.flavor = None
    font.save(bare)
    bare.seek(0)
    return ImageFont.truetype(bare, size)


def draw(path: Path, title: str, line: str, number: int) -> None:
    """Write the card of a page as PNG; ``number`` is the chapter's, or 0 for the whole book."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(image)
    pen.text((EDGE, EDGE), line, SOFT, face("serif", 38))
    large = face("serif", 96)
    words = "\n".join(textwrap.wrap(title, 22))
    pen.multiline_text((EDGE, HEIGHT / 2 - 20), words, INK, large, anchor="lm", spacing=18)
    # the ribbon of the pages: the chapters in a line, this one marked
    step = (WIDTH - 2 * EDGE) / (len(chapters()) - 1)
    y = HEIGHT - EDGE
    pen.line([(EDGE, y), (WIDTH - EDGE, y)], LINE, 4)
    for chapter in chapters():
        x = EDGE + step * (chapter.number - 1)
        here = chapter.number == number
        radius, colour = (22, ACCENT) if here else (9, SOFT if chapter.number < number else LINE)
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], colour)
        if here:
            pen.text((x, y), str(number), PAPER, face("serif", 26), anchor="mm")
    image.save(path, optimize=True)
