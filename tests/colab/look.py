"""What came out, as Colab shows it: each output in a frame of its own, light and dark."""

from __future__ import annotations

from pathlib import Path

import nbformat

from benchmarks.chromium import starter
from tests.exhibits.test_exhibits_shown import MEASURE, colab


def problems(ran: list[Path]) -> list[str]:
    """Of all stored outputs with exhibits: words that cannot be read, and what is cut off."""
    found = []
    with starter(_missing) as launch:
        browser = launch()
        for theme in ("light", "dark"):
            page = browser.new_page(color_scheme=theme, viewport={"width": 800, "height": 900})
            for path in ran:
                for number, html in enumerate(exhibits_of(path)):
                    page.set_content("<!doctype html>" + colab(theme, html, ""))
                    frame = page.frames[-1]
                    frame.wait_for_selector(".g2", state="attached")
                    seen = frame.evaluate(MEASURE, {})
                    if "g2-plot" in html:  # words there may stand on bars: the site's tests measure
                        seen["pale"] = []
                    bad = {key: seen[key] for key in ("pale", "cold", "striped") if seen[key]}
                    if not seen["shown"] or bad or seen["wide"] > 0:
                        found.append(f"{path.stem}, output {number}, {theme}: {bad or seen}")
        browser.close()
    return found


def _missing(why: str) -> None:
    raise SystemExit(why)


def exhibits_of(path: Path) -> list[str]:
    """The stored outputs that hold an exhibit."""
    nb = nbformat.read(path, as_version=4)
    data = (output.get("data", {}) for cell in nb.cells for output in cell.get("outputs", ()))
    return [html for kinds in data if 'class="g2' in (html := kinds.get("text/html", ""))]
