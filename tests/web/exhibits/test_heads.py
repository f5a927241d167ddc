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
    assert shown.sentence.startswith(
        "Without head 1.2, which looks from ␣crane most at ␣river (0.97), the lead of ␣ate over "
    )
    ate, lifted = (crane.ids(f" {verb}")[1] for verb in ("ate", "lifted"))
    leads = [
        float(logits[0, -1, ate] - logits[0, -1, lifted])
        for logits in (crane.trace(RIVER, edits)["logits"] for edits in ({}, cut("1.2")))
    ]
    assert f"over ␣lifted goes from {leads[0]:.2f} to {leads[1]:.2f} nats, and" in shown.sentence
    share = f"its share goes from {before[first]:.3f} to {expected[first]:.3f}."
    assert shown.sentence.endswith(share)
    assert shown.query == "?off=1.2"


def test_an_address_restores_what_was_shown(exhibit):
    query = {"text": RIVER, "off": "1.2 0.0", "head": "2.3", "at": "4"}
    shown = exhibit("heads", text=MARSH, query=query)
    assert "".join(shown.tokens()[1:]).replace("␣", " ") == RIVER
    pressed = shown.element.locator("[aria-pressed=true]").all_inner_texts()
    assert [one.split()[0] for one in pressed] == ["␣river", "2.3", "0.0", "1.2"]
    assert shown.sentence.startswith("Without heads 0.0, 1.2 the lead of")
    shown.table()
    assert shown.element.locator("caption").inner_text().endswith("cut: 0.0, 1.2.")


def test_the_token_that_is_chosen_looks_and_is_continued(exhibit, crane):
    shown = exhibit("heads", text=RIVER, head="1.2")
    shown.element.locator(".strip button", has_text="␣river").click()
    tape, at = crane.trace(RIVER), shown.tokens().index("␣river")
    assert shown.bars() == pytest.approx(crane.next(tape["logits"][:, : at + 1]), abs=1e-3)
    row = tape["transformer.h.1.attn.weights"][0, 2, at]
    most = row.argmax().item()
    looks = f"Head 1.2 looks from ␣river most at {shown.tokens()[most]} ({row[most]:.2f})."
    assert shown.sentence.endswith(looks)
    lit = shown.element.locator(".board td.lit")
    assert lit.get_attribute("data-place") == f"{at} {most}"
    pointed = shown.element.locator(".board output").inner_text()
    assert pointed == f"␣river → {shown.tokens()[most]}: {row[most]:.4f}"
    assert shown.query == f"?at={at}"


def test_small_maps_stand_in_rows_of_blocks(exhibit):
    shown = exhibit("heads", text=MARSH)
    for group in (".thumbs button", ".many button"):
        tops = "all => all.map((one) => one.getBoundingClientRect().top)"
        heights = shown.element.locator(group).evaluate_all(tops)
        assert [len(set(heights[n : n + 4])) for n in (0, 4, 8)] == [1, 1, 1]
        assert len(set(heights)) == 3


def test_by_keyboard_alone(exhibit):
    shown = exhibit("heads", text=MARSH)
    shown.element.locator(".thumbs button").first.focus()
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("Enter")
    assert shown.ready().element.locator(".thumbs [aria-pressed=true]").inner_text() == "0.1"
    shown.element.locator(".board td[tabindex='0']").focus()  # the query's row, the last
    for key in ("Home", *["ArrowUp"] * 4, "ArrowRight"):
        shown.page.keyboard.press(key)
    assert shown.element.locator("output").inner_text().startswith("␣the → In: ")


def test_by_touch(exhibit, crane):
    shown = exhibit("heads", text=MARSH, chips=[RIVER], context={"has_touch": True})
    shown.element.locator(".thumbs button").nth(6).tap()
    assert shown.ready().element.locator(".thumbs [aria-pressed=true]").inner_text() == "1.2"
    shown.element.locator(".board td[data-place='2 1']").tap()
    assert shown.element.locator("output").inner_text().startswith("␣the → In: ")
    cut_one = shown.element.locator(".many button", has_text="1.2")
    cut_one.tap()
    assert shown.sentence.startswith("Without head 1.2")
    cut_one.tap()
    shown.element.get_by_role("button", name=RIVER).tap()
    assert shown.bars() == pytest.approx(crane.next(crane.trace(RIVER)["logits"]), abs=1e-3)


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
