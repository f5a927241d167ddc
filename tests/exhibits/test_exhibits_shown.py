"""Every exhibit as a reader meets it: on the site, in Jupyter and on Colab, light and dark."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from functools import cache
from html import escape
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch

import gpt2_edu
from gpt2_edu import GPT2, exhibits, load_tokenizer
from gpt2_edu.analysis.parity import Parity, ParityTable
from gpt2_edu.exercises.record import Progress
from gpt2_edu.labs import Lab
from gpt2_edu.labs.lab import InJupyter
from gpt2_edu.machine.display import Exhibit
from gpt2_edu.thought import cups
from gpt2_edu.tuning import with_roles
from gpt2_site.theme import STYLES
from tests.exhibits.test_reward import found
from tests.thorough import thorough

ROOT = Path(__file__).resolve().parents[2]
JUPYTER = Path(sys.prefix) / "share" / "jupyter" / "nbconvert" / "templates" / "lab" / "static"

WEIGHTS = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.2, 0.3, 0.5]])
ATTENTION = exhibits.Attention(
    torch.stack([WEIGHTS, WEIGHTS]), ["A", "crane", "ate"], caption="Two heads."
)
MATRIX = exhibits.Matrix([[1.5, -2.0], [0.0, float("-inf")]], rows=["a", "b"], columns=["x", "y"])


@cache
def examples() -> tuple[Exhibit, ...]:
    """One of each kind, made by the first test that shows them."""
    figure, ax = plt.subplots()
    ax.plot([0, 1, 2], [4, 2, 1], color=exhibits.COLOURS["q"])
    ax.text(1, 2.2, "the loss")
    ax.set_xlabel("step")
    plain = GPT2.from_pretrained("crane").eval()
    tuned, encoding = with_roles(plain, load_tokenizer("crane"))
    return (
        exhibits.Asked(tuned, plain, encoding, exhibits.exchanges(1), caption="A question."),
        ATTENTION,
        MATRIX,
        exhibits.Bars(
            {"ate": 0.53, "stood": 0.12},
            before={"ate": 0.5, "stood": 0},
            caption="What comes next.",
        ),
        exhibits.Ledger((("tok_emb", "B T C", (2, 5, 12)), ("pos_emb", "T C", (5, 12)))),
        exhibits.Live("example", MATRIX, first="Point at a number."),
        exhibits.Plot(figure, "The loss falls.", alt="A line that falls from 4 to 1."),
        exhibits.Rewarded(found=found()),
        exhibits.Scaling(),
        exhibits.Shuffled(GPT2(cups.config()).eval(), cups.game(0, 3), caption="A shell game."),
        exhibits.Speculated(plain, plain, load_tokenizer("crane"), ["A crane"], caption="Drafts."),
        exhibits.Stairs(),
        exhibits.Tokens("A crane ate fish."),
        ParityTable(
            (
                Parity("transformer.wte", 1.0, 0.0, 1e-6, 0.0, 1e-6),
                Parity("transformer.h.0.mlp", 1.0, 1e-3, 1e-6, 1e-3, 1e-6),
                Parity("lm_head", 1.0, 0.0, 1e-6, 1e-2, 1e-6),
            ),
            positions=128,
        ),
        Progress({"row_by_hand": {"on": "2026-01-01", "source": None}}),
    )


def kinds(cls: type) -> set[type]:
    """What is derived from a class in the package. A lab is shown as a Live, or is one line."""
    own = [one for one in cls.__subclasses__() if one not in (Lab, InJupyter)]
    return {one for one in own if one.__module__.startswith("gpt2_edu.")}.union(*map(kinds, own))


# What the stylesheet gives to the first such element of an exhibit.
STYLED = {
    "table": ("fontVariantNumeric", "tabular-nums"),
    "ol": ("display", "flex"),
    "svg": ("display", "block"),
    ".g2-head summary": ("listStyleType", "none"),
}

# Of each exhibit: the styles above, heat that cannot be seen, rows and cells with the look of
# Jupyter's tables, text with little contrast, and how much the page is wider than the screen.
MEASURE = r"""(styled) => {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba(getComputedStyle(document.documentElement).colorScheme === "dark" ? "#121212"
      : "#fff");
  };
  const luminance = (colour) => colour.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  return [...document.querySelectorAll(".one")].map((one) => {
    const all = (selector) => [...one.querySelectorAll(`.g2 ${selector}`)];
    const texts = all("*").filter(
      (e) => [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim()));
    const found = {};
    for (const [tag, property] of Object.entries(styled)) {
      const element = one.querySelector(`.g2 ${tag}`);
      if (element) found[tag] = getComputedStyle(element)[property];
    }
    const hot = all("td[style]:not([style='--heat:0.00'])");
    return {
      found,
      shown: texts.length,
      ink: rgba(getComputedStyle(one.querySelector(".g2")).color).slice(0, 3),
      cold: hot.filter((e) => `${behind(e)}` === `${behind(e.parentElement)}`).length,
      striped: all("tr").filter((e) => rgba(getComputedStyle(e).backgroundColor)[3] > 0).length,
      crooked: all("td").filter((e) => getComputedStyle(e).textAlign === "right").length,
      pale: texts.map((e) => [e.textContent, contrast(
        rgba(getComputedStyle(e)[e.tagName === "text" ? "fill" : "color"]), behind(e))])
        .filter(([, c]) => c < 4.5),
      wide,
    };
  });
}"""


def css(*files: Path) -> str:
    return "".join(f"<style>{file.read_text(encoding='utf-8')}</style>" for file in files)


# A page with an output for each exhibit.


def site(theme: str, outputs: list[str], displayed: str) -> str:
    cells = (
        f'<div class="cell_output container"><div class="one output text_html">{output}</div></div>'
        for output in outputs
    )
    return (
        f'<html data-theme="{theme}"><head><style>{STYLES}</style></head><body>'
        f'<div class="page"><main><article>{"".join(cells)}</article></main></div></body></html>'
    )


def jupyter(theme: str, outputs: list[str], displayed: str) -> str:
    head = css(JUPYTER / "index.css", JUPYTER / f"theme-{theme}.css")
    rendered = '<div class="{}jp-RenderedHTMLCommon jp-RenderedHTML">{}</div>'.format
    return (
        f"<html><head>{head}</head>"
        f'<body data-jp-theme-light="{"true" if theme == "light" else "false"}"'
        ' style="background: var(--jp-layout-color0)">'
        f"{rendered('', displayed)}{''.join(rendered('one ', output) for output in outputs)}"
        "</body></html>"
    )


def colab(theme: str, outputs: list[str], displayed: str) -> str:
    paper = "#383838; color: #d5d5d5" if theme == "dark" else "#fff"
    frame = (
        f'<html theme="{theme}"><body class="one" style="background: {paper}">{{}}</body></html>'
    )
    return "".join(
        f'<iframe srcdoc="{escape(frame.format(output))}"'
        ' style="width: 100%; height: 900px; border: 0"></iframe>'
        for output in outputs
    )


@pytest.fixture(scope="module", params=["light", "dark"])
def theme(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def tab(browser, theme):
    context = browser.new_context(color_scheme=theme, viewport={"width": 390, "height": 900})
    yield context.new_page()
    context.close()


def measure(tab, page: str) -> list[dict]:
    tab.set_content("<!doctype html>" + page)  # which waits for frames
    styled = {tag: name for tag, (name, _) in STYLED.items()}
    return [seen for frame in tab.frames for seen in frame.evaluate(MEASURE, styled)]


def test_every_exhibit_of_the_package_has_an_example():
    for module in pkgutil.walk_packages(gpt2_edu.__path__, "gpt2_edu."):
        if ".tasks" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert kinds(Exhibit) == set(map(type, examples()))


@pytest.mark.browser
@pytest.mark.parametrize(
    "place", [site, thorough(jupyter), thorough(colab)], ids=lambda place: place.__name__
)
def test_exhibits_are_styled_readable_and_not_too_wide(tab, theme, place, notebook, monkeypatch):
    if place is colab:
        monkeypatch.setitem(sys.modules, "google.colab", object())
    if place is not site:
        exhibits.setup()
    page = place(theme, [one._repr_html_() for one in examples()], "".join(notebook))
    for one, seen in zip(examples(), measure(tab, page), strict=True):
        assert seen["found"], f"{one!r} holds a table, a list or a drawing"
        assert seen["found"] == {tag: STYLED[tag][1] for tag in seen["found"]}, one
        assert seen["ink"] == ([28, 33, 38] if theme == "light" else [232, 236, 240]), one
        assert seen["shown"] and seen["pale"] == [], one
        assert (seen["cold"], seen["striped"], seen["crooked"]) == (0, 0, 0), one
        assert seen["wide"] <= 0, one


@pytest.mark.browser
def test_exhibits_can_be_read_without_any_stylesheet(tab, theme):
    outputs = [one._repr_html_() for one in examples()]
    assert not any("<style" in html for html in outputs)
    body = "".join(f'<div class="one">{html}</div>' for html in outputs)
    page = f'<html style="color-scheme: {theme}"><body>{body}</body></html>'
    for one, seen in zip(examples(), measure(tab, page), strict=True):
        assert seen["shown"] and seen["pale"] == [], one
    for item in tab.locator("li").all_inner_texts():
        assert len(item.split()) == 2, "a token and its id stand apart"


@pytest.mark.browser
def test_a_small_head_opens_its_table_by_keyboard_and_closes_the_other(tab, theme):
    tab.set_content("<!doctype html>" + site(theme, [ATTENTION.html()], ""))
    small, tables = tab.locator(".g2-heads summary"), tab.locator(".g2-heads table")
    places = [small.nth(i).bounding_box() for i in range(2)]
    assert [tables.nth(i).is_visible() for i in range(2)] == [True, False]
    small.nth(1).focus()
    tab.keyboard.press("Enter")
    assert [tables.nth(i).is_visible() for i in range(2)] == [False, True]
    assert [small.nth(i).bounding_box() for i in range(2)] == places, "the pictures stay"
    assert tables.nth(1).bounding_box()["y"] > places[0]["y"] + places[0]["height"]
