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
