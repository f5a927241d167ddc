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


def test_a_token_is_shown_with_the_rest_of_its_word(exhibit, crane):
    """As the model goes on with it, greedily, from the text before it."""
    shown = exhibit("heads", text=MARSH, head="1.0")
    names = list(shown.bars())
    rests = shown.element.locator(".bar b").evaluate_all("all => all.map((b) => b.dataset.rest)")
    words = [name + rest for name, rest in zip(names, rests, strict=True)]
    assert {"␣ate", "␣stood", "␣spread", "␣built"} <= set(words) and "␣spread" not in names
    content = "b => getComputedStyle(b, '::after').content.slice(1, -1)"
    drawn = shown.element.locator(".bar b").evaluate_all(f"all => all.map({content})")
    assert drawn == rests
    for name, rest in zip(names[:5], rests[:5], strict=True):
        text = MARSH + name.replace("␣", " ")
        for _ in range(6):
            piece = next(iter(crane.next(crane.trace(text)["logits"], 1)))
            if not piece.isalpha():
                break
            text += piece
        assert text.endswith(name[1:] + rest)


@pytest.mark.thorough
def test_a_head_that_is_cut_leaves_a_ghost(exhibit, crane):
    shown = exhibit("heads", text=RIVER, head="1.0", rivals=[" ate", " lifted"])
    before = shown.bars()
    shown.element.get_by_role("button", name="1.2", exact=True).click()
    assert shown.ready().element.locator(".thumbs [aria-pressed=true]").all_inner_texts() == ["1.2"]
    after = shown.bars()
    expected = crane.next(crane.trace(RIVER, cut("1.2"))["logits"], 1024)
    assert after == pytest.approx({name: expected[name] for name in after}, abs=1e-3)
    first = max(before, key=before.get)
    ghost = shown.element.locator(".bar", has_text=first).first.locator("s").inner_text()
    assert ghost == f"was {before[first]:.3f}"
    assert shown.sentence.startswith(
        "Without head 1.2, which looks from ␣crane mainly at ␣river (0.97), the lead of ␣ate over "
    )
    ate, lifted = (crane.ids(f" {verb}")[1] for verb in ("ate", "lifted"))
    leads = [
        float(logits[0, -1, ate] - logits[0, -1, lifted])
        for logits in (crane.trace(RIVER, edits)["logits"] for edits in ({}, cut("1.2")))
    ]
    assert f"over ␣lifted goes from {leads[0]:.2f} to {leads[1]:.2f} nats, and" in shown.sentence
    share = f"the probability of {first} goes from {before[first]:.3f} to {expected[first]:.3f}."
    assert shown.sentence.endswith(share)
    assert shown.query == "?head=1.2&off=1.2"
    shown.page.keyboard.press("ArrowRight")
    assert shown.element.locator(".thumbs :focus").inner_text() == "1.3"


@pytest.mark.thorough
def test_the_token_that_is_chosen_looks_and_is_continued(exhibit, crane):
    shown = exhibit("heads", text=RIVER, head="1.2")
    shown.element.locator(".strip button", has_text="␣river").click()
    tape, at = crane.trace(RIVER), shown.tokens().index("␣river")
    assert shown.bars() == pytest.approx(crane.next(tape["logits"][:, : at + 1]), abs=1e-3)
    row = tape["transformer.h.1.attn.weights"][0, 2, at]
    most = row.argmax().item()
    looks = f"Head 1.2 looks from ␣river mainly at {shown.tokens()[most]} ({row[most]:.2f})."
    assert shown.sentence.endswith(looks)
    lit = shown.element.locator(".board td.lit")
    assert lit.get_attribute("data-place") == f"{at} {most}"
    output = shown.element.locator(".board output")
    assert output.locator("bdi").all_inner_texts() == ["␣river", shown.tokens()[most]]
    assert output.inner_text() == f"␣river → {shown.tokens()[most]}: {row[most]:.4f}"
    assert shown.query == f"?at={at}"


@pytest.mark.thorough
def test_arcs_over_the_text_are_as_wide_as_the_weights(exhibit, crane):
    shown = exhibit("heads", text=RIVER, head="1.0")
    row = crane.trace(RIVER)["transformer.h.1.attn.weights"][0, 0, -1]
    widths = "paths => paths.map((path) => parseFloat(path.style.strokeWidth) / 9)"
    arcs = shown.element.locator(".arcs path").evaluate_all(widths)
    assert arcs == pytest.approx([w if w >= 0.02 else 0 for w in row.tolist()], abs=1e-3)
    shown.element.get_by_role("button", name="1.0", exact=True).click()
    assert not any(shown.ready().element.locator(".arcs path").evaluate_all(widths))


def test_an_arc_to_an_earlier_row_ends_below_its_token(exhibit):
    """On a phone the text is broken; an arc to the upper edge would cross the row."""
    phone = {"viewport": {"width": 390, "height": 844}}
    shown = exhibit("heads", text=RIVER, head="1.0", context=phone)
    shown.page.wait_for_function(
        """() => {
          const path = document.querySelectorAll(".arcs path")[4].getAttribute("d");
          const [river, crane] = [4, 7].map((i) =>
            document.querySelectorAll(".strip button")[i].getBoundingClientRect());
          const top = document.querySelector(".arcs").getBoundingClientRect().top;
          const pairs = path.match(/[\\d.]+ [\\d.]+/g);
          const heights = pairs.map((pair) => top + Number(pair.split(" ")[1]));
          return river.bottom < crane.top && Math.min(...heights) >= river.bottom;
        }"""
    )
