"""The map: one picture of the model that says where a chapter is, the same on every run."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup

from gpt2_edu import GPT2, GPT2Config, exhibits
from gpt2_edu.exhibits.map import CHAPTERS, PARTS, numbers
from gpt2_edu.exhibits.setup import stylesheet
from gpt2_site.chapters import find
from tests.exhibits.test_exhibits import contrast, rgb, themes


def parse(here) -> BeautifulSoup:
    return BeautifulSoup(exhibits.Map(here)._repr_html_(), "html.parser")


@pytest.fixture(params=PARTS)
def part(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_part_is_marked_by_a_thicker_frame_a_label_and_in_words(part):
    soup = parse(part)
    marked = soup.find_all("rect", class_="here")
    assert [rect["class"] for rect in marked] == [[part, "here"]]
    assert marked[0]["stroke-width"] == "3"
    assert [text.get_text() for text in soup.find_all("text", class_="flagged")] == ["you are here"]
    assert soup.strong.get_text() == f"You are here: {PARTS[part][0]}."


def test_the_line_marks_the_part_and_opens_to_the_picture(part):
    soup = parse(part)
    marked = [
        tag.get_text(" ", strip=True) for tag in soup.summary.find_all(attrs={"aria-current": True})
    ]
    assert len(marked) == (2 if part == "residual" else 1)
    assert all(tag.name == "b" for tag in soup.summary.find_all(attrs={"aria-current": True}))
    assert soup.summary["aria-label"] == f"You are here: {PARTS[part][0]}. Map of GPT-2"
    assert soup.details.svg is not None
    assert "open" not in soup.details.attrs


@pytest.mark.parametrize(
    ("here", "line"),
    [
        ("mlp", "tokens · wte + wpe · [ ln_1 · attention · + · ln_2 · *MLP* · + ] × N · ln_f"),
        ("cache", "tokens · wte + wpe · [ ln_1 · attention · *cache* · + · ln_2"),
        ("block", "tokens · wte + wpe · *[ ln_1 · attention · + · ln_2 · MLP · + ] × N* · ln_f"),
        ("weights", "tokens · *wte + wpe · ["),
        ("whole", "*tokens · wte + wpe · ["),
        ("weights", "· ln_f · lm_head* → next token"),
        ("training", "· ln_f · lm_head → *training*"),
        ("sampling", "· ln_f · lm_head → *next token*"),
        (("training", "sampling"), "lm_head → *training* · *next token*"),
    ],
)
def test_the_line_is_the_way_from_tokens_to_the_next_token(here, line):
    soup = parse(here)
    for mark in soup.summary.find_all("b"):
        mark.insert(0, "*")
        mark.append("*")
    assert line in soup.summary.get_text().replace("\u00a0", " ")


def test_who_cannot_see_the_picture_is_told_the_way_and_the_place(part):
    svg = parse(part).svg
    assert svg["role"] == "img"
    words, chapters = PARTS[part][0], numbers(PARTS[part][1])
    assert svg["aria-label"].startswith("Map of GPT-2, from top to bottom: tokens;")
    assert svg["aria-label"].endswith(f" You are here: {words} (chapter {chapters}).")


def test_several_parts_are_all_marked_in_the_order_of_the_picture():
    soup = parse(["cache", "attention", "cache"])
    assert [rect["class"][0] for rect in soup.find_all("rect", class_="here")] == [
        "attention",
        "cache",
    ]
    assert soup.strong.get_text() == "You are here: attention and the key-value cache."
    assert parse(PARTS).strong.get_text().endswith("lm_head, training and sampling.")


def test_the_same_map_is_the_same_html_and_shows_no_address(part):
    assert exhibits.Map(part)._repr_html_() == exhibits.Map((part,))._repr_html_()
    assert repr(exhibits.Map(part)) == f"Map({part})"
    assert exhibits.Map().here == ("whole",)


def test_a_page_can_show_two_maps_without_javascript_or_another_host():
    html = exhibits.Map("mlp")._repr_html_()
    assert not re.search(r"\bid=|url\(|href|<script|\son\w+=|https?:|src=", html)


@pytest.mark.parametrize("here", ["atention", ("mlp", "atention")])
def test_an_unknown_part_is_refused_with_the_nearest_name(here):
    with pytest.raises(ValueError, match=r"unknown part 'atention'.*Did you mean 'attention'\?"):
        exhibits.Map(here)
    with pytest.raises(ValueError, match=r"name at least one part\. Known: whole, tokens"):
        exhibits.Map(())
    with pytest.raises(ValueError, match="unknown part 7"):
        exhibits.Map([7])


def test_the_docstring_names_every_part():
    assert set(re.findall(r'"(\w+)"', exhibits.Map.__doc__.split("here:")[1])) == set(PARTS)


def test_the_picture_has_the_names_of_the_code():
    written = {text.get_text() for text in parse("whole").find_all("text", class_="name")}
    model = GPT2(GPT2Config(vocab_size=5, block_size=3, n_layer=1, n_head=1, n_embd=2))
    block = dict(model.transformer.h[0].named_children())
    children = {*dict(model.transformer.named_children()), "lm_head", *block} - {"drop"}
    assert children | {"GPT2", "tokens", "cache", "training", "sampling"} == written


def test_the_numbers_are_those_of_the_book_and_the_picture_has_them_all():
    """A chapter about no part of the picture need not be on it."""
    told = {name for _, chapters in PARTS.values() for name in chapters.split()}
    texts = " ".join(text.get_text() for text in parse("whole").find_all("text"))
    written = {
        number
        for low, high in re.findall(r"ch\. (\d+)(?:–(\d+))?", texts)
        for number in range(int(low), int(high or low) + 1)
    }
    assert written == {find(name).number for name in told}


def test_runs_of_chapters_are_written_as_ranges():
    first, second, third, fourth, fifth = CHAPTERS[:5]
    assert numbers(f"{first} {third} {fourth} {fifth}") == "1, 3–5"
    assert numbers(second) == "2"


def test_every_class_of_the_drawing_has_its_style():
    css = stylesheet()
    used = {name for tag in parse("whole").svg.find_all(True) for name in tag.get("class", [])}
    for name in used - set(PARTS):
        assert f".{name}" in css, name


def test_words_can_be_read_on_the_fill_of_a_marked_part():
    for variables in themes().values():
        paper, hue = rgb(variables["paper"]), rgb(variables["hue"])
        share = float(re.search(r"rect\.here:not.*?--hue\) (\d+)%", stylesheet())[1]) / 100
        fill = tuple(share * h + (1 - share) * p for h, p in zip(hue, paper))
        assert contrast(rgb(variables["soft"]), fill) >= 4.5
        assert contrast(rgb(variables["ink"]), paper) >= 4.5  # the label
