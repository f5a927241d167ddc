"""The exhibit of chapter 6: all heads of a text, and what is lost when some are cut."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser
RIVER = "By the river, the crane"
MARSH = "In the marsh, the crane"


def cut(name: str):
    """The edit that does in Python what cutting a head does on the page."""
    n, h = map(int, name.split("."))

    def edit(heads):
        heads = heads.clone()
        heads[:, h] = 0
        return heads

    return {f"transformer.h.{n}.attn.heads": edit}


def test_maps_and_bars_are_pythons(exhibit, crane):
    shown = exhibit("heads", text=MARSH, head="1.0", chips=[RIVER])
    tape = crane.trace(MARSH)
    assert shown.bars() == pytest.approx(crane.next(tape["logits"]), abs=1e-3)
    weights = tape["transformer.h.1.attn.weights"][0, 0]
    numbers = [[float(cell) for cell in row] for row in shown.cells()]
    assert numbers == [pytest.approx(row, abs=6e-3) for row in weights.tolist()]
    shown.element.get_by_role("button", name=RIVER).click()
    assert shown.bars() == pytest.approx(crane.next(crane.trace(RIVER)["logits"]), abs=1e-3)


def test_a_head_that_is_cut_leaves_a_ghost(exhibit, crane):
    shown = exhibit("heads", text=RIVER, rivals=[" ate", " lifted"])
    before = shown.bars()
    shown.element.get_by_role("button", name="1.2", exact=True).last.click()
    after = shown.bars()
    expected = crane.next(crane.trace(RIVER, cut("1.2"))["logits"], 1024)
    assert after == pytest.approx({name: expected[name] for name in after}, abs=1e-3)
    first = max(before, key=before.get)
    ghost = shown.element.locator(".bar", has_text=first).first.locator("s").inner_text()
    assert ghost == f"was {before[first]:.3f}"
    assert shown.sentence.startswith("Without head 1.2, which looks most at ␣river (0.97), ␣ate")
    ate, lifted = (crane.ids(f" {verb}")[1] for verb in ("ate", "lifted"))
    leads = [
        float(logits[0, -1, ate] - logits[0, -1, lifted])
        for logits in (crane.trace(RIVER, edits)["logits"] for edits in ({}, cut("1.2")))
    ]
    said = f"its lead over ␣lifted from {leads[0]:.2f} to {leads[1]:.2f} nats."
    assert shown.sentence.endswith(said)
    assert shown.query == "?off=1.2"


def test_an_address_restores_what_was_shown(exhibit):
    query = {"text": RIVER, "off": "1.2 0.0", "head": "2.3"}
    shown = exhibit("heads", text=MARSH, query=query)
    assert "".join(shown.tokens()[1:]).replace("␣", " ") == RIVER
    pressed = shown.element.locator("[aria-pressed=true]").all_inner_texts()
    assert sorted(pressed) == ["0.0", "1.2", "2.3"]


def test_by_keyboard_alone(exhibit):
    shown = exhibit("heads", text=MARSH)
    shown.element.locator(".thumbs button").first.focus()
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("Enter")
    assert shown.ready().element.locator(".thumbs [aria-pressed=true]").inner_text() == "0.1"
    shown.element.locator(".board td[data-place]").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        shown.page.keyboard.press(key)
    assert shown.element.locator("output").inner_text().startswith("␣the → In: ")


@pytest.mark.parametrize(
    "query",
    [
        {"text": "", "off": "9.9 x 1.2", "head": "7.7"},
        {"text": "<img src=x onerror=alert(1)> & \u202e שלום 🐦" * 300},
        {"text": "a\x00b", "off": "🐦", "head": "<b>"},
    ],
)
def test_odd_addresses_are_read_as_far_as_they_make_sense(exhibit, query):
    shown = exhibit("heads", text=MARSH, query=query)
    shown.stands(tokens=24)
    shown.element.get_by_role("button", name="reset").click()
    assert "".join(shown.tokens()[1:]).replace("␣", " ") == MARSH


def test_ten_texts_at_once_show_the_last(exhibit, crane):
    shown = exhibit("heads", text=MARSH)
    shown.page.evaluate(
        """() => {
          const input = document.querySelector("gpt2-heads input");
          for (let i = 0; i < 10; i++) {
            input.value = i < 9 ? "In the marsh " + i : "By the river, the crane";
            input.dispatchEvent(new Event("input"));
          }
        }"""
    )
    assert shown.bars() == pytest.approx(crane.next(crane.trace(RIVER)["logits"]), abs=1e-3)
