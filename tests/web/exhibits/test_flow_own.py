"""The picture of the whole with a model that a reader has trained on a text of their own."""

from __future__ import annotations

import re

import pytest

from gpt2_site import one_pass
from tests.web.exhibits.test_own_model import choose, mine  # noqa: F401

pytestmark = pytest.mark.browser
EXAMPLES = ["My grandmother kept bees", "Honey ran slowly"]
USE = """async (from) => {
  const { model } = await import("/web/exhibits/page_model.mjs");
  await model.use({ ...model.files, from });
}"""


def text_of(shown) -> str:
    return shown.element.locator(".flow-field input").input_value()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("unit", "told", "legend"),
    [
        ("characters", "Each token is one character, and ␣ is a space.", "the character that wins"),
        ("merges", "A token is a word or a part of one, and ␣ is a space.", "the word that wins"),
    ],
)
def test_its_examples_and_tokens_are_the_readers(still, mine, unit, told, legend):  # noqa: F811
    shown = still("flow", **one_pass.settings())
    choose(shown, mine[1])
    shown.page.evaluate(USE, {"unit": unit, "examples": EXAMPLES})
    shown.element.locator(".chips button", has_text=EXAMPLES[1]).wait_for()
    assert shown.ready().element.locator(".flow-examples button:visible").all_inner_texts() == (
        EXAMPLES
    )
    shown.page.wait_for_function(
        "text => document.querySelector('.flow-field input').value === text", arg=EXAMPLES[0]
    )
    assert told in shown.ready().element.locator(".flow-who").inner_text()
    assert legend in shown.element.locator(".flow-legend").inner_text()
    shown.element.get_by_role("button", name="back to the book’s model").click()
    shown.element.locator(".chips button", has_text="In the city, the crane").first.wait_for()
    assert "Crane World’s model answers" in shown.ready().element.locator(".flow-who").inner_text()


@pytest.mark.thorough
def test_writing_on_at_once_continues_the_example_that_was_chosen(still):
    shown = still("flow", **one_pass.settings(), query={"temperature": "0"})
    shown.element.evaluate(
        """(element) => {
          const named = (name) =>
            [...element.querySelectorAll("button")].find((one) => one.textContent === name);
          named("In the city, the crane").click();
          named("write on").click();
        }"""
    )
    shown.page.wait_for_function(
        "document.querySelector('.flow-field input').value.length > 24", timeout=30_000
    )
    assert text_of(shown).startswith("In the city, the crane lifted")


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_the_old_picture_stays_until_another_model_has_its_own(exhibit, width):
    context = {"viewport": {"width": width, "height": 844}}
    shown = exhibit("flow", **one_pass.settings(), context=context)
    shown.element.evaluate("e => e.model.ready()")
    seen = shown.element.evaluate("""async (element) => {
      const { model } = element;
      const stageOf = () => element.querySelector(".flow-stage");
      const before = stageOf().getBoundingClientRect().height;
      const seen = new Promise((done) => {
        const run = model.run;
        model.run = async (...asked) => {
          model.run = run;
          await new Promise((next) => setTimeout(next, 100));
          const frame = getComputedStyle(element.querySelector(".flow-frame")).opacity;
          const old = element.querySelector(".flow-old");
          const { height } = stageOf().getBoundingClientRect();
          const tokens = old.querySelectorAll(".token").length;
          const said = old.querySelector("p").innerText;
          done([frame, tokens, said, old.inert, height - before]);
          return run.apply(model, asked);
        };
      });
      await model.use({ ...model.files, name: "GPT-2" });
      return seen;
    }""")
    assert seen == ["1", 7, "GPT-2 reads the text …", True, 0]
    shown.page.wait_for_function("!document.querySelector('[data-new], .flow-old')")
    assert shown.ready().element.locator(".flow-picture .token").count() == 7
    assert shown.element.locator(".flow-stage").evaluate("e => e.style.minHeight") == ""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280])
def test_long_words_do_not_run_into_each_other(still, width):
    context = {"viewport": {"width": width, "height": 844}}
    shown = still("flow", **one_pass.settings(), query={"off": "1.0"}, context=context)
    shown.element.evaluate("""async (element) => {
      const { model } = element;
      await model.ready();
      model.show = () => "␣counterintelligence";
      element.state.set({ text: "In the city, the crane" });
    }""")
    texts = shown.element.locator(".word, .next :is(.name, .p), .part", has_text=re.compile("."))
    shown.element.locator(".word", has_text="counterintelligence").first.wait_for()
    shown.rest()
    met = texts.evaluate_all("""(all) => {
      const boxes = all.map((e) => [e.textContent, e.getBoundingClientRect()]);
      return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) =>
        a.left < b.right && b.left < a.right && a.top + 8 < b.bottom && b.top + 8 < a.bottom
      ).map(([other]) => [one, other]));
    }""")
    assert met == [] and texts.count() > 19
