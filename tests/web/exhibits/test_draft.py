"""The exhibit of drafted tokens: pass by pass as in Python by the same darts, and measured."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from gpt2_edu import GPT2, load_tokenizer
from gpt2_edu.exhibits.draft import Speculated
from gpt2_edu.web import ASSETS
from tests.thorough import thorough

pytestmark = pytest.mark.browser
FILE = "**/files/draft.js"
BARS = [[7, "␣ate", 0.6, 0.3], [9, "␣sat", 0.2, 0.5]]
DRAFTED = (("␣ate", "stays", 0.3, 0.6, 0.9), ("␣red", "goes", 0.5, 0.1, 0.4))
SETTINGS = {  # the numbers are made up
    "texts": ["A crane", "Six pigeons"],
    "ahead": 3,
    "temperature": 1,
    "seed": 0,
    "found": [
        {
            "drafted": [
                *(
                    {"name": name, "fate": fate, "q": q, "p": p, "dart": dart, "bars": BARS}
                    for name, fate, q, p, dart in DRAFTED
                ),
                {"name": ".", "fate": "unread", "q": 1, "p": 0.5, "dart": None, "bars": BARS},
            ],
            "next": {"name": "␣fish", "p": 0.7, "bars": [[7, "␣fish", 0.7, None]]},
        }
        for _ in range(4)
    ],
}


@cache
def models() -> tuple[GPT2, GPT2]:
    return GPT2.from_pretrained("crane").eval(), GPT2.from_pretrained(ASSETS / "draft").eval()


def speculated(text: str, ahead: int, **more: Any) -> Speculated:
    """What Python finds."""
    return Speculated(*models(), load_tokenizer("crane"), [text], ahead=ahead, **more)


@pytest.fixture
def shown_draft(exhibit):
    """``shown_draft()``: the exhibit as the chapter has it."""
    texts = ["In the city by the river, the crane", "Six pigeons sat"]
    found = Speculated(*models(), load_tokenizer("crane"), texts)
    return lambda **more: exhibit("draft", **found.settings, **more)


def fates(shown) -> list[list[tuple[str, str]]]:
    """The tokens of each pass that is shown, and what becomes of them."""
    read = "cell => [cell.querySelector('b').innerText, cell.className]"
    rows = f"rows => rows.map((row) => [...row.querySelectorAll('button')].map({read}))"
    passes = shown.ready().element.locator(".passes li").evaluate_all(rows)
    return [[tuple(cell) for cell in cells] for cells in passes]


def expected(rounds: list[dict[str, Any]]) -> list[list[tuple[str, str]]]:
    return [
        [(token["name"], token["fate"]) for token in one["drafted"]]
        + ([(one["next"]["name"], "next")] if one["next"] else [])
        for one in rounds
    ]


def press(shown, name: str):
    shown.element.get_by_role("button", name=name).click()
    return shown.ready()


def test_the_stored_text_needs_no_model_and_grows_pass_by_pass(shown_draft, pages):
    shown = shown_draft(context={"reduced_motion": "reduce"})
    found = expected(speculated("In the city by the river, the crane", 4).rounds)
    assert fates(shown) == found[:2]
    assert fates(press(shown, "next pass")) == found[:3]
    assert fates(press(shown, "to the end")) == found
    assert shown.element.get_by_role("button", name="the text is complete").is_disabled()
    assert fates(press(shown, "back to the first")) == found[:1]
    assert not [url for url in pages.asked if "/files/" in url]


@pytest.mark.parametrize("ahead", [thorough(1), 4, thorough(8)])
def test_the_page_drafts_as_python_does_with_the_same_darts(shown_draft, ahead):
    text = "Six pigeons sat"
    shown = shown_draft(query={"text": text, "ahead": str(ahead), "passes": "99"})
    rounds = speculated(text, ahead).rounds
    assert fates(shown) == expected(rounds)
    tokens = [token for one in rounds for token in (*one["drafted"], one["next"]) if token]
    p = [float(row[1].lstrip("<–") or 0) for row in shown.table().values()]
    judged = [token["p"] if token.get("dart", 1) is not None else 0 for token in tokens]
    if len(p) == len(judged):  # otherwise some rows of the table have one name
        assert p == pytest.approx(judged, abs=2e-3)
    written = sum(token.get("fate", "stays") == "stays" for token in tokens)
    assert shown.sentence.startswith(
        f"{len(rounds)} passes of the large model gave {written} tokens"
    )


def test_the_text_is_what_stays(shown_draft):
    shown = shown_draft(query={"passes": "99"})
    rounds = speculated("In the city by the river, the crane", 4).rounds
    names = [
        token["name"]
        for one in rounds
        for token in (*one["drafted"], one["next"])
        if token and token.get("fate", "stays") == "stays"
    ]
    text = "In the city by the river, the crane" + "".join(names).replace("␣", " ")
    assert shown.element.locator(".drafted").inner_text() == text


def test_a_token_shows_its_bars_its_dart_and_the_reason(exhibit):
    shown = exhibit("draft", **SETTINGS)
    told = shown.element.locator(".told")
    assert told.inner_text() == (
        "␣red: the dart lands at 0.400 of q = 0.500, which is beyond p = 0.100, so it goes."
    )
    left = shown.element.locator(".sides .tracks u").evaluate("(dart) => dart.style.left")
    assert left == "20%"
    assert shown.bars() == {"␣ate": 0.6, "␣sat": 0.2}
    cells = shown.element.locator(".passes li").first.locator("button")
    cells.nth(0).click()
    assert shown.query == "?token=0.0"
    assert "stays wherever the dart lands" in told.inner_text()
    shown.press("ArrowRight", "ArrowRight", "Enter")
    assert "thrown away" in told.inner_text()
    assert shown.element.locator(".sides .tracks u").count() == 0
    cells.nth(3).click()
    assert "one token more" in told.inner_text() or "one with p = 0.700" in told.inner_text()
    assert shown.bars() == {"␣fish": 0.7}
    widths = (
        cells.nth(1)
        .locator(".tracks i")
        .evaluate_all("bars => bars.map((bar) => bar.getBoundingClientRect().width)")
    )
    assert widths[0] == pytest.approx(5 * widths[1], rel=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("temperature", [0, 2])
def test_the_draft_may_have_another_temperature_and_other_darts(shown_draft, temperature):
    text = "In the city by the river, the crane"
    shown = shown_draft(query={"tau": str(temperature), "passes": "99"})
    found = []
    for seed in range(3):
        rounds = speculated(text, 4, temperature=temperature, seed=seed).rounds
        assert fates(shown) == expected(rounds)
        found += [fate for row in fates(shown) for _, fate in row]
        if not temperature:
            shares = {row[0] for row in shown.table().values()}
            assert shares <= {"1.000", "–"}  # q of what a greedy draft proposes
        press(shown, "other darts")
    assert {"stays", "goes", "next"} <= set(found)


@pytest.mark.thorough
def test_what_a_chapter_chooses_is_the_first_frame(exhibit, pages):
    more = {"ahead": 3, "temperature": 1.5, "seed": 4}
    found = speculated("Six pigeons sat", **more)
    shown = exhibit("draft", **found.settings, query={"passes": "99"})
    assert fates(shown) == expected(found.rounds)
    assert not [url for url in pages.asked if "/files/" in url]


@pytest.mark.thorough
def test_it_is_measured_when_asked_and_another_choice_stops_it(shown_draft):
    shown = shown_draft()
    button = shown.element.get_by_role("button", name="measure in this browser")
    button.click()
    measured = shown.element.locator(".measured")
    shown.page.wait_for_function(
        "() => document.querySelector('.measured').textContent", timeout=60_000
    )
    text = measured.inner_text()
    found = re.findall(r"([\d,]+) \([\d,]+ to [\d,]+\)", text)
    assert len(found) == 2 and all(int(number.replace(",", "")) > 0 for number in found)
    assert "a pass over 5" in text and not re.search("NaN|undefined|Infinity", text)
    button.click()
    shown.slide("tokens drafted for a pass", 2)
    assert shown.ready().state == "ready" and measured.inner_text() == ""
    button.wait_for()
    shown.page.wait_for_function("(b) => !b.disabled", arg=button.element_handle(), timeout=20_000)
    assert shown.status == ""


@pytest.mark.thorough
def test_a_draft_that_does_not_come_is_reported_and_asked_for_again(shown_draft):
    shown = shown_draft()
    shown.page.route(FILE, lambda route: route.abort())
    press(shown, "other darts")
    assert "files/draft.js did not come" in shown.ready().status
    assert shown.state == "stale"
    shown.page.unroute(FILE)
    press(shown, "other darts")
    assert (shown.ready().state, shown.status) == ("ready", "")


@pytest.mark.thorough
def test_of_a_text_that_is_too_long_the_end_is_continued(shown_draft):
    shown = shown_draft()
    box = shown.element.get_by_role("textbox")
    box.fill("A crane ate fish. " * 40)
    box.press("Enter")
    cut = re.search("So that all fits, the first ([0-9]+) tokens are left out", shown.sentence)
    encoding = load_tokenizer("crane")
    ids = encoding.encode_ordinary(("A crane ate fish. " * 40).strip())
    kept = encoding.decode(ids[int(cut[1]) :])
    press(shown, "to the end")
    assert fates(shown) == expected(speculated(kept, 4).rounds)
