"""The campaign in small: as many kinds of harm, fewer of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns import calls, command_line, downloads, hostile_files
from tests.campaigns.__main__ import NAMES, with_figures

PAGE = Path(__file__).parents[2] / "book" / "rely.md"


@pytest.mark.parametrize(
    "part",
    [
        lambda: hostile_files.campaign(1400, seed=1),
        lambda: calls.campaign(500),
        lambda: command_line.campaign(280, seed=1),
        lambda: downloads.campaign(60, seed=1),
    ],
    ids=["files", "calls", "command line", "downloads"],
)
def test_nothing_hostile_is_wrong_hangs_or_costs_anything(part):
    tally = part()
    assert tally.bad == []
    assert tally.counts["tried"] >= 60 and tally.counts["clear"] > tally.counts["tried"] // 2


def test_the_page_shows_a_campaign_without_a_loss():
    table = PAGE.read_text("utf-8").partition("<!-- campaign -->")[2].partition("<!-- end -->")[0]
    rows = [
        [cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines() if "|" in row
    ]
    assert rows[0] == ["", *NAMES] and len(rows) == 8
    assert all(wrong == hung == "0" for *_, wrong, hung in rows[2:])
    assert with_figures("a\n<!-- campaign -->\nold\n<!-- end -->\nb\n", [], 0).startswith("a\n")
