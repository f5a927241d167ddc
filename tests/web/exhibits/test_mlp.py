"""The exhibit of chapter 7: attention spreads a change, the MLP keeps it where it is."""

from __future__ import annotations

import pytest

from tests.thorough import thorough

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"


@pytest.fixture
def mlp(exhibit):
    def show(**more):
        return exhibit("mlp", **{"text": MARSH, "at": 3, "block": "1", "chips": [CITY]} | more)

    return show


def moved(crane, text: str, at: int, by: float = 1, block: int = 1):
    """How far the results move in Python, when one row is changed."""
    h = f"transformer.h.{block}."
    tape = crane.trace(text)

    def change(x):
        x = x.clone()
        x[:, at] += by
        return x

    changed = {
        "attn.out": crane.trace(text, {h + "ln_1": change}),
        "mlp.out": crane.trace(text, {h + "ln_2": lambda _: change(tape[h + "ln_2"])}),
    }
    return [
        (now[h + part] - tape[h + part])[0].norm(dim=-1).tolist() for part, now in changed.items()
    ]


def numbers(shown) -> list[list[float]]:
    return [[float(cell) for cell in row] for row in shown.cells()]


@pytest.mark.parametrize(
    ("at", "by", "block"), [(3, 1, 1), thorough(1, -2, 0), thorough(6, 0.5, 2)]
)
def test_results_move_as_far_as_in_python(mlp, crane, at, by, block):
    shown = mlp(query={"at": str(at), "by": str(by), "block": str(block)})
    rows = moved(crane, MARSH, at, by, block)
    assert numbers(shown) == [pytest.approx(row, abs=6e-3, rel=1e-3) for row in rows]


def test_attention_spreads_and_the_mlp_stays_put(mlp):
    shown = mlp()
    attention, own = numbers(shown)
    assert attention[:3] == [0, 0, 0] and min(attention[3:]) > 0
    assert [t for t, distance in enumerate(own) if distance] == [3]
    assert "moves at 4 of 7 tokens, the MLP's at ␣marsh alone" in shown.sentence
    assert shown.element.locator(".board td.lit").count() == 5
    shown.slide("added to each number of the chosen token", 0)
    assert "Nothing is added, and nothing moves." in shown.sentence
