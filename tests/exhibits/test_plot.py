"""A plot: text that is text, colours of the page, nothing that two plots on a page could share."""

from __future__ import annotations

import re

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch
from bs4 import BeautifulSoup

from gpt2_edu import exhibits
from gpt2_edu.exhibits.setup import COLOURS

matplotlib.use("Agg")

ALT = "Lines and a heat map."
NOISE = torch.rand(64, 64, generator=torch.manual_seed(0)).numpy()


@pytest.fixture(autouse=True)
def style():
    with matplotlib.rc_context():
        exhibits.setup()
        yield


def plot(end: float = 1.0) -> exhibits.Plot:
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
    return exhibits.Plot(fig, "See how <it> rises.", alt=ALT)


def parse(made: exhibits.Plot) -> BeautifulSoup:
    return BeautifulSoup(made.html(), "html.parser")


def test_a_plot_has_its_caption_below_and_a_name_for_those_who_cannot_see_it():
    soup = parse(plot())
    assert soup.svg["role"] == "img"
    assert soup.svg["aria-label"] == ALT
    assert [tag.name for tag in soup.figure.find_all(recursive=False)] == ["div", "figcaption"]
    assert soup.figcaption.get_text() == "See how <it> rises."
    assert repr(plot()) == "Plot(See how <it> rises.)"


def test_the_figure_is_closed_so_that_nothing_is_shown_twice():
    before = plt.get_fignums()
    plot()
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    ("caption", "alt", "message"),
    [
        (" ", ALT, "needs a caption"),
        ("See.", "a line", "five words or more, with a full stop, got 'a line'"),
        ("See.", "A line goes up and down", "full stop"),
    ],
)
def test_a_plot_without_words_is_refused(caption, alt, message):
    with pytest.raises(ValueError, match=message):
        exhibits.Plot(plt.figure(), caption, alt=alt)
    plt.close("all")


def test_equal_figures_are_equal_text_and_others_share_no_id():
    assert plot().html() == plot().html()
    first, second = ({tag["id"] for tag in parse(plot(end)).find_all(id=True)} for end in (1, 2))
    assert first and second and not first & second


def test_what_a_plot_refers_to_is_in_it():
    html = plot().html()
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', html)) == set(ids)


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
    texts = {text.get_text() for text in soup.find_all("text")}
    assert {"loss", "<weights>", "0.5", "x1"} <= texts
    assert "font-family" not in str(soup)


def test_a_plot_brings_no_rules_for_the_page_and_asks_no_other_host():
    soup = parse(plot())
    assert not soup.find_all(["style", "metadata", "script"])
    assert not re.search(r"https?:|<\?xml|<!|xmlns", str(soup))
    assert all(tag["href"].startswith(("#", "data:image/png;")) for tag in soup.find_all(href=True))


def test_numbers_are_short_and_the_whole_is_small():
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
