"""Crane World: a language of short stories in which the truth is known.

``story(seed)`` writes a story, ``judge(text)`` marks one, ``entropy()`` says how well the next
token could be guessed. All three read the same page: grammar.md.
"""

from .judging import Sense, Verdict, judge
from .sampling import Test, Told, story, tell
from .surprisal import Floor, entropy, random_seeds, surprisals

__all__ = [
    "Floor",
    "Sense",
    "Test",
    "Told",
    "Verdict",
    "entropy",
    "judge",
    "random_seeds",
    "story",
    "surprisals",
    "tell",
]
