"""A matplotlib figure as inline SVG, with selectable text and the colours of the page's theme."""

from __future__ import annotations

import re
from hashlib import sha256
from html import escape
from io import StringIO
from xml.etree import ElementTree

import matplotlib.pyplot as plt
from matplotlib import rc_context
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.text import Text

from ..machine.display import Exhibit, figure
from .setup import COLOURS

PIXELS_PER_POINT = 1.45  # at full size; type of BODY points has the size of the page's small type
BODY = 10
SMALL_IMAGE = 256  # an image with fewer pixels per side is embedded unscaled
THEME = {
    **{colour: f"var(--g2-{role}, {colour})" for role, colour in COLOURS.items()},
    "#000000": "currentColor",
    "#ffffff": "var(--g2-paper, #fff)",
}
DEFAULTS = r"; (text-anchor: start|font-family: 'DejaVu Sans')(?=;|$)"


class Plot(Exhibit):
    """A matplotlib figure with a caption below it, and an alternative text for screen readers.

    Renders and closes the figure, so a cell ends with it and needs no ``plt.show()``. Black and
    the book's colours follow the page's theme; other colours are unchanged.
    """

    def __init__(self, fig: Figure, caption: str, *, alt: str) -> None:
        if not caption.strip():
            raise ValueError("a plot needs a caption that says what to see")
        if len(alt.split()) < 5 or not alt.rstrip().endswith("."):
            raise ValueError(f"alt is a sentence of five words or more, got {alt!r}")
        self.caption, self.alt = caption, alt
        self.inches = fig.get_figwidth()
        self.drawing, self.box = _to_svg(fig)
        words = [one for one in fig.findobj() if isinstance(one, Text) and one.get_text()]
        self.smallest = min([BODY, *(float(one.get_fontsize()) for one in words)])  # in points
        plt.close(fig)

    def __repr__(self) -> str:
        return f"Plot({self.caption})"

    def html(self) -> str:
        width = round(72 * PIXELS_PER_POINT * self.inches)
        wide = round(width * BODY / self.smallest)  # small type needs more of the width
        svg = (
            f'<svg class="g2-drawing" role="img" aria-label="{escape(self.alt)}" '
            f'viewBox="{self.box}" width="{width}" '
            f'style="--wide:{wide}px;max-width:100%;height:auto" '
            f'fill="currentColor" stroke-linejoin="round">{self.drawing}</svg>'
        )
        return figure("plot", self.caption, f'<div class="g2-scroll">{svg}</div>', below=True)


def heat(role: str) -> Colormap:
    """A colour map from transparent to the colour of a role, for any page background."""
    if role not in COLOURS:
        raise ValueError(f"unknown role {role!r}. Known: {', '.join(COLOURS)}")
    hue = to_rgb(COLOURS[role])
    return LinearSegmentedColormap.from_list(f"g2-{role}", [(*hue, 0.0), (*hue, 1.0)])


def _to_svg(fig: Figure) -> tuple[str, str]:
    """The content of the figure's ``<svg>`` element, and its viewBox."""
    for image in fig.findobj(AxesImage):
        if max(image.get_size()) < SMALL_IMAGE:
            image.set_interpolation("none")
    page = StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "g2", "svg.image_inline": True}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        fig.savefig(page, format="svg", transparent=True, metadata=nothing)
    text = page.getvalue()
    root = ElementTree.fromstring(text)
    used = sorted(set(re.findall(r'(?:url\(|href=")#(\w+)', text)))
    salt = sha256(text.encode()).hexdigest()[:8]
    names = {name: f"g2-{salt}-{i}" for i, name in enumerate(used)}
    return "".join(_minify(child, names) for child in root), root.attrib["viewBox"]


def _minify(element: ElementTree.Element, names: dict[str, str]) -> str:
    """An element as minified HTML, without unused ids, default styles or empty groups."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("style", "metadata") or element.get("style") == "fill: none":
        return ""  # page-wide CSS rules; the transparent background
    attributes = "".join(
        f' {name}="{escape(value)}"'
        for key, long in element.attrib.items()
        if (value := _minify_value(name := key.rpartition("}")[2], long, names))
    )
    words = escape((element.text or "").strip("\n "), quote=False)
    content = words + "".join(_minify(child, names) for child in element)
    if tag in ("g", "defs") and not content:
        return ""
    return content if tag == "g" and not attributes else f"<{tag}{attributes}>{content}</{tag}>"


def _minify_value(name: str, value: str, names: dict[str, str]) -> str:
    """An attribute's value with unique ids, theme colours, page fonts and rounded numbers."""
    if name == "id":
        return names.get(value, "")
    if value.startswith("data:"):
        return value.replace("\n", "")
    if value.startswith("rotate(-0 "):
        return ""
    if name == "style":
        value = re.sub(DEFAULTS, "", value).replace(": ", ":").replace("; ", ";")
        font = "font-family:monospace" if "monospace" in value else ""  # else the page's
        value = re.sub("font-family:[^;]*", font, value)
        value = value.replace(";;", ";")
    decimals = 5 if "matrix" in value else 2  # the scale factors of an image are small
    value = re.sub(r"-?\d+\.\d+", lambda n: f"{round(float(n[0]), decimals) + 0:.6g}", value)
    value = re.sub(r"#\w+", lambda n: THEME.get(n[0]) or f"#{names.get(n[0][1:], n[0][1:])}", value)
    return " ".join(value.split())
