"""The exhibit of chapter 13: a stored run, played; low loss is not yet a good text."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from gpt2_edu import crane as world

pytestmark = pytest.mark.browser
SHIPPED = files("gpt2_edu") / "assets" / "crane"
STORED = json.loads((SHIPPED / "snapshots.json").read_text(encoding="utf-8"))
FLOOR = 0.443


@pytest.fixture(scope="module")
def run() -> dict:
    """The settings that chapter 13 makes of the stored files."""
    lines = (SHIPPED / "log.jsonl").read_text(encoding="utf-8").splitlines()
    losses = {row["step"]: row.get("loss", row.get("val_loss")) for row in map(json.loads, lines)}
    shots = [
        {
            "step": shot["step"],
            "loss": round(losses[shot["step"]], 4),
            "good": shot["grammatical"],
            "story": shot["sample"],
            "fails": shot["sample"] and world.judge(shot["sample"]).fails_at,
            "heads": [
                [weight for row in rows for weight in row]
                for block in shot["attention"][0]
                for rows in block
            ],
        }
        for shot in STORED["snapshots"]
    ]
    return {
        "shots": shots,
        "floor": FLOOR,
        "losses": [[shot["step"], shot["loss"]] for shot in shots],
        "tokens": [token.strip() for token in STORED["tokens"][0]],
        "titles": [f"{block}.{head}" for block in range(3) for head in range(4)],
        "head": "1.3",
        "watch": {"row": 2, "column": 1},
    }


def to(shown, step: int) -> None:
    """Move the slider to a step that was kept."""
    place = [shot["step"] for shot in STORED["snapshots"]].index(step)
    shown.slide("step", place)


@pytest.mark.thorough
def test_the_loss_is_gone_before_a_story_is_right(exhibit, run):
    shown = exhibit("snapshots", **run)
    losses = {shot["step"]: shot["loss"] for shot in run["shots"]}
    assert "From step 10 to 20" in shown.sentence  # the first story that was kept
    to(shown, 0)
    assert shown.sentence.startswith(f"Before the first step the loss is {losses[0]:.2f}; blind")
    for step, before, good, was in ((500, 300, 0, 0), (1000, 750, 42, 10), (10_000, 5000, 98, 88)):
        to(shown, step)
        way = (losses[0] - losses[step]) / (losses[0] - FLOOR)
        assert shown.sentence.startswith(
            f"From step {before:,} to {step:,} the loss falls from {losses[before]:.2f} to "
            f"{losses[step]:.2f}, which is {100 * way:.1f} % of the way down to the floor. "
            f"{good} % of its stories are grammatical ({was} % before)."
        )


def test_a_story_is_marked_where_it_leaves_the_language(exhibit, run):
    shown = exhibit("snapshots", query={"shot": "7"}, **run)
    mark = shown.element.locator(".story mark").inner_text()
    story = STORED["snapshots"][7]["sample"]
    assert mark == "⟦" + story[world.judge(story).fails_at :]
    to(shown, 10_000)
    assert shown.element.locator(".story mark").count() == 0
    assert shown.element.locator(".story").inner_text() == STORED["snapshots"][-1]["sample"]
    to(shown, 0)
    assert "No story was saved" in shown.element.locator(".story").inner_text()


def test_heads_form(exhibit, run):
    shown = exhibit("snapshots", **run)
    for i, shot in ((0, STORED["snapshots"][0]), (14, STORED["snapshots"][14])):
        to(shown, shot["step"])
        rows = shot["attention"][0][1][3]  # block 1, head 3
        cells = [[float(cell) for cell in row] for row in shown.cells()]
        for t, row in enumerate(rows):
            expected = [weight / sum(row) for weight in row] + [0] * (4 - t)
            assert cells[t] == pytest.approx(expected, abs=6e-3)
        assert shown.sentence.endswith(
            f"In block 1, head 3, “ate” gives “crane” {cells[2][1]:.2f}."
        ), i
    shown.element.get_by_role("button", name="2.0").click()
    assert "In block 2, head 0," in shown.sentence
    assert "shot=14" in shown.query and "head=2.0" in shown.query
