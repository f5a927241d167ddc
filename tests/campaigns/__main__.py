"""All campaigns, one after the other; the book's page "What you can rely on" shows what came of it.

python -m tests.campaigns            # about a quarter of an hour
python -m tests.campaigns --small    # a minute, as `make test` does
python -m tests.campaigns --seed 7   # others of the same kinds
"""

from __future__ import annotations

import argparse
import datetime
import time
from pathlib import Path
from typing import Any

import torch

from gpt2_edu import __version__
from tests.campaigns import calls, command_line, downloads, hostile_files, kill, together
from tests.campaigns.tally import Tally

PAGE = Path(__file__).parents[2] / "book" / "rely.md"
NAMES = ("tried", "clear", "right", "wrong", "hung")
SMALL = 0.04


def campaigns(scale: float, seed: int) -> list[Tally]:
    """Every part; a scale of 1 is the whole."""

    def many(number: int) -> int:
        return max(round(number * scale), 2)

    return [
        hostile_files.campaign(many(14_000), seed),
        calls.campaign(many(3_000)),
        command_line.campaign(many(3_000), seed),
        downloads.campaign(many(1_000), seed),
        together.campaign(many(40), seed),
        kill.campaign(many(200), seed),
    ]


def with_figures(page: str, rows: list[dict[str, Any]], seed: int) -> str:
    """The page with these figures between its two marks."""
    lines = [f"| | {' | '.join(NAMES)} |", "| --- |" + " ---: |" * len(NAMES)]
    lines += [f"| {row['part']} | {' | '.join(f'{row[n]:,}' for n in NAMES)} |" for row in rows]
    version = f"Version {__version__}, PyTorch {torch.__version__.partition('+')[0]}, seed {seed}, "
    lines += ["", f"{version}{datetime.date.today()}."]
    before, _, rest = page.partition("<!-- campaign -->\n")
    after = rest.partition("<!-- end -->\n")[2]
    return f"{before}<!-- campaign -->\n\n" + "\n".join(lines) + f"\n\n<!-- end -->\n{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began = time.monotonic()
    tallies = campaigns(SMALL if given.small else 1.0, given.seed)
    rows = [tally.row() for tally in tallies]
    print(f"{'':20}" + "".join(f"{name:>8}" for name in NAMES))
    for row in rows:
        print(f"{row['part']:20}" + "".join(f"{row[name]:8,}" for name in NAMES))
    print(f"{time.monotonic() - began:,.0f} s")
    if not given.small:
        PAGE.write_text(with_figures(PAGE.read_text("utf-8"), rows, given.seed), "utf-8")
    raise SystemExit(any(tally.bad for tally in tallies))


if __name__ == "__main__":
    main()
