"""In the picture of the whole: the crane while it learned, from stored attention maps."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from gpt2_site import one_pass
from tests.thorough import thorough

pytestmark = pytest.mark.browser
FOLDER = files("gpt2_edu") / "assets" / "crane"
STORED = json.loads((FOLDER / "snapshots.json").read_text(encoding="utf-8"))
SHOTS = STORED["snapshots"]
LEARNED = one_pass.learned()
RIBBON = re.compile(r"head (\d)\.(\d): (\S+) takes ([\d.]+) from (\S+)$")


@pytest.fixture
def picture(still):
    settings = {**one_pass.settings(), "tensors": "folded", "learned": LEARNED}
    return lambda **more: still("flow", **settings, **more)


def ribbons(shown) -> dict[tuple[int, int, str, str], str]:
    """The weight that each visible ribbon tells, by block, head, query and key."""
    visible = (
        "all => all.filter((one) => parseFloat(one.style.strokeWidth) > 0)"
        ".map((one) => one.querySelector('title').textContent)"
    )
    told = shown.ready().element.locator(".ribbon").evaluate_all(visible)
    found = (RIBBON.match(one) for one in told)
    return {(int(b), int(h), query, key): w for b, h, query, w, key in map(re.Match.groups, found)}


def quoted(token: str) -> str:
    """As sentences name a token: what is no word stands in quotation marks."""
    return token if re.search(r"\w", token) else f"“{token}”"


def stored(shot: int, text: int) -> dict[tuple[int, int, str, str], str]:
    tokens = [quoted(token.replace(" ", "␣")) for token in STORED["tokens"][text]]
    return {
        (b, h, tokens[q], tokens[k]): f"{weight / 100:.2f}"
        for b, block in enumerate(SHOTS[shot]["attention"][text])
        for h, head in enumerate(block)
        for q, row in enumerate(head)
        for k, weight in enumerate(row[:q])
        if weight >= 8
    }


@pytest.mark.parametrize(("shot", "text"), [thorough(0, 0), (7, 1), thorough(14, 0)])
def test_ribbons_are_the_stored_weights(picture, shot, text):
    shown = picture(query={"learned": str(text + 1), "shot": str(shot)})
    assert ribbons(shown) == stored(shot, text)
    loss = LEARNED["shots"][shot]["loss"]
    assert f"After {SHOTS[shot]['step']:,} steps the loss is {loss:.2f}." in shown.sentence
    assert "lanes stay grey" in shown.sentence
    grey = "bars => bars.every((one) => one.style.getPropertyValue('--strength') === '0%')"
    assert shown.element.locator(".stream").evaluate_all(grey)
    shown.stands()


@pytest.mark.thorough
def test_a_step_of_the_slider_changes_ribbons_in_their_place(picture):
    shown = picture(query={"learned": "2", "shot": "13"})
    one = shown.element.locator(".ribbon", has_text="head 0.1: ␣crane takes").first
    one.evaluate("e => (e.dataset.same = 'yes')")
    shown.element.get_by_role("slider", name="step").focus()
    shown.press("ArrowRight")
    assert "shot=14" not in shown.query  # the last one is where it begins
    assert one.get_attribute("data-same") == "yes"
    assert ribbons(shown) == stored(14, 1)
    assert "where its heads look in the end" in shown.sentence


@pytest.mark.thorough
def test_the_sentence_counts_the_heads_that_have_formed(picture):
    shown = picture(query={"learned": "3", "shot": "0"})
    shown.element.get_by_role("button", name="watch it learn").click()
    shown.page.wait_for_function("document.querySelector('.flow-learned input').value === '1'")
    shown.element.get_by_role("button", name="stop", exact=True).click()
    for shot in (0, 6, 12):
        shown.slide("step", shot)
        end = SHOTS[-1]["attention"][2]
        names = []
        for b, block in enumerate(SHOTS[shot]["attention"][2]):
            for h, head in enumerate(block):
                pairs = [(r, t) for r, t in zip(head[1:], end[b][h][1:], strict=True)]
                same = sum(min(x, y) for r, t in pairs for x, y in zip(r, t, strict=True))
                names += [f"{b}.{h}"] if same / 100 / len(pairs) >= 0.75 else []
        many = f"{len(names)} of 12 heads have formed ({', '.join(names)})" if names else "None of"
        assert many in shown.sentence


@pytest.mark.thorough
def test_what_is_not_stored_is_said_at_every_place(picture):
    shown = picture(query={"learned": "1", "shot": "7"})
    assert "not stored" in (shown.element.locator(".flow-picture").text_content() or "")
    for place in ("1", "1.0", "1.0.3.1", "1.mlp", "1.0.q.3.1"):
        shown.element.evaluate("(element, place) => element.state.set({ place })", place)
        shown.stands()
        assert "stored" in shown.sentence or place == "1.0"
    shown.element.get_by_text("Every tensor of the pass").click()
    shown.element.locator(".flow-tensor", has_text="the attention is stored").wait_for()
    shown.element.evaluate("element => element.state.set({ place: '' })")
    shown.rest().element.locator(".snip").first.click(force=True)  # it is grey
    assert "heads cannot be cut" in shown.status
    shown.element.get_by_role("button", name="In the city, the crane", exact=True).first.click()
    assert "lifted" in shown.sentence and "learned" not in shown.query


@pytest.mark.thorough
def test_stored_texts_stand_behind_more(picture):
    shown = picture()
    stored = shown.element.get_by_role("button", name="A crane ate fish.")
    assert not stored.is_visible()
    more = shown.element.get_by_role("button", name="more", exact=True)
    assert more.get_attribute("aria-expanded") == "false"
    more.click()
    stored.click()
    assert "steps the loss is" in shown.sentence
    shown.element.get_by_role("button", name="fewer", exact=True).click()
    stored.wait_for(state="hidden")
