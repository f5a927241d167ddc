"""Crane World: a language of short stories in which the truth is known.

``story(seed)`` writes a story, ``judge(text)`` judges one, and ``entropy()`` says how well the next
token can be guessed. All three read the same page: grammar.md.
"""

from .judging import Sense, Verdict, judge
from .sampling import AnnotatedStory, Test, annotated_story, story
from .surprisal import EntropyEstimate, entropy, random_seeds, surprisals

__all__ = [
    "AnnotatedStory",
    "EntropyEstimate",
    "Sense",
    "Test",
    "Verdict",
    "annotated_story",
    "entropy",
    "judge",
    "random_seeds",
    "story",
    "surprisals",
]
