"""The exhibit of chapter 11: every tensor of a pass, and a logit spelled out."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"


def name(shown) -> str:
    return shown.element.locator(".slider output").first.inner_text()


def numbers(shown) -> list[list[float]]:
    return [
        [float(cell.replace("−", "-").replace("∞", "inf")) for cell in row] for row in shown.cells()
    ]


def test_every_station_shows_pythons_numbers(exhibit, crane):
    shown = exhibit("stations", text=MARSH)
    tape = crane.trace(MARSH)
    for n in range(55):
        shown.slide("station", n)
        path = name(shown)
        full = f"transformer.{path}" if path.startswith("h.") else path
        if path == "idx":
            assert numbers(shown) == [[i] for i in crane.ids(MARSH)]
            continue
        if path in ("logits", "probabilities"):
            rows = tape["logits"][0]
            best = rows[-1].argsort(descending=True)[:8]
            rows = rows.softmax(-1) if path == "probabilities" else rows
            expected = rows[:, best]
        else:
            found = tape[full]
            expected = found[0, 0] if found.ndim == 4 else found.reshape(found.shape[-2:])
            expected = expected[:, :8]
            sizes = ", ".join(map(str, found.shape))
            assert f"({sizes})" in shown.element.locator(".soft").all_inner_texts()[1], path
        shown_numbers = numbers(shown)
        assert len(shown_numbers) == 7, path
        for row, own in zip(shown_numbers, expected.tolist(), strict=True):
            assert row == pytest.approx(own, abs=6e-3), path


def test_a_logit_is_the_dot_product_and_no_probability(exhibit, crane):
    shown = exhibit("stations", text=MARSH)
    tape = crane.trace(MARSH)
    before = shown.bars()
    assert before == pytest.approx(crane.next(tape["logits"], 5), abs=1e-3)
    stood = crane.ids(" stood")[1]
    shown.element.locator(".bar", has_text="␣stood").click()
    x, row = tape["ln_f"][0, -1], crane.model.lm_head.weight[stood].detach()
    logit = tape["logits"][0, -1, stood].item()
    assert float(x @ row) == pytest.approx(logit, abs=1e-3)
    assert f"␣stood has the logit {logit:.2f}" in shown.sentence
    terms = [cell.inner_text() for cell in shown.element.locator(".terms td:last-child").all()]
    values = [float(term.replace("−", "-")) for term in terms]
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.03)
    assert values[-1] == pytest.approx(logit, abs=6e-3)
    assert values[0] == pytest.approx(float(max(x * row, key=abs)), abs=6e-3)
    shown.slide("added to every logit", 10)
    assert shown.bars() == before
    assert f"␣stood has the logit {logit + 10:.2f}" in shown.sentence


@pytest.mark.parametrize("width", [1280, 704, 390])
def test_nothing_of_the_logits_sum_is_cut_off(exhibit, width):
    """The figure is as wide as the text, 672 pixels at most."""
    shown = exhibit("stations", text=MARSH, context={"viewport": {"width": width, "height": 900}})
    shown.element.evaluate(
        "element => { element.style.cssText = 'display: block; width: min(100%, 672px)'; }"
    )
    last = shown.element.locator(".terms td:last-child")
    assert last.count() == 6
    right = shown.element.evaluate("element => element.getBoundingClientRect().right")
    for cell in last.all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= right
