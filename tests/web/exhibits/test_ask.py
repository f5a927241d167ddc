"""The exhibit of chapter 22: questions to the model with the adapter and without, as in Python."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
import torch

from gpt2_edu import GPT2, crane, exhibits, load_tokenizer
from gpt2_edu.crane.questions import Exchange
from gpt2_edu.exhibits.ask import Asked
from gpt2_edu.tuning import conversation, load_adapter, merge, render, with_roles
from tests.web.exhibits.conftest import READY, WAIT

pytestmark = pytest.mark.browser
FILE = "**/files/crane_ask.js"


def said(names: list[str], share: float) -> list[dict[str, Any]]:
    return [{"name": name, "p": share} for name in names]


STORY = "A crane ate fish. Ada rested."
READ = (("mark", ["⟨start⟩"]), ("story", ["A", "␣crane"]), ("question", ["␣Who"]))
SETTINGS = {  # the numbers are made up
    "stories": [
        {
            "story": STORY,
            "asked": [
                {"question": question, "answer": answer, "unseen": False}
                for question, answer in (("Which crane was it?", "bird"), ("Who rested?", "Ada"))
            ],
        }
    ],
    "found": {
        "read": [{"role": role, "names": names} for role, names in READ],
        "cut": 0,
        "right": ["␣bird", "⟨end⟩"],
        "answer": said(["␣bird", "⟨end⟩"], 0.9),
        "plain": said(["␣A", "⟨end⟩"], 0.5),
        "next": [[[7, "␣bird", 0.9, 0.1]], [[1023, "⟨end⟩", 0.9, None]]],
        "said": "bird",
        "continued": "A",
    },
}


@cache
def tuned() -> tuple[GPT2, GPT2, Any]:
    """The model with its adapter, the plain one, and the tokenizer with roles."""
    plain = GPT2.from_pretrained("crane").eval()
    model, encoding = with_roles(plain, load_tokenizer("crane"))
    return load_adapter(model, "ask").eval(), plain, encoding


@cache
def at(strength: float) -> GPT2:
    """The model with so much of its adapter; the rows of the roles are the adapter's."""
    model, plain, _ = tuned()
    whole = merge(model)
    weights = whole.state_dict()
    for name, before in plain.state_dict().items():
        old, new = weights[name].tensor_split([len(before)])
        weights[name] = torch.cat([before.lerp(old, strength), new])
    part = GPT2(whole.config)
    part.load_state_dict(weights)
    return part.eval()


def asked(exchange: Exchange, strength: float = 1) -> dict[str, Any]:
    """What Python finds."""
    _, plain, encoding = tuned()
    return Asked(at(strength), plain, encoding, [exchange]).found


@pytest.fixture
def shown_ask(exhibit):
    """``shown_ask()``: the exhibit as the chapter has it."""
    model, plain, encoding = tuned()
    settings = Asked(model, plain, encoding, exhibits.exchanges()).settings
    return lambda **more: exhibit("ask", **settings, **more)


def strips(shown) -> list[list[str]]:
    """The tokens of both answers, each with its probability."""
    lists = shown.ready().element.locator(".sides .strip").all()
    return [one.locator("li > *").all_inner_texts() for one in lists]


def expected(tokens: list[dict[str, Any]]) -> list[str]:
    return [f"{one['name']}\n{one['p']:.3f}" for one in tokens]


def near(found: list[str], wanted: list[str]) -> None:
    """The same tokens; probabilities that are rounded otherwise are the same."""
    pairs = [[one.split("\n") for one in texts] for texts in (found, wanted)]
    assert [name for name, _ in pairs[0]] == [name for name, _ in pairs[1]]
    shares = [[float(share.lstrip("<")) for _, share in texts] for texts in pairs]
    assert shares[0] == pytest.approx(shares[1], abs=2e-3)


def test_nothing_is_loaded_before_a_reader_asks_and_then_the_same_is_shown(shown_ask, pages):
    shown = shown_ask()
    assert not [url for url in pages.asked if "/files/" in url]
    before = strips(shown), shown.bars(), shown.sentence, shown.element.locator("ol").first
    read = before[-1].all_inner_texts()
    shown.element.get_by_role("button", name="ask", exact=True).click()
    shown.ready()
    assert {url.rpartition("/")[2] for url in pages.asked if "/files/" in url} == {
        "crane.js",
        "crane_ask.js",
    }
    for now, stored in zip(strips(shown), before[0], strict=True):
        near(now, stored)
    assert shown.bars() == pytest.approx(before[1], abs=2e-3)
    assert re.sub(r"[\d.]+", "", shown.sentence) == re.sub(r"[\d.]+", "", before[2])
    assert shown.element.locator("ol").first.all_inner_texts() == read


@pytest.mark.thorough
@pytest.mark.parametrize("strength", [0, 0.5, 1, 1.5])
def test_answers_are_those_of_python(shown_ask, strength):
    for exchange in exhibits.exchanges()[5::9]:
        query = {"story": exchange.story, "question": exchange.question, "strength": strength}
        shown = shown_ask(query=query | {"asked": "true"})
        found = asked(exchange, strength)
        answer, plain = strips(shown)
        near(answer, expected(found["answer"]))
        near(plain, expected(found["plain"]))
        assert shown.bars() == pytest.approx(
            {name: p for _, name, p, _ in found["next"][0]}, abs=2e-3
        )
        verdict = shown.element.locator(".verdict").inner_text()
        right = crane.judge_answer(exchange.story, exchange.question, found["said"] or "nothing")
        assert verdict.startswith("✓ Right" if right else "✗ Wrong. The answer is"), verdict


# Each question of each story is chosen; the verdicts.
ASKED = f"""async (element, wait) => {{
  const buttons = (name) => [...element.querySelectorAll(`[aria-label="${{name}}"] button`)];
  const click = (button) => (button.click(), ({READY})(element, wait));
  const verdicts = [];
  for (const story of buttons("stories").keys()) {{
    await click(buttons("stories")[story]);
    for (const n of buttons("questions").keys()) {{
      await click(buttons("questions")[n]);
      verdicts.push(element.querySelector(".verdict").innerText);
    }}
  }}
  return verdicts;
}}"""


@pytest.mark.thorough
def test_most_questions_are_answered_right(shown_ask):
    """Also those in a form that training never used."""
    shown = shown_ask()
    verdicts = shown.element.evaluate(ASKED, WAIT)
    right = sum(verdict.startswith("✓ Right") for verdict in verdicts)
    assert len(verdicts) == len(exhibits.exchanges()) and right >= 0.75 * len(verdicts)
    assert "✓ Right, and training never asked like this." in verdicts
    assert len(shown.table()) == len(verdicts)


@pytest.mark.thorough
def test_tokens_that_bear_the_loss_are_those_of_the_package(shown_ask):
    _, _, encoding = tuned()
    [exchange, *_] = exhibits.exchanges()
    rendered = render(conversation(exchange), encoding)
    shown = shown_ask()
    marked = shown.element.locator(".g2-asked li.loss")
    assert marked.count() == sum(rendered.answer)
    assert shown.element.locator(".g2-asked li").count() == len(rendered.ids)
    shown.element.get_by_role("button", name="everything").click()
    shown.ready()
    assert marked.count() == len(rendered.ids) - 1


def test_what_is_typed_is_answered_and_not_marked(shown_ask):
    shown = shown_ask()
    box = shown.element.get_by_role("textbox", name="question")
    box.fill("Where was it?")
    box.press("Enter")
    assert shown.ready().element.locator(".verdict").inner_text().startswith("Not marked")
    assert shown.sentence.startswith("Asked “Where was it?”") and "which is" not in shown.sentence
    assert shown.element.locator(".g2-asked .loss").count() == 1  # of the key
    shown.element.get_by_role("textbox", name="story").fill("A crane ate fish. " * 40)
    shown.element.get_by_role("button", name="ask", exact=True).click()
    shown.stands()
    assert "So that all fits, the first" in shown.element.inner_text()
    assert shown.element.get_by_role("group", name="questions").count() == 0  # there are none


@pytest.mark.thorough
def test_an_alternative_can_be_looked_at_for_each_token(shown_ask):
    shown = shown_ask()
    found = shown.element.evaluate("(e) => e.settings.found.next")
    second = shown.element.locator(".sides .strip button").nth(1)
    second.click()
    assert shown.query == "?token=1" and second.get_attribute("tabindex") == "0"
    assert shown.bars() == pytest.approx({name: p for _, name, p, _ in found[1]}, abs=1e-3)
    beyond = shown_ask(query={"token": "99"})
    assert beyond.bars() == pytest.approx({name: p for _, name, p, _ in found[-1]}, abs=1e-3)


@pytest.mark.thorough
def test_a_reset_while_files_come_leaves_nothing_waiting(shown_ask):
    """The engine is replaced then; what was asked of the one before is never answered."""
    shown = shown_ask()
    held: list[Any] = []
    shown.page.route(FILE, lambda route: held.append(route))
    ask = shown.element.get_by_role("button", name="ask", exact=True)
    ask.click()
    shown.page.wait_for_timeout(200)
    shown.element.get_by_role("button", name="reset").click()
    shown.ready()
    for route in held:
        route.continue_()
    ask.click()
    assert (shown.ready().state, shown.status) == ("ready", "")
    shown.page.unroute(FILE)


def test_an_adapter_that_does_not_come_is_reported_and_asked_for_again(shown_ask):
    shown = shown_ask()
    shown.page.route(FILE, lambda route: route.abort())
    ask = shown.element.get_by_role("button", name="ask", exact=True)
    ask.click()
    assert "files/crane_ask.js did not come" in shown.ready().status
    assert shown.state == "stale" and strips(shown)
    shown.page.unroute(FILE)
    ask.click()
    shown.element.get_by_role("button", name="reset").click()
    assert (shown.ready().state, shown.status) == ("ready", "")
    ask.click()
    assert (shown.ready().state, shown.status) == ("ready", "")
