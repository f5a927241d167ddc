"""The map: one picture of the model that says where a chapter is."""

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


@pytest.mark.parametrize("part", PARTS)
def test_marks_its_part_in_picture_line_and_words(part):
    soup = parse(part)
    words, chapters = PARTS[part]
    (frame,) = soup.find_all("rect", class_="here")
    assert (frame["class"], frame["stroke-width"]) == ([part, "here"], "3")
    assert [text.get_text() for text in soup.find_all("text", class_="flagged")] == ["you are here"]
    assert soup.strong.get_text() == f"You are here: {words}."
    assert soup.summary["aria-label"] == f"You are here: {words}. Map of GPT-2"
    assert len(soup.summary.find_all("b", attrs={"aria-current": True})) == 1 + (part == "residual")
    assert "open" not in soup.details.attrs
    assert soup.svg["role"] == "img"
    assert soup.svg["aria-label"].startswith("Map of GPT-2, from top to bottom: tokens;")
    assert soup.svg["aria-label"].endswith(f" You are here: {words} (chapter {numbers(chapters)}).")


@pytest.mark.parametrize(
    ("here", "line"),
    [
        ("mlp", "tokens · wte + wpe · [ ln_1 · attention · + · ln_2 · *MLP* · + ] × N · ln_f"),
        ("cache", "tokens · wte + wpe · [ ln_1 · attention · *cache* · + · ln_2"),
        ("block", "tokens · wte + wpe · *[ ln_1 · attention · + · ln_2 · MLP · + ] × N* · ln_f"),
        ("weights", "tokens · *wte + wpe · ["),
        ("weights", "· ln_f · lm_head* → next token"),
        ("whole", "*tokens · wte + wpe · ["),
        ("training", "· ln_f · lm_head → *training*"),
        (("training", "sampling"), "lm_head → *training* · *next token*"),
    ],
)
def test_line_leads_from_tokens_to_the_next_token(here, line):
    soup = parse(here)
    for mark in soup.summary.find_all("b"):
        mark.insert(0, "*")
        mark.append("*")
    assert line in soup.summary.get_text().replace("\u00a0", " ")


def test_several_parts_are_marked_in_the_order_of_the_picture():
    soup = parse(["cache", "attention", "cache"])
    marked = soup.find_all("rect", class_="here")
    assert [rect["class"][0] for rect in marked] == ["attention", "cache"]
    assert soup.strong.get_text() == "You are here: attention and the key-value cache."
    assert parse(PARTS).strong.get_text().endswith("lm_head, training and sampling.")


def test_a_page_can_show_two_maps_without_javascript_or_another_host():
    html = exhibits.Map("mlp")._repr_html_()
    assert not re.search(r"\bid=|url\(|href|<script|\son\w+=|https?:|src=|<!--|\{|LABEL", html)


def test_unknown_part_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match=r"unknown part 'atention'.*Did you mean 'attention'\?"):
        exhibits.Map(("mlp", "atention"))
    with pytest.raises(ValueError, match="at least one part"):
        exhibits.Map(())
    assert exhibits.Map().here == ("whole",)


def test_picture_has_the_names_of_the_code():
    written = {text.get_text() for text in parse("whole").find_all("text", class_="name")}
    model = GPT2(GPT2Config(vocab_size=5, block_size=3, n_layer=1, n_head=1, n_embd=2))
    block = dict(model.transformer.h[0].named_children())
    children = {*dict(model.transformer.named_children()), "lm_head", *block} - {"drop"}
    assert children | {"GPT2", "tokens", "cache", "training", "sampling"} == written


def test_picture_has_the_numbers_of_all_chapters_about_it():
    told = {name for _, chapters in PARTS.values() for name in chapters.split()}
    texts = " ".join(text.get_text() for text in parse("whole").find_all("text"))
    written = {
        number
        for low, high in re.findall(r"ch\. (\d+)(?:–(\d+))?", texts)
        for number in range(int(low), int(high or low) + 1)
    }
    assert written == {find(name).number for name in told}
    first, _, third, fourth, fifth = CHAPTERS[:5]
    assert numbers(f"{first} {third} {fourth} {fifth}") == "1, 3–5"


def test_every_class_of_the_drawing_has_its_style():
    used = {name for tag in parse("whole").svg.find_all(True) for name in tag.get("class", [])}
    for name in used - set(PARTS):
        assert f".{name}" in stylesheet(), name


def test_words_can_be_read_on_the_fill_of_a_marked_part():
    for variables in themes().values():
        paper, hue = rgb(variables["paper"]), rgb(variables["hue"])
        share = float(re.search(r"rect\.here:not.*?--hue\) (\d+)%", stylesheet())[1]) / 100
        fill = tuple(share * h + (1 - share) * p for h, p in zip(hue, paper))
        assert contrast(rgb(variables["soft"]), fill) >= 4.5
