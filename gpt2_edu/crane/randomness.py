"""Random numbers that are the same on every machine, in every version of Python."""

from __future__ import annotations

_MASK = (1 << 64) - 1


class SplitMix64:
    """A seeded generator: a counter, well mixed. The same seed draws the same numbers.

    Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators".
    Python's ``random`` promises the same generator in later versions, but not the same methods.
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1, all equally likely to one part in 2⁶⁴ / n."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((z ^ (z >> 31)) * n) >> 64
