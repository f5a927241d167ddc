"""A pass in space: Python's numbers, by hand and by keyboard; and browsers without WebGL."""

from __future__ import annotations

import re

import pytest

from gpt2_site import one_pass
from tests.web.exhibits.conftest import WAIT
from tests.web.exhibits.test_flow import TEXT

pytestmark = pytest.mark.browser
SETTINGS = one_pass.settings()
STILL = {"reduced_motion": "reduce"}
STAGES = {"attention": "resid_mid", "the MLP": "resid_post"}
LANE = re.compile(
    r"“(.*)” after (?:(attention|the MLP) of block (\d)|the embeddings); .*\n+"
    r"number (\d+) of 128: (.*)"
)
BAND = re.compile(r"Head (\d)\.(\d): “(.*)” takes (.*) from “(.*)”")
WING = re.compile(r"Unit (\d+) of 512 in the MLP of block (\d)\n+at “(.*)”: (.*)")


@pytest.fixture
def space(exhibit):
    def show(query=None, context=None):
        asked = {"space": "true"} | (query or {})
        shown = exhibit("flow", query=asked, context=context or STILL, **SETTINGS)
        shown.ready().element.locator(".space-label.chosen").wait_for(timeout=WAIT)
        return shown

    return show


def labels(shown, kind: str) -> list[str]:
    return shown.ready().element.locator(f".space-label.{kind}").all_text_contents()


def number(shown: str) -> float:
    return float(shown.replace("−", "-"))


POINT = """(canvas) => {
  const { x, y, width, height } = canvas.getBoundingClientRect();
  const told = canvas.parentElement.querySelector(".space-told");
  const found = [];
  for (let across = 0.08; across < 0.9; across += 0.035) {
    for (let down = 0.25; down < 0.85; down += 0.07) {
      const at = { clientX: x + width * across, clientY: y + height * down };
      const as = { bubbles: true, pointerType: "mouse", pointerId: 1 };
      canvas.dispatchEvent(new PointerEvent("pointermove", { ...at, ...as }));
      if (!told.hidden) found.push(told.innerText);
    }
  }
  return found;
}"""


@pytest.mark.thorough
def test_what_is_written_and_told_in_space_is_pythons(space, crane):
    shown = space()
    tokens = ["⟨start⟩", "In", "the", "marsh", ",", "the", "crane"]
    assert labels(shown, "token") == tokens
    assert labels(shown, "word") == ["crane", "crane", "lifted", "ate", "ate", "ate", "ate"]
    assert labels(shown, "block") == ["block 0", "block 1", "block 2"]
    assert labels(shown, "first") == ["ate 0.53"]
    tape = crane.trace(TEXT)
    all_ = shown.element.locator(".flow-space canvas").evaluate(POINT)
    lanes = [match.groups() for text in all_ if (match := LANE.match(text))]
    bands = [match.groups() for text in all_ if (match := BAND.match(text))]
    wings = [match.groups() for text in all_ if (match := WING.match(text))]
    assert len(lanes) > 20 and len(bands) > 5 and len(wings) > 2
    same = {name: [t for t, token in enumerate(tokens) if token == name] for name in tokens}
    for token, part, block, channel, value in lanes:
        path = f"transformer.h.{block}.{STAGES[part]}" if part else "embd"
        values = [tape[path][0, t, int(channel)].item() for t in same[token]]
        assert any(number(value) == pytest.approx(one, abs=0.006) for one in values)
    for block, head, query, value, key in bands:
        weights = tape[f"transformer.h.{block}.attn.weights"][0, int(head)]
        pairs = [weights[q, k].item() for q in same[query] for k in same[key] if k <= q]
        assert any(number(value) == pytest.approx(one, abs=0.006) for one in pairs)
    for unit, block, token, value in wings:
        acts = tape[f"transformer.h.{block}.mlp.act"][0, :, int(unit)]
        assert any(number(value) == pytest.approx(acts[t].item(), abs=0.006) for t in same[token])


@pytest.mark.thorough
def test_by_keyboard_into_a_block_and_back(space):
    shown = space()
    shown.tab_to("button.space-label.block")
    shown.press("Enter")
    shown.element.locator(".flow-crumbs", has_text="block 0").wait_for()
    assert shown.element.locator(".flow-space").is_hidden()
    assert "place=0" in shown.query and "space=true" in shown.query
    shown.press("Escape")
    shown.element.locator(".flow-space").wait_for(timeout=WAIT)
    canvas = shown.element.locator(".flow-space canvas")
    assert "7 lanes through 3 blocks" in (canvas.get_attribute("aria-label") or "")
    before = shown.element.locator(".space-label.token").first.bounding_box()
    canvas.focus()
    shown.press("ArrowLeft", "ArrowLeft", "+")
    shown.page.wait_for_timeout(100)
    after = shown.element.locator(".space-label.token").first.bounding_box()
    assert before != after


@pytest.mark.thorough
def test_a_word_is_appended_and_a_token_followed(space):
    shown = space()
    shown.element.locator(".space-label.token").nth(3).click()
    shown.ready()
    assert labels(shown, "chosen") == ["marsh"]
    shown.element.locator(".space-label.next.first").click()
    shown.ready()
    assert labels(shown, "token")[-1] == "ate"
    assert "ate" in shown.element.locator("input[type=text]").input_value()


@pytest.mark.thorough
def test_on_a_phone_and_back_to_the_flat_picture(space):
    shown = space(context=STILL | {"viewport": {"width": 390, "height": 844}})
    canvas = shown.element.locator(".flow-space canvas").bounding_box()
    assert canvas["width"] <= 390 and 400 < canvas["height"] < 844
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    shown.element.locator(".flow-turn").click()
    shown.ready()
    assert shown.element.locator(".flow-space").is_hidden()
    assert shown.element.locator(".token .name").first.is_visible()


def test_without_webgl_the_flat_picture_stays_and_says_why(exhibit):
    shown = exhibit("flow", context=STILL, **SETTINGS).ready()
    shown.page.evaluate(
        "() => { const own = HTMLCanvasElement.prototype.getContext;"
        " HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
        " return kind === 'webgl2' ? null : own.call(this, kind, ...more); }; }"
    )
    shown.element.locator(".flow-turn").click()
    shown.element.get_by_text("needs WebGL").wait_for(timeout=WAIT)
    assert shown.element.locator(".flow-space").is_hidden()
    assert shown.element.locator(".flow-picture .token").first.is_visible()


@pytest.mark.thorough
def test_quick_changes_leave_the_last_one(space):
    shown = space()
    shown.element.evaluate(
        "async () => { const { state } = await import('/web/exhibits/state.mjs');"
        " for (let n = 0; n < 40; n++) { state.set({ at: n % 7, space: n % 3 !== 1 });"
        " if (n % 4) await new Promise((done) => setTimeout(done, n)); } }"
    )
    shown.set(at=2, space=True)
    shown.element.locator(".space-label.chosen", has_text="the").wait_for()
    assert shown.element.locator(".flow-space").is_visible()
    assert shown.element.locator(".flow-space canvas").count() == 1


@pytest.mark.thorough
def test_a_block_that_is_opened_while_the_space_loads_stays_open(exhibit):
    shown = exhibit("flow", context=STILL, **SETTINGS).ready()
    shown.element.evaluate(
        "async () => { const { state } = await import('/web/exhibits/state.mjs');"
        " state.set({ space: true }); await new Promise((done) => setTimeout(done, 5));"
        " state.set({ place: '1' }); }"
    )
    shown.element.locator(".flow-crumbs", has_text="block 1").wait_for(timeout=WAIT)
    shown.ready().page.wait_for_timeout(500)
    assert shown.element.locator(".flow-space").is_hidden()
