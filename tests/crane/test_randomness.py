"""The generator of the stories draws what was published, evenly."""

from __future__ import annotations

from collections import Counter

from gpt2_edu.crane.sampling import SplitMix64


def test_the_generator_is_splitmix64_as_published():
    """The reference values for the seed 1234567 of the C version by Sebastiano Vigna."""
    generator = SplitMix64(1234567)
    assert [generator.below(1 << 64) for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_below_favours_no_number():
    generator = SplitMix64(0)
    counts = Counter(generator.below(6) for _ in range(60_000))
    assert sorted(counts) == [0, 1, 2, 3, 4, 5]
    assert all(abs(count - 10_000) < 500 for count in counts.values())  # five standard deviations
