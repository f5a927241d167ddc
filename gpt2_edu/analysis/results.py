"""What evaluations return: counts with intervals, choices, and a loss beside the exact one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Score:
    """How many of how many were right."""

    chances: int  # at least 1
    right: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.right / self.chances

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share, for independent chances.

        Those of one story depend on each other, so the true interval is a little wider. Source:
        Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
        """
        n, p, z = self.chances, self.share, 1.959964
        centre, scale = p + z * z / (2 * n), 1 + z * z / n
        reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


@dataclass(frozen=True)
class Grades:
    """What a model got right, as ``grade`` and ``forced_choice`` count it."""

    stories: Score  # grammatical ones, or those in which every choice was right
    phenomena: dict[str, Score]
    senses: dict[str, Score] = field(default_factory=dict)  # "sense" alone, for each homograph

    def __str__(self) -> str:
        rows = [("stories", self.stories), *self.phenomena.items()]
        rows += [(f"sense of {word}", score) for word, score in self.senses.items()]
        lines = [f"{'':18}chances   right    share   95 % interval"]
        for name, score in rows:
            low, high = (100 * edge for edge in score.interval)
            lines.append(
                f"{name:18}{score.chances:7}{score.right:8}{score.share:9.1%}"
                f"   {low:5.1f} – {high:.1f} %"
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The counts with their shares (0 to 1) and intervals, ready for JSON."""

        def plain(score: Score) -> dict[str, Any]:
            return {**asdict(score), "share": score.share, "interval": list(score.interval)}

        return {
            "stories": plain(self.stories),
            "phenomena": {name: plain(score) for name, score in self.phenomena.items()},
            "senses": {word: plain(score) for word, score in self.senses.items()},
        }


@dataclass(frozen=True)
class Choice:
    """Two continuations of the same beginning, and which one was likelier."""

    story: int  # counted from 0 in the order of the seeds
    phenomenon: str
    word: str  # the story's homograph, such as "crane"
    margin: float  # log-probability of the right words minus that of the distractor, in nats

    @property
    def right(self) -> bool:
        """A tie is not right."""
        return self.margin > 0


def tally(results: Iterable[tuple[str, bool]]) -> dict[str, Score]:
    """Count what was right under each name, in alphabetical order."""
    chances, right = Counter[str](), Counter[str]()
    for name, correct in results:
        chances[name] += 1
        right[name] += correct
    return {name: Score(chances[name], right[name]) for name in sorted(chances)}


def grade_choices(choices: Sequence[Choice]) -> Grades:
    """Choices as grades. A story counts as right if every choice in it was.

    Raises ValueError for no choices.
    """
    if not choices:
        raise ValueError("there is nothing to choose: give at least one seed")
    stories = {choice.story for choice in choices}
    failed = {choice.story for choice in choices if not choice.right}
    return Grades(
        Score(len(stories), len(stories - failed)),
        tally((choice.phenomenon, choice.right) for choice in choices),
        tally((choice.word, choice.right) for choice in choices if choice.phenomenon == "sense"),
    )


@dataclass(frozen=True)
class Validation:
    """A model's loss on stories, beside the exact one. All but the counts in nats per token."""

    loss: float  # the mean over all tokens
    loss_error: float  # standard error of the mean, story by story
    floor: float  # the same mean of the exact surprisal
    gap: float  # loss - floor: the KL divergence of the model from the grammar, estimated
    gap_error: float  # standard error of the gap, from each story's own difference
    stories: int
    tokens: int
    by_position: tuple[float, ...]  # mean loss of the first token, the second, …
    gap_by_position: tuple[float, ...]
    counts: tuple[int, ...]  # stories that have such a token

    def __str__(self) -> str:
        return (
            f"loss {self.loss:.4f} ± {self.loss_error:.4f}, floor {self.floor:.4f}, "
            f"gap {self.gap:.4f} ± {self.gap_error:.4f} nats per token "
            f"({self.stories} stories, {self.tokens} tokens)"
        )
