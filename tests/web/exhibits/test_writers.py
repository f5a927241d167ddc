"""The exhibit of chapter 8: who writes how much into the stream, and what the sum says."""

from __future__ import annotations

import json
import re

import pytest
import torch

from gpt2_edu.web import files_script
from tests.thorough import thorough

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city, the crane"
WRITERS = ["embd", *(f"h.{n}.{part}.out" for n in range(3) for part in ("attn", "mlp"))]


def path(name: str) -> str:
    return name if name == "embd" else f"transformer.{name}"


def silence(x):
    return x * 0


def lengths(shown) -> dict[str, float]:
    bars = {name.removesuffix(" (off)"): value for name, value in shown.bars().items()}
    return {name: bars[name] for name in [*WRITERS, "their sum"]}


def guesses(shown) -> dict[str, float]:
    known = {*WRITERS, *(f"{name} (off)" for name in WRITERS), "their sum"}
    return {name: p for name, p in shown.bars().items() if name not in known}


def toggle(shown, name: str):
    shown.element.locator("button.bar", has_text=name).click()


def expected(tape, at: int = -1) -> dict[str, float]:
    each = [tape[path(name)][0, at] for name in WRITERS]
    long = [*(one.norm().item() for one in each), torch.stack(each).sum(0).norm().item()]
    return dict(zip([*WRITERS, "their sum"], long, strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("off", [[], ["h.2.mlp.out"], ["embd"], ["h.0.mlp.out", "h.1.attn.out"]])
def test_a_silent_writer_is_missed_as_in_python(exhibit, crane, off):
    shown = exhibit("writers", text=MARSH)
    for name in off:
        toggle(shown, name)
    tape = crane.trace(MARSH, {path(name): silence for name in off})
    every = crane.next(tape["logits"], 1024)
    assert guesses(shown) == pytest.approx({n: every[n] for n in guesses(shown)}, abs=1e-3)
    assert lengths(shown) == pytest.approx(expected(tape), abs=0.51)
    assert shown.query == ("?off=" + "+".join(off) if off else "")


@pytest.mark.thorough
def test_the_last_writer_is_no_replacement_for_the_first(exhibit):
    shown = exhibit("writers", text=MARSH)
    toggle(shown, "h.2.mlp.out")
    assert guesses(shown)["␣ate"] > 0.6  # Crane World has 0.5, and with all writers it is 0.53
    toggle(shown, "h.2.mlp.out")
    toggle(shown, "embd")
    assert "␣ate goes from 0.528 to <0.001; now “,” is likeliest" in shown.sentence
    toggle(shown, "their sum")
    assert shown.sentence.startswith("7 writers, one sum")
    for name in WRITERS:
        toggle(shown, name)
    assert shown.sentence.startswith("All are silent, so the sum is 0")


def way(shown) -> list[tuple[float, float]]:
    """Where the drawing's vectors end, one by one, as it has them; from their beginning."""
    read = "all => all.map((path) => path.getAttribute('d'))"
    paths = shown.rest().element.locator(".plot path:is(.bird, .machine)").evaluate_all(read)
    places = [re.fullmatch(r"M(.+),(.+)L(.+),(.+)", path).groups() for path in paths]
    x0, y0 = map(float, places[0][:2])
    return [(float(x) - x0, y0 - float(y)) for *_, x, y in places]


@pytest.mark.parametrize("off", [thorough(""), "h.1.mlp.out"])
def test_the_vectors_lead_head_to_tail_to_the_sum(exhibit, crane, off):
    query = {"off": off, "kept": "true"} if off else {}
    shown = exhibit("writers", text=MARSH, query=query, context={"reduced_motion": "reduce"})
    tape, model = crane.trace(MARSH), crane.model
    each = torch.stack([tape[path(name)][0, -1] for name in WRITERS])
    senses = json.loads(re.search('"deeds": ({[^}]*})', files_script("crane"))[1])
    rows = [
        model.lm_head.weight[[crane.ids(f" {deed}")[1] for deed in deeds]].mean(0)
        for deeds in (senses["bird"], senses["machine"])
    ]
    up = model.transformer.ln_f.weight * (rows[0] - rows[1])
    up = torch.nn.functional.normalize(up - up.mean(), dim=0).detach()
    total = each.sum(0)
    along = torch.nn.functional.normalize(total - (total @ up) * up, dim=0)
    unit = 286 / 1.2 / (total @ along)  # the longest reaches 1 of 1.2
    if off:
        each[WRITERS.index(off)] = 0
    ends = unit * (each @ torch.stack([along, up], dim=1)).cumsum(0)
    assert way(shown) == [pytest.approx(end.tolist(), abs=0.3) for end in ends]
    if not off:
        assert (ends[-1].norm() / unit).item() == pytest.approx(total.norm().item(), rel=1e-4)


@pytest.mark.thorough
def test_others_may_write_what_they_wrote_before(exhibit, crane):
    shown = exhibit("writers", text=CITY, query={"off": "h.0.mlp.out", "kept": "true"})
    tape = crane.trace(CITY)
    model = crane.model
    with torch.no_grad():
        left = sum(tape[path(name)] for name in WRITERS if name != "h.0.mlp.out")
        logits = model.lm_head(model.transformer.ln_f(left))
    every = crane.next(logits, 1024)
    assert guesses(shown) == pytest.approx({n: every[n] for n in guesses(shown)}, abs=1e-3)
    assert lengths(shown)["their sum"] == pytest.approx(left[0, -1].norm().item(), abs=0.51)
    before = guesses(shown)
    shown.element.get_by_label("the others still write").uncheck()
    assert guesses(shown) != before
