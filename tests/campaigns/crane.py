"""Crane World at length: a million stories, twenty thousand judgements, mutations of each kind.

python -m tests.campaigns.crane --stories 1000000 --judged 20000 --mutated 2000
python -m tests.campaigns.crane --golden     # the SHA-256 that tests/crane/test_sampling.py has
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

from gpt2_edu import crane
from gpt2_edu.crane.grammar import crane_world
from tests.crane.mutations import MUTATIONS, slips
from tests.crane.reference import distances, golden, same_stories, withheld_pairs


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--stories", type=int, default=1_000_000, help="looked at for equal ones")
    options.add_argument("--judged", type=int, default=20_000, help="stories that are judged")
    options.add_argument("--mutated", type=int, default=2_000, help="texts of each kind")
    options.add_argument("--golden", action="store_true", help="print the SHA-256 and stop")
    given = options.parse_args()
    if given.golden:
        print(golden())
        return

    found = distances(min(given.judged, 5000))
    for name, some in (("first", [d for d in found if d.first]), ("all", found)):
        steps = Counter(distance.words for distance in some)
        across, other_named = (
            sum(column) / len(some) for column in list(zip(*some, strict=True))[1:3]
        )
        print(f"words from the last cue to the sense, {name} tests:", sorted(steps.items()))
        print(
            f"across the end of a sentence: {across:.1%}; the other sense named: {other_named:.1%}"
        )

    for held_out in (None, *crane_world().withheld):
        for seed in range(given.judged if held_out is None else given.judged // 10):
            text = crane.story(seed, held_out=held_out)
            verdict = crane.judge(text)
            assert verdict.kind == "story" and verdict.chances == verdict.right, text
            expected = set() if held_out is None else {held_out}
            assert withheld_pairs(text) == expected, (held_out, text)
    print(f"{given.judged} stories judged, and a tenth as many of each kind held out: all right")

    for kind in MUTATIONS:
        passed = slips(kind, given.mutated)
        print(f"{kind}: {given.mutated - len(passed)} of {given.mutated} rejected")
        for text in passed[:3]:
            print("    can be said:", text)
        assert len(passed) <= given.mutated / 100

    pairs, expected = same_stories(given.stories)
    print(f"{given.stories} seeds: {pairs} pairs of equal stories, {expected:.2f} expected")
    assert pairs <= expected + 5 * math.sqrt(expected) + 5


if __name__ == "__main__":
    main()
