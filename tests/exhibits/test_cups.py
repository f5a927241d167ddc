"""The shell game: both answers as the model gives them, and the cups at every token."""

from __future__ import annotations

import pytest
import torch
from bs4 import BeautifulSoup

from gpt2_edu import GPT2
from gpt2_edu.exhibits import Shuffled
from gpt2_edu.thought import cups


@pytest.fixture(scope="module")
def model() -> GPT2:
    torch.manual_seed(0)
    return GPT2(cups.config()).eval()  # it has not learned to play


@pytest.fixture(scope="module")
def shuffled(model) -> Shuffled:
    return Shuffled(model, cups.game(3, 4), caption="A game.")


@pytest.mark.parametrize(("way", "ask"), [("now", cups.NOW), ("steps", cups.STEPS)])
def test_what_is_stored_is_what_the_model_does(model, shuffled, way, ask):
    found = shuffled.found[way]
    words = [step["word"] for step in found["steps"]]
    assert found["tokens"] == len(words) + (found["tokens"] < 6)  # with the end, if it came
    ids = cups.prompt(shuffled.game, ask)
    for step in found["steps"]:
        with torch.no_grad():
            shares = model(torch.tensor([ids]))[0][0, -1].softmax(dim=-1)
        assert step["p"] == pytest.approx(shares[:5].tolist(), abs=1e-3)
        assert step["word"] == cups.WORDS[shares.argmax()]
        ids.append(cups.IDS[step["word"]])
    assert found["said"] == words[-1]


def test_what_the_page_needs_is_in_its_settings(shuffled):
    settings = shuffled.settings
    assert settings["words"].index("<|endoftext|>") == cups.IDS[cups.END]
    start, *swaps = shuffled.game.text.split()
    assert settings["game"] == {"start": start, "swaps": swaps} and len(swaps) == 4
    assert settings["found"] == shuffled.found and settings["longest"] == cups.MOST


def test_it_is_printed_with_the_place_of_the_ball(shuffled):
    soup = BeautifulSoup(shuffled._repr_html_(), "html.parser")
    first, *others = soup.select("tbody tr")
    rows = [row for row in others if row.find("th").text != "at once"]
    names = [cell.text for cell in soup.select("thead th")]
    assert names == [*"ABCDE", "it says"]
    cells = [cell.get("class") == ["truth"] for cell in first.find_all("td")]
    assert cells.index(True) == "ABCDE".index(shuffled.game.answer)
    for row, place in zip(rows, shuffled.game.steps.split(), strict=False):
        cells = [cell.get("class") == ["truth"] for cell in row.find_all("td")]
        assert cells.index(True) == "ABCDE".index(place)
    steps = shuffled.found["steps"]["steps"]
    said = [row.find_all("td")[-1].text.split()[0] for row in rows]
    assert said == [step["word"] for step in steps]
