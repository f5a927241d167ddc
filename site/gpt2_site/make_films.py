"""Film the built site for slides: make films, or make films NB="pass to-scale" for some of them.

Into _build/films: twelve silent films of seven to ten seconds as MP4, and of each a strip of eight
pictures. The page's clock and animations go on by the time of a picture, however long it takes.
Also site/static/one-pass.png, for the README and for those who link to a page.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any, NamedTuple

import av
from PIL import Image
from playwright.sync_api import Browser, Page

from benchmarks.chromium import served, starter
from gpt2_site.chapters import ROOT

SITE, FILMS = ROOT / "_build" / "html", ROOT / "_build" / "films"
PICTURE = ROOT / "site" / "static" / "one-pass.png"
RATE, STRIP = 25, 8  # pictures: in a second, on a strip
WIDE, PHONE, SOCIAL = (1280, 720), (390, 844), (1200, 630)
FLOW = "book/index gpt2-flow"


class Film(NamedTuple):
    """What is filmed, for how many seconds, and what happens after how many.

    A text presses the button that begins so. A dictionary sets the page's state; a pair of numbers
    in it goes from one to the other within the seconds that follow.
    """

    where: str
    seconds: float
    acts: list[tuple[Any, ...]]
    size: tuple[int, int] = WIDE
    query: str = ""


MARSH, CITY = {"text": "In the marsh, the crane"}, {"text": "In the city, the crane"}
WAY = {0.6: "1", 2.2: "1.0", 3.8: "1.0.6.3", 7: "1.0", 8: "1", 9: ""}
RIVER = "?text=By+the+river,+the+crane"
HEAT = [(0.8, {"temperature": (1, 0.1)}, 3), (4.2, {"temperature": (0.1, 2.5)}, 4)]
TOUR = [(0.5, "Show me"), *((at, "next") for at in (2.5, 4.5, 6.5, 8))]
TO_AND_FRO = [(0.8, {"q.x": (0.7, -0.2)}, 3), (4.2, {"q.x": (-0.2, 1)}, 3)]
FILMED = {
    "pass": Film(FLOW, 9, [(0.4, "play")]),
    "marsh-and-city": Film(FLOW, 7, [(1, CITY), (4, MARSH)]),
    "one-product": Film(FLOW, 10, [(at, {"place": to}) for at, to in WAY.items()]),
    "two-cuts": Film(FLOW, 8, [(1.5, {"off": ["1.0"]}), (4, {"off": ["1.0", "1.2"]})]),
    "tour-on-a-phone": Film(FLOW, 10, TOUR, PHONE),
    "writing-on": Film(FLOW, 10, [(0.5, "write on")]),
    "gpt2-itself": Film(FLOW, 10, [(0.6, "play")], query="?run=3"),
    "to-scale": Film("book/scale gpt2-scale", 8, [(0.8, "play")]),
    "tokens": Film("notebooks/01_tokens gpt2-tokens", 8, [(0.5, {"merges": (0, 3000)}, 6.5)]),
    "two-meanings": Film("notebooks/03_crane gpt2-crane", 8, TO_AND_FRO),
    "learning": Film("notebooks/13_training gpt2-snapshots", 10, [(0.5, "play")]),
    "temperature": Film("notebooks/15_generation gpt2-sampling", 9, HEAT, query=RIVER),
}
STYLE, SCRIPT = (ROOT / "site" / "templates" / f"film.{kind}" for kind in ("css", "js"))


def opened(browser: Browser, address: str, film: Film, scale: float = 1) -> tuple[Page, Any]:
    """A page with what is filmed, at rest: its clock stands still."""
    path, name = film.where.split()
    width, height = film.size
    how = {"device_scale_factor": scale, "bypass_csp": True, "color_scheme": "light"}
    page = browser.new_page(viewport={"width": width, "height": height}, **how)
    page.clock.install(time=0)
    page.add_init_script("sessionStorage['gpt2-edu played'] = 1")  # nothing plays by itself
    page.goto(f"{address}/{path}.html{film.query}")
    page.locator(f"#{name}").scroll_into_view_if_needed()
    element = page.wait_for_selector(f"#{name}[data-state=ready]", timeout=60_000)
    page.add_style_tag(path=STYLE)
    page.add_script_tag(path=SCRIPT)
    page.evaluate("element => film.begin(element)", element)
    page.wait_for_timeout(500)  # its drawings follow
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    page.clock.run_for(500)
    for ms in (0, 60_000):  # what moves because of the new size comes to its end
        page.evaluate("ms => film.move(ms)", ms)
    return page, element


def pictures(page: Page, element: Any, film: Film, count: int) -> list[bytes]:
    """The first pictures of a film, as JPEG."""
    taken = []
    for n in range(count):
        for at, what, *within in film.acts:
            first, many = round(at * RATE), round(sum(within) * RATE)
            if first <= n <= first + many:
                share = (n - first) / max(1, many)
                moved = {key: a + share * (b - a) for key, (a, b) in what.items()} if many else what
                page.evaluate("act => film.act(act)", [element, moved])
        page.clock.run_for(1000 // RATE)
        page.evaluate("ms => film.move(ms)", 1000 // RATE)
        taken.append(page.screenshot(type="jpeg", quality=95))
    return taken


def encode(taken: list[bytes], path: Path) -> None:
    """Write pictures as a film that every player and every program for slides takes."""
    pictures = [Image.open(io.BytesIO(jpeg)) for jpeg in taken]
    with av.open(path, "w") as film:
        stream = film.add_stream("libx264", rate=RATE, options={"crf": "20"})
        stream.width, stream.height = pictures[0].size
        for picture in pictures:
            film.mux(stream.encode(av.VideoFrame.from_image(picture)))
        film.mux(stream.encode())


def strip(taken: list[bytes]) -> Image.Image:
    """Eight pictures in their order, side by side in two rows."""
    last = len(taken) - 1
    shown = [Image.open(io.BytesIO(taken[n * last // (STRIP - 1)])) for n in range(STRIP)]
    width, height = (side // 2 for side in shown[0].size)
    whole = Image.new("RGB", (STRIP // 2 * width, 2 * height))
    for n, one in enumerate(shown):
        down, across = divmod(n, STRIP // 2)
        whole.paste(one.resize((width, height)), (across * width, down * height))
    return whole.quantize(256)


def still(browser: Browser, address: str) -> None:
    """The picture of the whole, as others show it who link to the book."""
    page, element = opened(browser, address, Film(FLOW, 0, [], SOCIAL), scale=2)
    element.dispatch_event("pointerenter")  # then the weights come, which the picture shows
    made = "() => ((all) => all.length && all.every((one) => one.hasAttribute('href')))"
    made += "([...document.querySelectorAll('.flow-picture.sharp image')])"
    while not page.evaluate(made):
        page.clock.run_for(100)
        page.wait_for_timeout(100)
    element.evaluate("element => (element.classList.add('still'), film.begin(element))")
    for ms in (0, 60_000):
        page.evaluate("ms => film.move(ms)", ms)
    shot = Image.open(io.BytesIO(page.screenshot()))
    few = shot.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1)
    few.save(PICTURE, optimize=True)  # median cut tints small parts


def main(names: list[str]) -> int:
    FILMS.mkdir(parents=True, exist_ok=True)
    with starter(sys.exit) as launch, served(SITE) as address:
        browser = launch()
        for name in names or FILMED:
            film = FILMED[name]
            page, element = opened(browser, address, film)
            taken = pictures(page, element, film, round(film.seconds * RATE))
            encode(taken, FILMS / f"{name}.mp4")
            strip(taken).save(FILMS / f"{name}.png", optimize=True)
            page.context.close()
            print(f"{(FILMS / name).relative_to(ROOT)}.mp4", flush=True)
        if not names:
            still(browser, address)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
