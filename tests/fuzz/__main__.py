"""Hostile files, calls, command lines, mirrors and kills; prints what came of them as a table.

    python -m tests.fuzz --tries 3000 --seed 7
    python -m tests.fuzz --only pages --tries 30000
    python -m tests.fuzz --only kills --tries 200

The page "What you can rely on" has such a table. The exit status is 1 if anything went wrong.
"""

from __future__ import annotations

import argparse

from tests.fuzz import answers, calls, command_lines, downloads, files, kills, pages
from tests.fuzz.tally import VERDICTS

PARTS = {
    "damaged files": files,
    "checkpoints in pages": pages,
    "calls": calls,
    "command lines": command_lines,
    "lying downloads": downloads,
    "answers of learners": answers,
    "kills": kills,
}
TRIES = {answers: 10**6, kills: 200}  # the answers are not drawn, there are so many


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tries", type=int, help="of each; default: 1000, 200 kills, all answers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="a part, by a word of its name")
    given = parser.parse_args()
    bad = False
    print(f"| | {' | '.join(VERDICTS)} |", "| --- |" + " ---: |" * len(VERDICTS), sep="\n")
    for name, part in PARTS.items():
        if given.only and given.only not in name:
            continue
        tally = part.fuzz(given.tries or TRIES.get(part, 1000), given.seed)
        print(f"| {name} | {' | '.join(f'{tally.counts[v]:,}' for v in VERDICTS)} |", flush=True)
        bad = bad or bool(tally.bad)
    raise SystemExit(bad)


if __name__ == "__main__":
    main()
