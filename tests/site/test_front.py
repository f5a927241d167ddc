"""The first page and "Open the model": the numbers that stand there are the model's."""

from __future__ import annotations

import base64
import json
import re
from io import BytesIO

import pytest
import torch
from PIL import Image

from gpt2_edu import GPT2, load_tokenizer, trace
from gpt2_site.chapters import chapters

PLACES = ("marsh", "city")


@pytest.fixture(scope="module")
def passes() -> dict[str, tuple[list[str], dict]]:
    """For each place the tokens and every tensor of one pass."""
    model, encoding = GPT2.from_pretrained("crane"), load_tokenizer("crane")
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
def test_the_picture_holds_the_models_numbers(soup, passes, place):
    """The pass that a page holds is PyTorch's: what comes next, all weights, the stream's lens."""
    stored = settings(soup("book/index"))["passes"][PLACES.index(place)]
    tokens, tape = passes[place]
    assert stored["text"] == f"In the {place}, the crane"
    assert [one["name"].replace("␣", " ") for one in stored["next"]] == [
        name for name, _ in likeliest(tape["logits"], 6)
    ]
    for block, heads in enumerate(stored["attention"]):
        weights = tape[f"transformer.h.{block}.attn.weights"][0]
        for head, packed in zip(weights, heads, strict=True):
            assert [w * stored["unit"] for w in packed] == pytest.approx(
                [w for t, r in enumerate(head.tolist()) for w in r[: t + 1]], abs=6e-5
            )
    model, encoding = GPT2.from_pretrained("crane"), load_tokenizer("crane")
    birds = {encoding.encode(f" {deed}")[0] for deed in ("ate", "spread", "stood", "built", "flew")}
    x = (
        model.transformer.ln_f(tape["transformer.h.1.resid_mid"][0])
        @ model.transformer.wte.weight.T
    )
    p = x.detach().softmax(-1)[-1]
    name, most, bird, *_ = stored["lens"][3][-1]
    assert (name.replace("␣", " "), most) == (
        encoding.decode([p.argmax().item()]),
        pytest.approx(p.max().item(), abs=6e-5),
    )
    assert bird == pytest.approx(sum(p[i].item() for i in birds), abs=6e-5)
    lit = (tape["transformer.h.1.mlp.act"][0] > 0.5).sum(-1).tolist()
    assert [len(units) for units in stored["lit"][1]] == lit and len(tokens) == 7
    acts = tape["transformer.h.1.mlp.act"][0, -1]
    assert acts[stored["lit"][1][-1]].min() > 0.5
    length = tape["transformer.h.1.resid_mid"][0, -1].norm().item()
    assert stored["lengths"][3][-1] == pytest.approx(length, abs=0.006)


def settings(page) -> dict:
    return json.loads(page.select_one("gpt2-flow")["data-settings"])


def test_the_boxes_hold_the_models_weights_before_it_is_there(soup):
    """Each eighth row and column, as colours in three strengths."""
    body = GPT2.from_pretrained("crane").transformer
    shown = settings(soup("book/index"))["boxes"]
    images = [
        Image.open(BytesIO(base64.b64decode(one.partition(",")[2]))).convert("RGBA")
        for one in shown
    ]
    assert [image.size for image in images] == [(64, 48)] * 3 + [(128, 16), (16, 16)]
    block, plain, minus = body.h[1], (0x8F, 0xB0, 0xD8), (0x8A, 0x80, 0x72)
    blue, green = (0x66, 0xAB, 0xDD), (0x43, 0xB8, 0x92)
    q, v = (block.attn.c_attn.weight[n : n + 128] for n in (0, 256))
    places = [
        (q, (0, 0), blue),
        (v, (32, 0), green),
        (block.attn.c_proj.weight, (48, 0), green),
        (block.mlp.c_fc.weight, (0, 16), plain),
        (block.mlp.c_proj.weight.T, (0, 32), plain),
    ]
    every = [(images[1], *place) for place in places]
    tables = [(images[3 + n], (body.wte, body.wpe)[n].weight, (0, 0), plain) for n in (0, 1)]
    for image, weight, (x, y), ink in [*every, *tables]:
        full = 2.5 * weight.square().mean().sqrt()
        for output, source in ((0, 0), (5, 9), (11, 3)):
            value = weight[8 * output, 8 * source]
            *colour, alpha = image.getpixel((x + output, y + source))
            strength = (value.abs() / full).clamp(max=1).item()
            assert alpha / 255 == pytest.approx(strength, abs=0.17)
            assert not alpha or tuple(colour) == (ink if value > 0 else minus)


def test_a_beginning_of_a_word_is_ended_as_the_model_would(site, soup):
    """sp(read), sw(ung): with its rest it is a word of Crane World."""
    words = set(
        re.search(r'"words": "([^"]*)"', (site / "_static/files/crane.js").read_text())[1].split()
    )
    shown = [
        one["name"].removeprefix("␣") + one["rest"]
        for stored in settings(soup("book/index"))["passes"]
        for one in stored["next"]
    ]
    assert len(shown) == 12 and set(shown) <= words


def test_all_chapters_are_one_click_away(soup):
    shown = [
        [link.text for link in part.select("ol a")] for part in soup("book/index").select(".part")
    ]
    expected: dict[str, list[str]] = {}
    for chapter in chapters():
        expected.setdefault(chapter.part, []).append(chapter.title)
    assert shown == list(expected.values())


def test_the_four_ways_to_begin_are_buttons_side_by_side(soup):
    ways = {
        link.text.replace("\xa0", " "): link["href"]
        for link in soup("book/index").select(".begin > a")
    }
    assert ways == {
        "Start chapter 1": "../notebooks/01_tokens.html",
        "GPT-2 in an hour": "hour.html",
        "Open the model": "model.html",
        "Train one here": "train.html",
    }


def test_open_the_model_prints_what_the_model_says(soup, passes):
    tables = soup("book/model").select(".printed table")
    for place, table in zip(PLACES, tables, strict=True):
        rows = [[cell.text for cell in row.select("th, td")] for row in table.select("tbody tr")]
        best = likeliest(passes[place][1]["logits"], 5)
        assert rows == [[name.replace(" ", "␣"), f"{p:.3f}"] for name, p in best]


def test_what_one_is_told_to_try_happens():
    """book/model.md: without 1.0 next to nothing, without 1.0 and 1.2 0.32 and 0.13."""
    model, encoding = GPT2.from_pretrained("crane"), load_tokenizer("crane")
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
