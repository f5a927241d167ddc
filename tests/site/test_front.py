"""The first page and "Open the model": the numbers that stand there are the model's."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import pytest
import torch

from gpt2_edu import GPT2, load_tokenizer, trace
from gpt2_site.chapters import chapters

PLACES = ("marsh", "city")


@pytest.fixture(scope="module")
def passes() -> dict[str, tuple[list[str], dict]]:
    """For each place the tokens and every tensor of one pass."""
    model, encoding = GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")
    found = {}
    for place in PLACES:
        ids = [encoding.eot_token, *encoding.encode(f"In the {place}, the crane")]
        with trace(model) as tape, torch.no_grad():
            model(torch.tensor([ids]))
        found[place] = [encoding.decode([i]) for i in ids], tape
    return found


def likeliest(logits, n: int) -> list[tuple[str, float]]:
    p, best = logits[0, -1].softmax(-1).topk(n)
    return [(load_tokenizer("crane").decode([i]), v) for i, v in zip(best.tolist(), p.tolist())]


@pytest.mark.parametrize("place", PLACES)
def test_the_first_pages_numbers_are_the_models(soup, passes, place):
    page = soup("book/index")
    tokens, tape = passes[place]
    shown = [
        (row.b.find(string=True, recursive=False) or "", row.i.text)
        for row in page.select(f".told .of-{place} li")
    ]
    expected = likeliest(tape["logits"], 3)
    assert shown == [(name.strip(), f"{p:.2f}") for name, p in expected]
    weight = tape["transformer.h.1.attn.weights"][0, 0, -1, tokens.index(f" {place}")]
    assert page.select_one(f".arc.of-{place}").text == f"{weight:.2f}"
    assert f"{place}: {weight:.2f} of its" in page.select_one(f".of-{place} .why").text
    link = urlsplit(page.select_one(f"a.inside.of-{place}")["href"])
    assert parse_qs(link.query)["text"] == [f"In the {place}, the crane"]


def test_a_beginning_of_a_word_is_ended_as_the_model_would(site, soup):
    """sp(read), sw(ung): the rest stands in small letters, and is a word of Crane World with it."""
    words = set(
        re.search(r'"words": "([^"]*)"', (site / "_static/files/crane.js").read_text())[1].split()
    )
    shown = [row.b.text for row in soup("book/index").select(".told :not(.of-now) > ol li")]
    assert len(shown) == 6 and set(shown) <= words


def test_all_chapters_are_one_click_away_and_parameters_are_counted(soup):
    page = soup("book/index")
    count = sum(p.numel() for p in GPT2.from_pretrained("crane").parameters())
    assert page.select_one("figcaption").text.startswith(f"{count:,} parameters")
    shown = [[link.text for link in part.select("ol a")] for part in page.select(".part")]
    expected: dict[str, list[str]] = {}
    for chapter in chapters():
        expected.setdefault(chapter.part, []).append(chapter.title)
    assert shown == list(expected.values())
    assert [part.svg["role"] for part in page.select(".part")] == ["img"] * 5
    assert all(len(part.svg["aria-label"]) > 60 for part in page.select(".part"))


def test_pictures_of_the_parts_hold_the_models_numbers(soup, passes):
    tokens, attention, _, training, lens = (part.svg for part in soup("book/index").select(".part"))
    ids = load_tokenizer("crane").encode("A crane ate fish")
    assert [t.text for t in tokens.select("text.soft")] == [str(i) for i in ids]
    _, tape = passes["marsh"]
    rows = tape["transformer.h.1.attn.weights"][0, 0]
    shares = [float(r["fill-opacity"]) for r in attention.select(".heat")]
    assert shares == [
        pytest.approx(w.item(), abs=6e-3) for n, r in enumerate(rows) for w in r[: n + 1]
    ]
    heights = [float(point.split(",")[1]) for point in training.polyline["points"].split()]
    assert heights[-1] > heights[0] + 80 and all(b - a > -12 for a, b in pairwise(heights))
    model = GPT2.from_pretrained("crane").eval()
    said = []
    for path in ["embd", *(f"transformer.h.{n}.resid_post" for n in range(3))]:
        x = model.transformer.ln_f(tape[path][:, -1:]) @ model.transformer.wte.weight.T
        [(name, p)] = likeliest(x.detach(), 1)
        said += [name.replace(" ", "␣"), f"{p:.2f}"]
    assert [t.text for t in lens.select("text:not(.soft)")] == said


def test_open_the_model_prints_what_the_model_says(soup, passes):
    tables = soup("book/model").select("gpt2-playground table")
    for place, table in zip(PLACES, tables):
        rows = [[cell.text for cell in row.select("td")] for row in table.select("tbody tr")]
        best = likeliest(passes[place][1]["logits"], 5)
        assert rows == [[name.replace(" ", "␣"), f"{p:.3f}"] for name, p in best]
    rows = [[cell.text for cell in row.select("td")] for row in tables[2].select("tbody tr")]
    names, tape = passes["marsh"]
    for head, most_at, weight in rows:
        n, h = map(int, head.split("."))
        row = tape[f"transformer.h.{n}.attn.weights"][0, h, -1]
        name = names[row.argmax()].replace(" ", "␣").replace("<|endoftext|>", "⟨end⟩")
        assert (most_at, weight) == (name, f"{row.max():.2f}")
    assert len(rows) == 12


def test_what_one_is_told_to_try_happens():
    """book/model.md: without 1.0 next to nothing, without 1.0 and 1.2 0.32 and 0.13."""
    model, encoding = GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")
    ids = [encoding.eot_token, *encoding.encode("In the marsh, the crane")]

    def without(*heads: int) -> dict[str, float]:
        def cut(values):
            values = values.clone()
            values[:, list(heads)] = 0
            return values

        edits = {"transformer.h.1.attn.heads": cut}
        with trace(model, edits=edits) as tape, torch.no_grad():
            model(torch.tensor([ids]))
        return dict(likeliest(tape["logits"], 20))

    assert without(0)[" ate"] == pytest.approx(0.53, abs=0.01)
    both = without(0, 2)
    assert (round(both[" ate"], 2), round(both[" lifted"], 2)) == (0.32, 0.13)
