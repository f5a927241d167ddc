"""Words that the model has never met, and an engine that is lost: it is said, and it goes on."""

from __future__ import annotations

import re

import pytest

from gpt2_edu.crane import story
from gpt2_edu.web import files_script

MARSH, CITY = "In the marsh, the crane", "In the city, the crane"


NAMED = {
    CITY: None,
    "In the city, the cra": None,  # it is still being typed
    "In the city, the cra ate": "“cra”",
    "Pizza with <b>cheese</b>, the crane": "“Pizza”, “b”",
    "one two three vier fünf sechs sieben": "“vier”, “fünf”, “sechs” …",
    "😀": "“😀”",
    "": None,
}


@pytest.mark.thorough
def test_a_word_that_the_model_never_met_is_named(exhibit):
    shown = exhibit("heads", text=MARSH)
    for text, named in NAMED.items():
        shown.set(text=text)
        assert shown.status.startswith(f"Not in Crane World: {named}." if named else "")
        assert bool(shown.status) == bool(named)
        if named == "“Pizza”, “b”":
            assert shown.status.endswith("such as pitcher, plans, plates.")


@pytest.mark.thorough
def test_the_page_knows_every_word_of_crane_world():
    known = set(re.search('"words": "([^"]*)"', files_script("crane"))[1].split())
    for seed in range(10_000, 12_000):
        assert set(re.findall("[A-Za-z]+", story(seed))) <= known


def test_an_engine_that_breaks_is_replaced(exhibit, crane):
    shown = exhibit("heads", text=MARSH)
    [worker] = shown.page.workers
    worker.evaluate("() => void setTimeout(() => { throw new Error('broken') })")
    shown.page.wait_for_timeout(100)  # the throw is told to the page
    shown.element.locator("input[type=text]").fill(CITY)
    expected = crane.next(crane.trace(CITY)["logits"])
    assert shown.bars() == pytest.approx(expected, abs=1e-3)
    assert shown.status == ""
    assert worker not in shown.page.workers


@pytest.mark.thorough
def test_an_engine_that_does_not_answer_is_replaced_by_reset(exhibit, crane):
    shown = exhibit("heads", text=MARSH)
    before = shown.bars()
    [worker] = shown.page.workers
    worker.evaluate("() => close()")
    shown.page.evaluate("setTimeout = ((wait) => (f, ms) => wait(f, ms / 20))(setTimeout)")
    shown.element.locator("input[type=text]").fill(CITY)
    status = shown.element.locator(".status")
    status.get_by_text("not answered for ten seconds").wait_for()
    shown.element.get_by_role("button", name="reset").click()
    assert shown.bars() == before
    assert shown.status == ""


@pytest.mark.thorough
def test_what_failed_to_load_can_be_tried_again(exhibit):
    shown = exhibit("heads", text=CITY)
    shown.page.route("**/files/crane.js", lambda route: route.abort())
    shown.page.reload()
    assert "printed" in shown.ready().element.inner_text()
    assert "did not come" in shown.element.inner_text()
    shown.page.unroute("**/files/crane.js")
    shown.element.get_by_text("try again").click()
    assert shown.bars()


@pytest.mark.thorough
def test_a_link_leads_to_the_exhibit_as_it_is_shown(exhibit):
    shown = exhibit("heads", text=MARSH)
    shown.element.locator("input[type=text]").fill(CITY)
    shown.ready().element.get_by_role("button", name="link to this").click()
    shown.element.locator(".status", has_text="link is in the clipboard").or_(
        shown.element.locator(".status", has_text="copy it")
    ).wait_for()
    assert shown.page.evaluate("location.search + location.hash") == (
        "?text=In+the+city%2C+the+crane#gpt2-heads"
    )
    shown.page.evaluate("document.body.style.paddingTop = '3000px'")
    top = "(element) => { element.connectedCallback(); return element.getBoundingClientRect().y }"
    shown.element.evaluate("(element) => element.awake = false")
    assert shown.element.evaluate(top) < 900
