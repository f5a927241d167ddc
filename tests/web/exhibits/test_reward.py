"""A novice learns from rewards in the page, for real: in the worker that pages have."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from gpt2_edu.exhibits import Rewarded
from tests.exhibits.test_reward import found
from tests.web.exhibits.conftest import MODULES, ROOT, Shown
from tests.web.test_runs import PLAN

pytestmark = pytest.mark.browser
AXE = (MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
RUNS = (ROOT / "gpt2_edu" / "exhibits" / "static" / "runs.js").read_text(encoding="utf-8")
LONG = 60_000  # milliseconds: other programs run beside
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture
def reward(exhibit, pages):
    """``reward(query=…)``: the exhibit with stored runs, and what training needs."""
    settings = json.loads(Rewarded(found=found()).settings)
    pages.made["/runs.js"] = RUNS

    def show(**more: Any) -> Shown:
        return exhibit("reward", **{**settings, **more})

    yield show
    pages.made.pop("/runs.js")


def button(shown: Shown, name: str) -> Any:
    return shown.element.get_by_role("button", name=name, exact=True)


def learn(shown: Shown) -> Shown:
    """Press learn, until some stories have their marks."""
    button(shown, "learn").click()
    shown.element.locator(".newest li").first.wait_for(timeout=LONG)
    return shown


def reading(shown: Shown, name: str) -> int:
    one = shown.element.locator(".readings span", has_text=name).locator("b")
    return int(one.inner_text().replace(",", ""))


def value(shown: Shown, panel: str) -> float:
    """What a panel says now."""
    text = shown.element.locator(".panel", has_text=panel).locator("b").first.inner_text()
    return float(text.removesuffix(" %"))


def test_a_stored_run_is_shown_and_nothing_fetched_before_a_reader_asks(reward, pages):
    shown = reward()
    assert (
        "The dotted curves are a stored run, rewarded for a right story with β = 0."
        in shown.sentence
    )
    assert "At its end 90 % of the stories are right (10 % at first)" in shown.sentence
    assert "entropy per token is 0.20, where the language’s own is 0.44" in shown.sentence
    assert shown.element.locator("path.before").count() == 4
    assert not [url for url in pages.asked if "/runs.js" in url or "/files/" in url]
    shown.slide("rein β", 3)
    assert "β = 0.05" in shown.sentence
    rows = shown.table()
    assert rows["10,240"][1] == "80 %"


@pytest.mark.thorough
def test_a_novice_learns_pauses_and_goes_back(reward):
    shown = learn(reward(query={"group": "16"}))
    assert 0 < value(shown, "right stories") < 60
    assert 0 <= value(shown, "KL from the start") < 0.5
    assert shown.element.locator("fieldset[disabled]").count() == 1
    button(shown, "pause").click()
    button(shown, "go on").wait_for()
    shown.page.wait_for_timeout(400)  # what was told before is painted
    at = reading(shown, "stories marked")
    assert at == 16 * reading(shown, "groups") > 0
    shown.page.wait_for_timeout(400)
    assert reading(shown, "stories marked") == at
    button(shown, "go on").click()
    button(shown, "pause").wait_for()
    marked = shown.element.locator(".readings b").nth(1)
    expect(marked).not_to_have_text(f"{at:,}", timeout=LONG)
    button(shown, "back to the start").click()
    button(shown, "learn").wait_for()
    assert reading(shown, "stories marked") == 0
    assert "The dotted curves are the run before" in shown.sentence
    assert shown.element.locator("fieldset[disabled]").count() == 0


@pytest.mark.thorough
def test_texts_show_their_reward_and_which_way_they_are_pushed(reward):
    shown = learn(reward(query={"group": "16", "reward": "short"}))
    texts = shown.element.locator(".newest li")
    ways = texts.evaluate_all("all => all.map((one) => one.className)")
    assert ways == ["up", "up", "down", "down"]
    told = texts.locator(".soft").all_inner_texts()
    rewards = [float(re.match(r"Reward ([\d.]+): ", one)[1]) for one in told]  # type: ignore[index]
    assert rewards[0] >= rewards[1] > rewards[2] >= rewards[3]
    pushes = texts.locator(".push").all_inner_texts()
    assert re.fullmatch(r"▲ likelier 0\.\d\d above the mean", pushes[0])
    assert re.fullmatch(r"▼ less likely 0\.\d\d below the mean", pushes[3])
    assert shown.element.locator(".rewards i").count() == 16


@pytest.mark.thorough
def test_a_reward_is_learned(reward):
    """Few tokens are soon learned: after some groups the novice writes hardly anything.

    That rewarded texts become more is also tested in Node, by rewarded.test.mjs.
    """
    shown = learn(reward(query={"group": "16", "reward": "short"}))
    higher = "([nth, n]) => document.querySelector(`.panel:nth-child(${nth}) b`).textContent > n"
    shown.page.wait_for_function(higher, arg=[3, 0.8], timeout=2 * LONG)  # the reward
    shown.page.wait_for_function(higher, arg=[5, 0.2], timeout=LONG)  # KL from the truth
    assert value(shown, "right stories") < 5


def test_a_word_must_be_typed_and_a_model_must_be_there(reward):
    shown = reward(query={"reward": "word", "word": " "})
    button(shown, "learn").click()
    shown.element.get_by_text("Type the word that is to be rewarded.").wait_for()
    shown.element.get_by_label("the word").fill("river")
    button(shown, "the one you trained").click()
    button(shown, "learn").click()
    shown.element.get_by_text("This browser keeps no model").wait_for()
    assert button(shown, "learn").is_enabled()


KEPT = """async (plan) => {
  const { runs, grammarFor } = await import("/web/learn/start.mjs");
  const run = await (await runs()).start(plan, 0, {}, { grammar: await grammarFor(plan) });
  await run.save();
  await run.stop();
}"""


@pytest.mark.thorough
def test_a_model_of_the_readers_own_is_rewarded(reward):
    shown = reward(query={"begin": "kept", "reward": "short", "group": "8"})
    shown.page.evaluate(KEPT, PLAN)  # which has learned nothing yet
    learn(shown)
    assert value(shown, "right stories") == 0
    assert value(shown, "entropy per token") > 3
    assert value(shown, "KL from the truth") > 3


@pytest.mark.thorough
def test_a_reader_who_goes_back_while_it_prepares_gets_no_run(reward):
    shown = reward()
    button(shown, "learn").click()
    button(shown, "back to the start").click()
    button(shown, "learn").wait_for()
    shown.page.wait_for_timeout(2000)
    assert reading(shown, "stories marked") == 0
    assert button(shown, "learn").is_enabled()
    assert not shown.page.workers


@pytest.mark.parametrize("context", [{}, PHONE], ids=["desk", "phone"])
@pytest.mark.thorough
def test_the_keyboard_is_enough_and_everybody_can_read_it(reward, context):
    shown = reward(context=context, query={"group": "8"})
    shown.tab_to(".choice button")
    shown.press("ArrowRight", "Enter")
    assert sorted(shown.query[1:].split("&")) == ["group=8", "reward=cranes"]
    assert (
        "rewarded for every crane with β = 0. At its end the mean reward is 0.80" in shown.sentence
    )
    shown.tab_to(".main")
    shown.page.keyboard.press("Enter")
    shown.element.locator(".newest li").first.wait_for(timeout=LONG)
    button(shown, "pause").wait_for(timeout=LONG)
    shown.page.keyboard.press("Enter")
    button(shown, "go on").wait_for(timeout=LONG)
    shown.page.evaluate(AXE)
    bad = shown.page.evaluate("axe.run('gpt2-reward', {resultTypes: ['violations']})")
    assert [one["id"] for one in bad["violations"]] == []
    shown.stands()


@pytest.mark.thorough
def test_the_page_stays_free(reward):
    shown = reward(query={"group": "8"})
    shown.page.evaluate(
        "() => { globalThis.long = []; new PerformanceObserver((list) => long.push("
        "...list.getEntries().map((one) => one.duration))).observe({ type: 'longtask' }); }"
    )
    learn(shown).page.wait_for_timeout(3000)
    assert len(shown.page.evaluate("long")) < 6  # beside other programs some are
