"""Runs on their fitted surface, in the page: what it fits is what the package fits."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

from gpt2_edu.analysis.scaling import HUBER, Fit, Run, fit, residuals, subsets
from gpt2_edu.exhibits import Scaling
from tests.exhibits.test_scaling import made
from tests.web.exhibits.conftest import MODULES, Shown

pytestmark = pytest.mark.browser
AXE = (MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
STILL = {"reduced_motion": "reduce"}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
LARGEST = "155200x6773760"
# Resampling takes seconds, in slices; none follows.
NO_MORE = """() => {
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (then, ...ms) => (ms.length ? setTimeout(then, ...ms) : 0);
}"""


@pytest.fixture
def scaling(exhibit):
    """``scaling(query=…)``: the exhibit with made runs."""
    settings = json.loads(Scaling(runs=made(), floor=0.44).settings)

    def show(context: Any = STILL, resampled: bool = False, **more: Any) -> Shown:
        shown = exhibit("scaling", context=context, **{**settings, **more})
        if not resampled:
            shown.page.evaluate(NO_MORE)
        return shown

    return show


def floor_of(shown: Shown) -> float:
    return float(re.match(r"E = ([\d.]+) from", shown.sentence)[1])  # type: ignore[index]


def run(shown: Shown, name: str) -> Any:
    return shown.element.locator(f"[data-name='{name}']")


def cost(found: Fit, runs: list[Run]) -> float:
    """The sum of Huber losses that a fit has least of."""
    errors = [abs(math.log1p(residual)) for residual in residuals(found, runs)]
    return sum(min(error, HUBER) * (error - min(error, HUBER) / 2) for error in errors)


@pytest.mark.thorough
def test_each_choice_is_fitted_as_in_python(scaling):
    shown = scaling()
    for name, some in subsets(made()).items():
        row = shown.element.locator(".tried button", has=shown.page.get_by_text(name, exact=True))
        row.click()
        E = floor_of(shown)  # with few lengths any within some range is as good
        assert cost(fit(some, E), some) == pytest.approx(cost(fit(some), some), rel=1e-4), name
        assert f" from {len(some)} runs" in shown.sentence
        assert float(row.locator("b").inner_text()) == E


@pytest.mark.thorough
def test_a_run_is_taken_away_and_brought_back(scaling):
    shown = scaling()
    before = floor_of(shown)
    dot = run(shown, "1760x250880").locator(".dot")
    box = dot.bounding_box()
    for gone in (True, False):
        shown.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        shown.ready()
        assert (run(shown, "1760x250880").get_attribute("aria-checked") == "false") == gone
        assert (shown.query == "?away=1760x250880") == gone
        assert ("E = " in shown.sentence and "from 30 runs" in shown.sentence) == gone
    assert floor_of(shown) == before
    shown.element.get_by_role("button", name="15 of 16 points").wait_for()  # it can be had again


def test_the_largest_run_is_predicted_from_the_others(scaling):
    shown = scaling(query={"away": LARGEST})
    rest = [one for one in made() if f"{one.n}x{one.d}" != LARGEST]
    predicted = float(re.search(r"is predicted at ([\d.]+)", shown.sentence)[1])  # type: ignore[index]
    assert predicted == pytest.approx(fit(rest).loss(155_200, 6_773_760), abs=1e-3)
    assert "at 2.7 times the compute of any that was fitted" in shown.sentence
    rows = shown.table()
    assert rows["155,200 parameters, 6.77 million tokens"][-1] == "taken away"


@pytest.mark.thorough
def test_with_e_held_the_surface_is_that_of_python(scaling):
    shown = scaling(query={"known": "true"})
    assert shown.sentence.startswith("With E held at the true floor of 0.440, the 32 runs lie")
    found = fit(made(), 0.44)
    rows = shown.table()
    for n, d in {(one.n, one.d) for one in made()}:
        said = next(cells[2] for name, cells in rows.items() if _reads(name, n, d))
        assert float(said) == pytest.approx(found.loss(n, d), abs=2e-3)


def _reads(name: str, n: int, d: int) -> bool:
    tokens = f"{d:,}" if d < 1e6 else f"{d / 1e6:.2f} million"
    return name == f"{n:,} parameters, {tokens} tokens"


@pytest.mark.thorough
def test_resamplings_say_how_sure_it_is(scaling):
    shown = scaling(resampled=True)
    shown.element.locator(".within").wait_for(timeout=60_000)
    low, high = map(float, re.search(r"it is (\d\.\d+) to (\d\.\d+)", shown.sentence).groups())  # type: ignore[union-attr]
    assert low < floor_of(shown) < high and high - low < 0.2


@pytest.mark.thorough
def test_too_few_runs_have_no_surface(scaling):
    shown = scaling()
    names = [f"{one.n}x{one.d}" for one in made() if one.n > 1760]
    shown = scaling(query={"away": " ".join(dict.fromkeys(names))})
    assert shown.sentence.startswith("All runs left are of one size. The surface is")
    assert shown.element.locator(".surface.stale").count() == 1
    keep = {"1760x250880", LARGEST}
    names = [name for one in made() if (name := f"{one.n}x{one.d}") not in keep]
    shown = scaling(query={"away": " ".join(dict.fromkeys(names))})
    assert "5 unknowns need at least 6 runs, and 4 are left." in shown.sentence
    shown.stands()


@pytest.mark.thorough
def test_the_keyboard_is_enough(scaling):
    shown = scaling()
    shown.tab_to("[role=checkbox]")
    assert shown.page.evaluate("document.activeElement.dataset.name") == LARGEST
    shown.press("ArrowLeft", "ArrowDown", " ")
    assert shown.query == "?away=56640x2257920"
    assert "56,640 parameters, 2.26 million tokens: loss" in shown.element.inner_text()
    shown.press("Enter")
    assert shown.query == ""


@pytest.mark.thorough
def test_it_turns_by_dragging_and_a_drag_takes_nothing_away(scaling):
    shown = scaling(query={"turn": "0", "tilt": "0"})
    box = run(shown, LARGEST).locator(".dot").bounding_box()
    shown.drag((box["x"] + 4, box["y"] + 4), (box["x"] - 96, box["y"] + 54))
    assert shown.query == "?turn=40&tilt=20"
    shown.element.get_by_role("button", name="from above").click()
    assert shown.query == "?turn=0&tilt=90"
    residuals = shown.element.locator(".run text").all_text_contents()
    assert len(residuals) == 16 and all(re.fullmatch(r"[+−]?\d+(\.\d)?", one) for one in residuals)


@pytest.mark.thorough
def test_the_surface_goes_where_it_is_to_be(scaling):
    """With motion too, it ends where it is without."""
    ends = []
    for context in (STILL, {}):
        shown = scaling(context=context)
        shown.element.get_by_role("button", name="without the smallest size").click()
        shown.page.wait_for_timeout(1500)
        ends.append(
            shown.element.locator("path.along").evaluate_all("all => all.map((p) => p.outerHTML)")
        )
    assert ends[0] == ends[1]


@pytest.mark.thorough
@pytest.mark.parametrize("context", [STILL, PHONE], ids=["desk", "phone"])
def test_everybody_can_read_it(scaling, context):
    shown = scaling(context=context)
    shown.page.evaluate(AXE)
    bad = shown.page.evaluate("axe.run('gpt2-scaling', {resultTypes: ['violations']})")
    assert [one["id"] for one in bad["violations"]] == []
    shown.stands()


@pytest.mark.thorough
def test_do_it_for_me(scaling):
    shown = scaling(first="Look.")
    shown.element.get_by_role("button", name="Do it for me").click()
    shown.page.wait_for_function("() => !document.querySelector('.hand')")
    assert shown.element.locator(".tried .e").count() == 4  # all, and three choices
