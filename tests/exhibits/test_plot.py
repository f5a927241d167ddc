"""A plot: text that is text, colours of the page, nothing that two plots on a page could share."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch
from bs4 import BeautifulSoup

from gpt2_edu import exhibits
from gpt2_edu.exhibits.setup import COLOURS

pytestmark = pytest.mark.slow

matplotlib.use("Agg")

ALT = "Lines and a heat map."
NOISE = torch.rand(64, 64, generator=torch.manual_seed(0)).numpy()


@pytest.fixture(autouse=True)
def style():
    with matplotlib.rc_context():
        exhibits.setup()
        yield


def plot(end: float = 1.0, caption: str = "See how <it> rises.") -> exhibits.Plot:
    """Lines of every colour, markers, words, a mesh and an image."""
    fig, (left, right) = plt.subplots(1, 2)
    for role, colour in COLOURS.items():
        left.plot([0, 1], [0, end], "o-", color=colour, markerfacecolor="white")
        left.text(1, end, f"<{role}>", color=colour)
    left.fill_between([0, 1], [0, end], color="black", alpha=0.1)
    left.set_ylabel("loss")
    left.set_xlabel("$x_1$")
    right.pcolormesh([[0.0, 1.0]], cmap=exhibits.heat("q"))
    right.imshow(NOISE[:8, :8], cmap=exhibits.heat("weights"))
    return exhibits.Plot(fig, caption, alt=ALT)


def parse(made: exhibits.Plot) -> BeautifulSoup:
    return BeautifulSoup(made.html(), "html.parser")


def test_has_its_caption_below_and_an_alternative_text():
    before = plt.get_fignums()
    soup = parse(plot())
    assert plt.get_fignums() == before, "the figure is closed, so nothing is shown twice"
    assert (soup.svg["role"], soup.svg["aria-label"]) == ("img", ALT)
    assert [tag.name for tag in soup.figure.find_all(recursive=False)] == ["div", "figcaption"]
    assert soup.figcaption.get_text() == "See how <it> rises."


@pytest.mark.parametrize("caption, alt", [(" ", ALT), ("See.", "a line"), ("See.", "A b c d e")])
def test_refuses_a_plot_without_words(caption, alt):
    with pytest.raises(ValueError, match=r"caption|five words"):
        exhibits.Plot(plt.figure(), caption, alt=alt)
    plt.close("all")


def test_small_type_is_kept_readable_on_a_phone():
    """There a plot is no narrower than a share of --wide: its smallest type decides."""

    def wide(size: float) -> int:
        fig, ax = plt.subplots(figsize=(5, 2))
        ax.text(0, 0, "small", fontsize=size)
        style = parse(exhibits.Plot(fig, "See.", alt=ALT)).svg["style"]
        return int(re.search(r"--wide:(\d+)px", style)[1])

    assert wide(10) == wide(12) == round(5 * 72 * 1.45)
    assert wide(8) == round(wide(10) * 10 / 8)


def test_ids_are_unique_to_a_figure_and_all_used():
    html = plot().html()
    assert html == plot().html()
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', html)) == set(ids)
    others = {tag["id"] for tag in parse(plot(2)).find_all(id=True)}
    assert ids and others and not set(ids) & others


def test_every_colour_is_one_that_the_page_can_change():
    html = plot().html()
    for role, colour in COLOURS.items():
        assert f"var(--g2-{role}, {colour})" in html
    assert "currentColor" in html
    assert "var(--g2-paper, #fff)" in html
    rest = re.sub(r"var\(--g2-[a-z]+, #[0-9a-f]+\)|(?:url\(|href=\")#g2-|base64,[^\"]+", "", html)
    assert not re.findall(r"#[0-9a-f]{3,6}\b|\bblack\b|\bwhite\b", rest)


def test_text_is_text_in_the_type_of_the_page():
    soup = parse(plot())
    assert {"loss", "<weights>", "0.5", "x1"} <= {text.get_text() for text in soup.find_all("text")}
    assert "font-family" not in str(soup)


def test_has_no_rules_for_the_page_and_asks_no_other_host():
    soup = parse(plot())
    assert not soup.find_all(["style", "metadata", "script"])
    assert not re.search(r"https?:|<\?xml|<!|xmlns", str(soup))
    assert all(tag["href"].startswith(("#", "data:image/png;")) for tag in soup.find_all(href=True))


def test_is_small_with_short_numbers():
    html = plot().html()
    assert not re.search(r"\d\.\d{3}", re.sub(r'transform="matrix[^"]+"|base64,[^"]+', "", html))
    assert len(html) < 20_000
    fig, ax = plt.subplots()
    ax.imshow(NOISE, cmap=exhibits.heat("plain"))
    assert len(exhibits.Plot(fig, "Noise.", alt="An image of grey noise.").html()) < 20_000


def test_heat_goes_from_nothing_to_the_colour_of_the_role():
    for role, colour in COLOURS.items():
        none, full = exhibits.heat(role)([0.0, 1.0])
        assert none[3] == 0
        assert matplotlib.colors.to_hex(full) == colour
    with pytest.raises(ValueError, match="unknown role 'query'"):
        exhibits.heat("query")


def test_nbval_compares_captions_and_not_curves():
    config = ConfigParser()
    config.read(Path(__file__).resolve().parents[2] / "notebooks" / "nbval.cfg")
    rule = config["drawing"]
    seen = [
        re.sub(rule["regex"], rule["replace"], plot(*given).html())
        for given in [(1.0,), (2.0,), (1.0, "It falls.")]
    ]
    assert seen[0] == seen[1] != seen[2]
