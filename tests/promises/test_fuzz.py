"""`python -m tests.fuzz` in small: as many kinds of harm, fewer of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import calls, command_lines, downloads, files
from tests.fuzz.__main__ import PARTS
from tests.fuzz.tally import VERDICTS

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "book" / "rely.md"


@pytest.mark.parametrize(
    "part, tries",
    [(files, 400), (calls, 230), (command_lines, 120), (downloads, 40)],
    ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2],
)
def test_nothing_hostile_goes_wrong_or_hangs(part, tries):
    tally = part.fuzz(tries, seed=1)
    assert tally.bad == []
    assert tally.counts["tried"] >= tries and tally.counts["clear"] > tries // 2


def test_the_page_shows_a_table_without_a_loss():
    lines = PAGE.read_text("utf-8").partition(f"| | {' | '.join(VERDICTS)} |\n")[2].splitlines()
    rows = [line for line in lines if line.startswith("| ")][1:]
    assert [row.split(" | ")[0][2:] for row in rows] == [*PARTS]
    assert all(row.endswith("| 0 | 0 |") for row in rows)
