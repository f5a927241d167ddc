"""In the picture of the whole: a vector of one text put into another's pass."""

from __future__ import annotations

import re

import pytest
import torch

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"
RIVER, HARBOUR = "By the river, the crane", "At the harbour, the crane"
STAGES = ["embd"]
STAGES += [f"transformer.h.{n}.{part}" for n in range(3) for part in ("resid_mid", "resid_post")]


def given(crane, text, giver, stage, back=0, without=()):
    """What comes after a text with the giver's vector in one place, counted from the end."""
    vector = crane.trace(giver)[STAGES[stage]][:, -1 - back]

    def put(x):
        return x.index_copy(1, torch.tensor([x.size(1) - 1 - back]), vector[:, None])

    return crane.next(crane.trace(text, {STAGES[stage]: put})["logits"], 1024)


def bars(shown) -> dict[str, float]:
    found = {}
    read = "bar => ['.name', '.p', '.rest'].map((part) => bar.querySelector(part).textContent)"
    bars = shown.ready().element.locator(".next").evaluate_all(f"bars => bars.map({read})")
    for name, p, rest in bars:
        found[name.removesuffix(rest)] = float(p.removeprefix("< "))
    return found


def are(shown, expected) -> None:
    now = {name.replace("␣", ""): p for name, p in reversed(expected.items())}
    for name, p in bars(shown).items():
        assert p == pytest.approx(now[name], abs=0.011), name


def plus(shown, place: str):
    return shown.ready().element.get_by_role("button", name=re.compile(f"^{place}:"))


@pytest.mark.thorough
def test_a_click_puts_a_vector_in_and_a_second_one_takes_it_out(still, crane):
    shown = still("flow", text=MARSH, giver=CITY)
    assert shown.sentence.startswith("This text goes on with ␣ate (0.53), the other with ␣lifted")
    crossing = plus(shown, "␣crane after attention of block 1")
    assert "0.81 apart" in crossing.get_attribute("aria-label")
    crossing.click()
    are(shown, given(crane, MARSH, CITY, 3))
    assert "␣ate goes from 0.53 to 0.00 and ␣lifted goes from 0.00 to 0.51" in shown.sentence
    assert shown.sentence.endswith("1.00 of the way to the other text.")
    assert shown.query == "?stage=3"
    assert plus(shown, "␣crane after attention of block 1").get_attribute("aria-pressed") == "true"
    plus(shown, "␣crane after attention of block 1").click()
    are(shown, crane.next(crane.trace(MARSH)["logits"], 1024))
    assert shown.query == ""


@pytest.mark.thorough
def test_a_place_that_differs_need_not_matter_and_one_that_is_the_same_cannot(still, crane):
    query = {"stage": "1", "back": "1"}  # the second ␣the
    shown = still("flow", text=MARSH, giver=CITY, query=query)
    are(shown, given(crane, MARSH, CITY, 1, back=1))
    assert shown.sentence.endswith("different, and alone it hardly moves this prediction.")
    shown.element.get_by_role("button", name="take it out again").click()
    assert shown.ready().query == ""
    plus(shown, "In after attention of block 2").click()
    assert "the same vector: nothing can change" in shown.sentence


@pytest.mark.thorough
def test_texts_of_other_lengths_are_aligned_at_their_ends(still, crane):
    shown = still("flow", text=RIVER, giver=HARBOUR, query={"stage": "3"})
    longer = len(crane.ids(HARBOUR)) - len(crane.ids(RIVER))
    assert f"The other text is longer by {longer}" in shown.element.inner_text()
    are(shown, given(crane, RIVER, HARBOUR, 3))
    shown.element.get_by_role("button", name="exchange the two").click()
    assert shown.ready().element.locator("input[type=text]").first.input_value() == HARBOUR
    are(shown, given(crane, HARBOUR, RIVER, 3))
    names = shown.element.locator(".plus[role=button]").evaluate_all(
        "all => all.map((e) => e.ariaLabel)"
    )
    assert names and not any(name.startswith("⟨start⟩") for name in names), "it has no partner"


@pytest.mark.thorough
def test_cut_heads_are_missing_in_both_texts(still, crane):
    shown = still("flow", text=MARSH, giver=CITY, query={"stage": "6", "off": "1.0 1.2"})

    def without(x):
        return x * torch.tensor([0.0, 1, 0, 1])[None, :, None, None]

    edits = {"transformer.h.1.attn.heads": without}
    are(shown, crane.next(crane.trace(CITY, edits)["logits"], 1024))


@pytest.mark.thorough
def test_keys_and_a_finger_are_enough(still):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    shown = still("flow", text=MARSH, giver=CITY, context=phone)
    plus(shown, "␣crane after attention of block 1").tap()
    assert shown.query == "?stage=3"
    shown.stands()
    shown = still("flow", text=MARSH, giver=CITY)
    shown.tab_to(".gift")
    shown.press("ArrowRight", "Enter")
    assert shown.query.startswith("?stage=")


@pytest.mark.thorough
def test_without_another_text_nothing_can_be_put_in(still):
    shown = still("flow", text=MARSH)
    assert shown.element.locator(".plus").count() == 42
    assert shown.element.locator(".gift, .flow-patch").count() == 0
