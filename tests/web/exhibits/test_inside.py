"""The exhibit of chapter 17: a vector of one text carried into another's run."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"
RIVER, HARBOUR = "By the river, the crane", "At the harbour, the crane"
STAGES = ["embd"]
STAGES += [f"transformer.h.{n}.{part}" for n in range(3) for part in ("resid_mid", "resid_post")]
THE = {"stage": "1", "back": "1"}  # the second ␣the, after attention 0
CRANE = {"stage": "3", "back": "0"}  # after attention 1


def lenses(crane, tape):
    """The likeliest token at each stage and place, as the page names them."""
    head, norm = crane.model.lm_head, crane.model.transformer.ln_f
    with torch.no_grad():
        best = [head(norm(tape[stage]))[0].argmax(dim=-1) for stage in STAGES]
    return [crane.show(row.tolist()) for row in best]


def carried(crane, text, giver, stage, back=0):
    """The tape of text's run with the giver's vector in one place, counted from the end."""
    given = crane.trace(giver)[STAGES[stage]][:, -1 - back]

    def put(x):
        x = x.clone()
        x[:, -1 - back] = given
        return x

    return crane.trace(text, {STAGES[stage]: put})


def words(shown, nth):
    """The lens without its ghosts."""
    rows = shown.ready().element.locator(".lens").nth(nth).locator("tr").all()[1:]
    first = "cells => cells.map((cell) => cell.firstChild.textContent)"
    return [row.locator("td").evaluate_all(first) for row in rows]


def cell(shown, nth, row, column):
    place = f'td[data-place="{row} {column}"]'
    return shown.ready().element.locator(".lens").nth(nth).locator(place)


def share(crane, tape, name):
    return f"{crane.next(tape['logits'], 1024)[name]:.2f}"


def test_both_lenses_and_the_bars_are_pythons(exhibit, crane):
    shown = exhibit("inside", text=MARSH, giver=CITY)
    marsh, city = crane.trace(MARSH), crane.trace(CITY)
    assert words(shown, 0) == lenses(crane, city)
    assert words(shown, 1) == lenses(crane, marsh)
    assert shown.bars() == pytest.approx(crane.next(marsh["logits"]), abs=1e-3)
    assert f"␣lifted ({share(crane, city, '␣lifted')})" in shown.sentence
    assert f"␣ate ({share(crane, marsh, '␣ate')})" in shown.sentence


def test_a_click_carries_a_vector_and_a_second_one_takes_it_back(exhibit, crane):
    shown = exhibit("inside", text=MARSH, giver=CITY)
    cell(shown, 0, 3, 6).click()
    tape = carried(crane, MARSH, CITY, 3)
    assert words(shown, 1) == lenses(crane, tape)
    expected = crane.next(tape["logits"], 1024)
    bars = shown.bars()
    assert bars == pytest.approx({name: expected[name] for name in bars}, abs=1e-3)
    assert shown.element.locator(".bar", has_text="␣ate").locator("s").inner_text() == "was 0.528"
    assert cell(shown, 1, 3, 6).locator("s").inner_text() == "␣ate"
    assert "1.00 of the way to the first text" in shown.sentence
    assert shown.query == "?stage=3"
    cell(shown, 1, 3, 6).click()
    assert shown.bars() == pytest.approx(crane.next(crane.trace(MARSH)["logits"]), abs=1e-3)
    assert shown.query == ""


def test_what_differs_need_not_be_used(exhibit, crane):
    shown = exhibit("inside", text=MARSH, query=THE, giver=CITY)
    a, b = (crane.trace(text)[STAGES[1]][0, 5] for text in (CITY, MARSH))
    apart = (a - b).norm() / ((a.norm() + b.norm()) / 2)
    assert apart > 1
    assert f"apart by {apart:.2f}" in shown.sentence
    assert f"␣ate stays at {share(crane, crane.trace(MARSH), '␣ate')}" in shown.sentence
    assert shown.sentence.endswith("different, and alone it hardly moves this prediction.")
    cell(shown, 0, 0, 6).click()
    assert shown.sentence.endswith("both texts have the same vector: nothing can change.")


def test_the_way_to_the_first_text_is_pythons(exhibit, crane):
    shown = exhibit("inside", text=CITY, query={"stage": "2", "back": "3"}, giver=MARSH)
    ate, lifted = (crane.ids(word)[1] for word in (" ate", " lifted"))
    tapes = crane.trace(CITY), carried(crane, CITY, MARSH, 2, 3), crane.trace(MARSH)
    begin, now, end = (tape["logits"][0, -1, [ate, lifted]].diff().item() for tape in tapes)
    assert f"{(begin - now) / (begin - end):.2f} of the way" in shown.sentence


def test_texts_of_other_lengths_are_aligned_at_their_ends(exhibit, crane):
    shown = exhibit("inside", text=RIVER, query=CRANE, giver=HARBOUR)
    longer = len(crane.ids(HARBOUR)) - len(crane.ids(RIVER))
    assert longer > 0
    note = shown.element.locator(".strip-box").nth(1).inner_text()
    assert f"The first text is longer by {longer}" in note
    expected = crane.next(carried(crane, RIVER, HARBOUR, 3)["logits"], 1024)
    bars = shown.bars()
    assert bars == pytest.approx({name: expected[name] for name in bars}, abs=1e-3)
    cell(shown, 0, 0, 0).click()  # its partner is missing
    assert "no such place" in shown.sentence
    shown.element.get_by_role("button", name="exchange the two").click()
    assert shown.sentence.startswith("The first text would go on with ␣ate")


def test_dragged_by_mouse_and_tapped(exhibit):
    shown = exhibit("inside", text=MARSH, giver=CITY)
    cell(shown, 0, 3, 6).drag_to(cell(shown, 1, 5, 2))  # it goes to its own place
    assert shown.query == "?stage=3"
    tapped = exhibit("inside", text=MARSH, context={"has_touch": True}, giver=CITY)
    cell(tapped, 1, 3, 6).tap()
    assert tapped.sentence == shown.sentence


def test_by_keyboard_alone(exhibit):
    shown = exhibit("inside", text=MARSH, giver=CITY)
    cell(shown, 0, 0, 0).focus()
    for key in ["ArrowDown"] * 3 + ["End", "Enter"]:
        shown.page.keyboard.press(key)
    assert shown.query == "?stage=3"
    assert cell(shown, 1, 3, 6).get_attribute("aria-selected") == "true"


@pytest.mark.parametrize(
    "query",
    [
        {"text": "", "from": "", "stage": "3"},
        {"text": "<img src=x> & \u202e שלום 🐦" * 500, "stage": "99", "back": "1e9"},
        {"from": "a\x00b", "stage": "🐦", "back": "-1"},
    ],
)
def test_odd_addresses_are_read_as_far_as_they_make_sense(exhibit, query):
    shown = exhibit("inside", text=MARSH, query=query, giver=CITY)
    shown.stands()
    assert all(0 < len(row) <= 24 for row in words(shown, 1))
    shown.element.get_by_role("button", name="reset").click()
    assert shown.sentence.startswith("The first text would go on with ␣lifted")
