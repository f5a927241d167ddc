"""The plots of a page, written shorter: the same points and the same picture.

matplotlib writes "M 44.4 -1 L 44.84 23.74 L 45.32 38.78", and a page holds thousands of such
points. "m44.4-1 .44 24.74.48 15.04" is half as long, also after compression.
"""

import re

PLOT = re.compile(r'<svg class="g2-drawing".*?</svg>', re.S)
PATH = re.compile(r'(?<= d=")(?:[MLQC][-.\d ]+|[zZ] ?)+(?=")')
PART = re.compile(r"([MLQCzZ])([^MLQCzZ]*)")
CLIPPED = re.compile(
    r'<path d="[^"]*"( clip-path="[^"]*")[^>]*></path>(?:<path d="[^"]*"\1[^>]*></path>)+'
)
HUNDREDTHS = 100  # a stored plot has two decimals
APART = re.compile(r"(?<=\d) (?=-)|(?<=\.\d) (?=\.)|(?<=\.\d\d) (?=\.)")  # the next number shows it


def shortened(body: str) -> str:
    """A page's text with its plots written shorter."""

    def short(plot: re.Match[str]) -> str:
        written = PATH.sub(lambda path: relative(path[0]), plot[0])
        return CLIPPED.sub(lambda many: f"<g{many[1]}>{many[0].replace(many[1], '')}</g>", written)

    return PLOT.sub(short, body)


def relative(path: str) -> str:
    """The data of an SVG path with each point relative to the one before it.

    Differences are taken of whole hundredths, so that no error adds up.
    """
    written = ""
    x = y = 0  # where the pen is
    begun = (0, 0)  # where "z" takes it
    last = ""
    for command, numbers in PART.findall(path):
        if command in "zZ":
            written, last = written + "z", ""
            x, y = begun
            continue
        values = [round(float(number) * HUNDREDTHS) for number in numbers.split()]
        points = list(zip(values[::2], values[1::2], strict=True))
        steps = [f"{step / HUNDREDTHS:.9g}" for px, py in points for step in (px - x, py - y)]
        x, y = points[-1]
        if command == "M":
            begun = (x, y)
        follows = command == last or (last, command) == ("M", "L")
        written += (" " if follows else command.lower()) + " ".join(steps)
        last = command
    return APART.sub("", re.sub(r"(?<!\d)0\.", ".", written))
