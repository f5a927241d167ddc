"""Chapter 3: attention of one word, with 2-dimensional vectors set by sliders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import torch

from ..exhibits import Matrix
from ..machine.display import Exhibit
from .lab import Lab

Pair = Sequence[float]


class Crane(Lab):
    """A word's attention weights over a sentence, and the weighted sum of values.

    q: the query of ``word``, the first of every sentence. words: each with its key "k" and value
    "v", pairs of numbers. sentences: by name, the words of each. Other
    arguments are those of ``Live``.
    """

    def __init__(
        self,
        *,
        word: str,
        q: Pair,
        words: Mapping[str, Mapping[str, Pair]],
        sentences: Mapping[str, Sequence[str]],
        **live: Any,
    ) -> None:
        super().__init__("crane", word=word, q=q, words=words, sentences=sentences, **live)
        self.word, self.sentences = word, sentences
        self.vectors: dict[str, tuple[float, float]] = {f"query of {word}": (q[0], q[1])}
        for name, both in words.items():
            for kind, of in (("k", "key"), ("v", "value")):
                self.vectors[f"{of} of {name}"] = (both[kind][0], both[kind][1])
        self.held = f"query of {word}"  # the vector that the sliders show

    def controls(self) -> Mapping[str, Any]:
        x, y = self.vectors[self.held]
        reach = {"min": -2.5, "max": 2.5, "step": 0.05}
        return {
            "sentence": widgets.Dropdown(options=list(self.sentences), description="sentence"),
            "vector": widgets.Dropdown(options=list(self.vectors), description="vector"),
            "x": widgets.FloatSlider(x, description="1st number", **reach),
            "y": widgets.FloatSlider(y, description="2nd number", **reach),
            "mask": widgets.Checkbox(False, description="it sees itself alone"),
        }

    def show(
        self, *, sentence: str, vector: str, x: float, y: float, mask: bool
    ) -> Iterator[Exhibit | str]:
        if vector != self.held:  # a newly chosen vector: set the sliders to it
            self.held = vector
            x, y = self.vectors[vector]
            self.widgets["x"].value, self.widgets["y"].value = x, y
        self.vectors[vector] = x, y
        words = self.sentences[sentence]
        seen = words[:1] if mask else words
        q = torch.tensor(self.vectors[f"query of {self.word}"])  # (2,)
        keys, values = (
            torch.tensor([self.vectors[f"{of} of {name}"] for name in seen])  # (T, 2)
            for of in ("key", "value")
        )
        scores = keys @ q
        weights = scores.softmax(dim=0)
        yield Matrix(
            torch.stack([scores, weights]),
            rows=["query · key", "share"],
            columns=list(seen),
            role="weights",
            caption=f"What the {self.word} takes from each word.",
        )
        first, second = (weights @ values).tolist()
        yield f"The new {self.word} is ({first:.2f}, {second:.2f})."
