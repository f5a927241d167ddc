"""The exhibit of chapter 15: what the knobs make of a prediction, and which token a dart hits."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu.sampling import next_probabilities

pytestmark = pytest.mark.browser
RIVER = "By the river, the crane"
MORNING = "One windy morning,"
HOT = {"temperature": "1.75", "k": "12", "p": "0.8"}


def predicted(crane, text: str, **knobs) -> dict[str, float]:
    """Every token with its share, in the order of what the model says without knobs."""
    logits = crane.trace(text)["logits"][:, -1]
    order = logits[0].argsort(descending=True, stable=True)
    shares = next_probabilities(logits, **knobs)[0, order]
    return dict(zip(crane.show(order.tolist()), shares.tolist(), strict=True))


def first_eight(shares: dict[str, float]) -> dict[str, float]:
    eight = dict(list(shares.items())[:8])
    return {**eight, "1,016 others": 1 - sum(eight.values())}


KNOBS = {"temperature": "temperature", "k": "top_k", "p": "top_p", "m": "min_p"}


@pytest.mark.thorough
def test_the_knobs_are_next_probabilities(exhibit, crane):
    shown = exhibit("sampling", text=RIVER)
    off = shown.element.evaluate("(e, names) => names.map((one) => e.state.get(one))", [*KNOBS])
    hot = {name: float(value) for name, value in HOT.items()}
    for turned in ({}, {"temperature": 2}, {"temperature": 0}, hot, {"m": 0.2}, {**hot, "m": 0.3}):
        shown.set(**dict(zip(KNOBS, off, strict=True)) | turned)
        knobs = {KNOBS[name]: value for name, value in turned.items()}
        if "top_k" in knobs:
            knobs["top_k"] = int(knobs["top_k"])
        expected = first_eight(predicted(crane, RIVER, **knobs))
        bars = shown.bars()
        assert list(bars) == list(expected)
        assert bars == pytest.approx(expected, abs=1e-3)


@pytest.mark.thorough
def test_the_order_of_the_knobs_counts(exhibit, crane):
    shown = exhibit("sampling", text=MORNING, query=HOT)
    logits = crane.trace(MORNING)["logits"][:, -1]
    shown.element.get_by_role("button", name="llama").click()
    cut = next_probabilities(logits, top_k=12, top_p=0.8)
    expected = next_probabilities(cut.log(), temperature=1.75)[0].sort(descending=True).values
    assert list(shown.bars().values())[:8] == pytest.approx(expected[:8].tolist(), abs=1e-3)
    shown.element.get_by_role("button", name="τ, p, k, m").click()
    cut = next_probabilities(logits, temperature=1.75, top_p=0.8)
    expected = next_probabilities(cut.log(), top_k=12)[0].sort(descending=True).values
    assert list(shown.bars().values())[:8] == pytest.approx(expected[:8].tolist(), abs=1e-3)
    assert "order=tpkm" in shown.query


@pytest.mark.parametrize("touch", [False, True])
def test_where_the_dart_lands_decides(exhibit, crane, touch):
    shown = exhibit("sampling", text=RIVER, context={"has_touch": touch})
    shares = predicted(crane, RIVER)
    ends = torch.tensor(list(shares.values())).cumsum(0)
    track = shown.element.locator(".track")
    box = track.bounding_box()
    for dart in (0.2, 0.6, 0.86):
        place = {"x": dart * box["width"], "y": 20}
        (track.tap if touch else track.click)(position=place)
        token = list(shares)[int((dart >= ends).sum())]
        assert shown.sentence.endswith(f"The dart at {dart:.2f} hits {token}.")
        assert shown.element.locator(".bar.hit b").inner_text() == token
    shown.element.get_by_role("button", name="write ").click()
    shown.ready()
    assert shown.tokens()[-1] == token


@pytest.mark.thorough
def test_a_hundred_darts_beside_the_bars(exhibit):
    shown = exhibit("sampling", text=RIVER)
    shown.element.get_by_role("button", name="draw 100").click()
    rows = shown.table().values()
    counts = [int(row[-1]) for row in rows]
    assert sum(counts) == 100
    for (now, *_), count in zip(rows, counts, strict=True):
        share = float(now.lstrip("<"))
        assert abs(count - 100 * share) < 4 * (100 * share * (1 - share)) ** 0.5 + 1
    shown.slide("temperature", 0)
    assert [row[-1] for row in shown.table().values()][:2] == ["100", "0"]
    shown.element.get_by_role("button", name="throw at random").click()
    assert "draws=101" in shown.query


@pytest.mark.thorough
def test_several_texts_and_with_new_darts_others(exhibit):
    shown = exhibit("sampling", text=RIVER)

    def done() -> list[str]:
        shown.ready().element.locator(".texts[aria-busy=false]").wait_for()
        return shown.element.locator(".texts li").all_inner_texts()

    some = done()
    assert len(set(some)) > 1
    shown.element.get_by_role("button", name="new darts").click()
    assert done() != some
    shown.slide("temperature", 0)
    assert len(set(done())) == 1
