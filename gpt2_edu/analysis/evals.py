"""Metrics of a model of Crane World: validation loss, forced choices, grammar of its samples.

``validation`` compares the model's loss with the exact surprisal. ``forced_choice`` compares the
probabilities of right and contradicting words. ``grade`` parses sampled stories with
``crane.judge``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from .. import crane
from ..crane.surprisal import mean_and_error, means_by_position
from ..generation import generate
from ..language_model import LanguageModel
from ..tokenizer import Encoding
from .scoring import Bigram, LogProbs, encode_words, score_tokens, window_log_probs


@dataclass(frozen=True)
class Score:
    """A number of right results out of a number of trials."""

    chances: int  # at least 1
    right: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.right / self.chances

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share, for independent chances.

        Trials of one story are correlated, so the true interval is slightly wider. Source:
        Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
        """
        n, p, z = self.chances, self.share, 1.959964
        centre, scale = p + z * z / (2 * n), 1 + z * z / n
        reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


@dataclass(frozen=True)
class Grades:
    """The counts of ``grade`` or ``forced_choice``."""

    stories: Score  # grammatical ones, or those with every choice right
    phenomena: dict[str, Score]
    senses: dict[str, Score] = field(default_factory=dict)  # of "sense" only, by homograph

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
        """The counts with their shares (0 to 1) and intervals, JSON-serializable."""

        def plain(score: Score) -> dict[str, Any]:
            return {**asdict(score), "share": score.share, "interval": list(score.interval)}

        tables = {"phenomena": self.phenomena, "senses": self.senses}
        return {"stories": plain(self.stories)} | {
            name: {key: plain(score) for key, score in table.items()}
            for name, table in tables.items()
        }


# ---- Sampling ---------------------------------------------------------------------------------


def sample_stories(
    model: LanguageModel,
    tokenizer: Encoding,
    n: int,
    *,
    seed: int = 0,
    temperature: float = 1.0,
    top_p: float | None = None,
    batch_size: int = 128,
) -> list[str | None]:
    """Sample n stories, each up to <|endoftext|>; None for one that exceeds the window.

    ``temperature`` and ``top_p`` are those of ``generate``. The result is determined by seed and
    batch_size. Raises ValueError for n below 1, and if the tokenizer's <|endoftext|> is not in the
    model's vocabulary.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1 story, got {n}")
    end = tokenizer.eot_token
    generator = torch.Generator(model.device).manual_seed(seed)
    stories: list[str | None] = []
    while len(stories) < n:
        start = torch.full((min(batch_size, n - len(stories)), 1), end, device=model.device)
        knobs: dict[str, Any] = {"temperature": temperature, "top_p": top_p, "eos_id": end}
        drawn = generate(model, start, model.config.block_size, generator=generator, **knobs)
        for ids in drawn[:, 1:].tolist():
            stories.append(tokenizer.decode(ids[: ids.index(end)]) if end in ids else None)
    return stories


def grade(texts: Iterable[str | None]) -> Grades:
    """Count the texts that are complete stories, and the phenomena that are right.

    None (an unfinished text) and single sentences do not count as stories; None has no phenomena.
    Raises ValueError if there are no texts.
    """
    verdicts = [None if text is None else crane.judge(text) for text in texts]
    if not verdicts:
        raise ValueError("there is nothing to grade: give at least one text")
    parsed = [verdict for verdict in verdicts if verdict]
    chances = sum((Counter(verdict.chances) for verdict in parsed), Counter[str]())
    right = sum((Counter(verdict.right) for verdict in parsed), Counter[str]())
    complete = sum(verdict.kind == "story" for verdict in parsed)
    return Grades(
        Score(len(verdicts), complete),
        {name: Score(chances[name], right[name]) for name in sorted(chances)},
    )


# ---- Forced choice -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """The comparison of two continuations of one prefix."""

    story: int  # counted from 0 in the order of the seeds
    phenomenon: str
    word: str  # the story's homograph, such as "crane"
    margin: float  # log-probability of the right words minus that of the distractor, in nats

    @property
    def right(self) -> bool:
        """Whether the right words are more likely; a tie is not right."""
        return self.margin > 0


def choices(
    predictor: LanguageModel | LogProbs,
    tokenizer: Encoding,
    seeds: Iterable[int],
    *,
    held_out: str | None = None,
) -> list[Choice]:
    """Every test in the stories of these seeds: the right words against the first distractor.

    The log-probabilities of a continuation's tokens are summed, so a uniform predictor prefers the
    one with fewer tokens. Raises what ``crane.annotated_story`` raises.
    """
    texts: list[list[int]] = []  # scored once for the right words of all tests
    distractors: list[list[int]] = []
    tests: list[tuple[int, crane.Test, int, int]] = []  # story, test, and the scores of its words
    for story, seed in enumerate(seeds):
        sampled = crane.annotated_story(seed, held_out=held_out)
        ids, starts = encode_words(tokenizer, sampled.words)
        texts.append(ids)
        for test in sampled.tests:
            at, stop = starts[test.start], starts[test.start + len(test.right)]
            tests.append((story, test, at - 1, stop - 1))  # score i is that of token i + 1
            words = (*sampled.words[: test.start], *test.distractors[0])
            distractors.append(encode_words(tokenizer, words)[0][:-1])  # without <|endoftext|>
    right, wrong = score_tokens(predictor, texts), score_tokens(predictor, distractors)
    found = []
    for (story, test, at, stop), scores in zip(tests, wrong, strict=True):
        margin = float(right[story][at:stop].sum() - scores[at:].sum())
        found.append(Choice(story, test.phenomenon, test.sense.partition("-")[0], margin))
    return found


def _scores(choices: Sequence[Choice], name: str) -> dict[str, Score]:
    """The score for each value of a field, in alphabetical order."""
    chances = Counter(getattr(choice, name) for choice in choices)
    right = Counter(getattr(choice, name) for choice in choices if choice.right)
    return {key: Score(chances[key], right[key]) for key in sorted(chances)}


def grade_choices(choices: Sequence[Choice]) -> Grades:
    """Grades of choices. A story counts as right if every choice in it is.

    Raises ValueError if there are no choices.
    """
    if not choices:
        raise ValueError("there are no choices: give at least one seed")
    stories = {choice.story for choice in choices}
    failed = {choice.story for choice in choices if not choice.right}
    return Grades(
        Score(len(stories), len(stories - failed)),
        _scores(choices, "phenomenon"),
        _scores([choice for choice in choices if choice.phenomenon == "sense"], "word"),
    )


def forced_choice(
    predictor: LanguageModel | LogProbs,
    tokenizer: Encoding,
    seeds: Iterable[int],
    *,
    held_out: str | None = None,
) -> Grades:
    """Count how often the right words are more likely than the first distractor; see ``choices``.

    With ``held_out`` the stories have pairs withheld from training. Raises ValueError if there are
    no seeds, and what ``crane.annotated_story`` raises.
    """
    return grade_choices(choices(predictor, tokenizer, seeds, held_out=held_out))


# ---- Validation --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Validation:
    """A model's loss on stories and the exact entropy, in nats per token."""

    loss: float  # the mean over all tokens
    loss_error: float  # standard error of the mean, from the variation between stories
    floor: float  # mean exact surprisal of the same tokens
    gap: float  # loss - floor: an estimate of the KL divergence from the grammar
    gap_error: float  # standard error of the gap, from the variation between stories
    stories: int
    tokens: int
    by_position: tuple[float, ...]  # mean loss of the first token, the second, …
    gap_by_position: tuple[float, ...]
    counts: tuple[int, ...]  # stories that are long enough

    def __str__(self) -> str:
        return (
            f"loss {self.loss:.4f} ± {self.loss_error:.4f}, floor {self.floor:.4f}, "
            f"gap {self.gap:.4f} ± {self.gap_error:.4f} nats per token "
            f"({self.stories} stories, {self.tokens} tokens)"
        )


def validation(
    predictor: LanguageModel | LogProbs,
    tokenizer: Encoding,
    n_stories: int = 1000,
    seed: int = 0,
) -> Validation:
    """The loss on the stories of ``crane.entropy(n_stories, seed)``, and the gap to that entropy.

    Each story has a window of its own, with an <|endoftext|> before it, and one after it that is
    predicted too. The gap is a paired difference, token by token, so its error is small; it is
    negative only by chance. Raises ValueError for fewer than two stories.
    """
    if n_stories < 2:
        raise ValueError(f"n_stories must be at least 2, got {n_stories}")
    texts = [crane.story(s) for s in crane.random_seeds(n_stories, seed)]
    end = tokenizer.eot_token
    rows = [[end, *tokenizer.encode_ordinary(text), end] for text in texts]
    losses = [(-scores).tolist() for scores in score_tokens(predictor, rows)]
    exact = [crane.surprisals(text, tokenizer) for text in texts]
    gaps = [[a - b for a, b in zip(*pair, strict=True)] for pair in zip(losses, exact, strict=True)]
    by_position, counts = means_by_position(losses)
    return Validation(
        *mean_and_error(losses),
        mean_and_error(exact)[0],
        *mean_and_error(gaps),
        stories=n_stories,
        tokens=sum(map(len, losses)),
        by_position=by_position,
        gap_by_position=means_by_position(gaps)[0],
        counts=counts,
    )


def report(
    model: LanguageModel,
    tokenizer: Encoding,
    *,
    n_stories: int = 1000,
    n_samples: int = 1000,
    n_choices: int = 300,
    seed: int = 0,
    training_seeds: Iterable[int] = range(10_000),
) -> dict[str, Any]:
    """Every metric of a model, JSON-serializable.

    Numbers of stories: ``n_stories`` for validation, ``n_samples`` sampled ones, and ``n_choices``
    for each forced choice (usual stories, and each kind of withheld pair). Baselines of the forced
    choice: a bigram model of the stories of ``training_seeds``, and the same model with a window
    of 8 tokens. The defaults take some minutes for a million parameters on two cores.
    """
    seeds = crane.random_seeds(n_choices, seed)
    corpus: list[int] = []
    for s in training_seeds:
        corpus += (tokenizer.eot_token, *tokenizer.encode_ordinary(crane.story(s)))
    kinds = {"usual": None} | {f"held_out_{kind}": kind for kind in ("sense", "object", "name")}

    def forced_choices(predictor: LanguageModel | LogProbs) -> dict[str, Any]:
        return {
            name: forced_choice(predictor, tokenizer, seeds, held_out=kind).as_dict()
            for name, kind in kinds.items()
        }

    samples = sample_stories(model, tokenizer, n_samples, seed=seed)
    bigram = Bigram(torch.tensor(corpus), tokenizer.n_vocab)
    baselines: dict[str, LogProbs] = {"bigram": bigram, "window_8": window_log_probs(model, 8)}
    return {
        "validation": asdict(validation(model, tokenizer, n_stories, seed)),
        "samples": {**grade(samples).as_dict(), "unfinished": samples.count(None)},
        "forced_choice": forced_choices(model),
        "baselines": {name: forced_choices(predictor) for name, predictor in baselines.items()},
    }
