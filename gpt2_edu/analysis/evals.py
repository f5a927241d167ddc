"""Metrics of a model of Crane World: how well it predicts, how it chooses, what it writes.

Every metric is compared with the truth. ``validation`` compares the model's loss with the exact
surprisal, ``forced_choice`` the words that a story allows with words that contradict it, and
``grade`` lets the judge read what the model writes. heads.py looks inside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import tiktoken
import torch

from .. import crane
from ..crane.surprisal import mean_and_error, means_by_position
from ..generation import generate
from ..model import GPT2
from .scoring import Bigram, LogProbs, encode_words, score_tokens, window_log_probs


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


# ---- What it writes ----------------------------------------------------------------------------


def sample_stories(
    model: GPT2,
    tokenizer: tiktoken.Encoding,
    n: int,
    *,
    seed: int = 0,
    temperature: float = 1.0,
    top_p: float | None = None,
    batch_size: int = 128,
) -> list[str | None]:
    """n stories from <|endoftext|> to <|endoftext|>; None for one that does not fit the window.

    ``temperature`` and ``top_p`` are those of ``generate``. The same seed and batch_size draw the
    same stories. Raises ValueError for n below 1, and if the model's vocabulary lacks the
    tokenizer's <|endoftext|>.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1 story, got {n}")
    end = tokenizer.eot_token
    generator = torch.Generator(model.device).manual_seed(seed)
    stories: list[str | None] = []
    while len(stories) < n:
        start = torch.full((min(batch_size, n - len(stories)), 1), end, device=model.device)
        drawn = generate(
            model,
            start,
            model.config.block_size,
            temperature=temperature,
            top_p=top_p,
            eos_id=end,
            generator=generator,
        )
        for ids in drawn[:, 1:].tolist():
            stories.append(tokenizer.decode(ids[: ids.index(end)]) if end in ids else None)
    return stories


def grade(texts: Iterable[str | None]) -> Grades:
    """The judge's verdict: the share of texts that are complete stories, and of each phenomenon.

    A text that is None, unfinished, is no story and has no chances. A single sentence is no
    story either. Raises ValueError for no texts.
    """
    verdicts = [None if text is None else crane.judge(text) for text in texts]
    if not verdicts:
        raise ValueError("there is nothing to grade: give at least one text")
    chances, right = Counter[str](), Counter[str]()
    for verdict in filter(None, verdicts):
        chances.update(verdict.chances)
        right.update(verdict.right)
    complete = sum(verdict is not None and verdict.kind == "story" for verdict in verdicts)
    phenomena = {name: Score(chances[name], right[name]) for name in sorted(chances)}
    return Grades(Score(len(verdicts), complete), phenomena)


# ---- How it chooses ----------------------------------------------------------------------------


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


def choices(
    predictor: GPT2 | LogProbs,
    tokenizer: tiktoken.Encoding,
    seeds: Iterable[int],
    *,
    held_out: str | None = None,
) -> list[Choice]:
    """Every test in the stories of these seeds: the right words against the first distractor.

    The log-probabilities of a continuation's tokens are summed, so a predictor that knows nothing
    prefers the one with fewer tokens. Raises what ``crane.annotated_story`` raises.
    """
    texts: list[list[int]] = []  # one pass of each scores the right words of all its tests
    distractors: list[list[int]] = []
    asked: list[tuple[int, crane.Test, int, int]] = []  # the story, and where the right ids stand
    for story, seed in enumerate(seeds):
        sampled = crane.annotated_story(seed, held_out=held_out)
        ids, starts = encode_words(tokenizer, sampled.words)
        texts.append(ids)
        for test in sampled.tests:
            at, stop = starts[test.start], starts[test.start + len(test.right)]
            asked.append((story, test, at, stop))
            words = (*sampled.words[: test.start], *test.distractors[0])
            distractors.append(encode_words(tokenizer, words)[0][:-1])  # without <|endoftext|>
    own, other = score_tokens(predictor, texts), score_tokens(predictor, distractors)
    found = []
    for (story, test, at, stop), scores in zip(asked, other, strict=True):
        # Score i is that of token i + 1.
        margin = float(own[story][at - 1 : stop - 1].sum() - scores[at - 1 :].sum())
        found.append(Choice(story, test.phenomenon, test.sense.partition("-")[0], margin))
    return found


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


def forced_choice(
    predictor: GPT2 | LogProbs,
    tokenizer: tiktoken.Encoding,
    seeds: Iterable[int],
    *,
    held_out: str | None = None,
) -> Grades:
    """How often the right words are likelier than the first distractor. See ``choices``.

    With ``held_out`` the stories have what training never shows. Raises ValueError for no seeds,
    and what ``crane.annotated_story`` raises.
    """
    return grade_choices(choices(predictor, tokenizer, seeds, held_out=held_out))


# ---- How well it predicts ----------------------------------------------------------------------


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


def validation(
    predictor: GPT2 | LogProbs,
    tokenizer: tiktoken.Encoding,
    n_stories: int = 1000,
    seed: int = 0,
) -> Validation:
    """The loss on the stories of ``crane.entropy(n_stories, seed)``, and the gap to that entropy.

    Each story stands alone in its window after an <|endoftext|>; the one that closes it is
    predicted too. The gap is taken token by token, so which stories were drawn matters little.
    It cannot be below 0 by more than chance. Raises ValueError for fewer than two stories.
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
    model: GPT2,
    tokenizer: tiktoken.Encoding,
    *,
    n_stories: int = 1000,
    n_samples: int = 1000,
    n_choices: int = 300,
    seed: int = 0,
    training_seeds: Iterable[int] = range(10_000),
) -> dict[str, Any]:
    """Every metric of a model, ready for JSON.

    ``n_stories`` are for validation, ``n_samples`` are written freely, and ``n_choices`` tested
    in each forced choice: of usual stories, and of each kind that training withholds. Two baselines
    choose as well: a bigram counted on the stories of ``training_seeds``, and the model itself with
    a window of 8 tokens. With the defaults and a million parameters this takes some minutes on two
    cores.
    """
    seeds = crane.random_seeds(n_choices, seed)
    corpus: list[int] = []
    for s in training_seeds:
        corpus += (tokenizer.eot_token, *tokenizer.encode_ordinary(crane.story(s)))
    kinds = {"usual": None} | {f"held_out_{kind}": kind for kind in ("sense", "object", "name")}

    def chosen(predictor: GPT2 | LogProbs) -> dict[str, Any]:
        return {
            name: forced_choice(predictor, tokenizer, seeds, held_out=kind).as_dict()
            for name, kind in kinds.items()
        }

    samples = sample_stories(model, tokenizer, n_samples, seed=seed)
    return {
        "validation": asdict(validation(model, tokenizer, n_stories, seed)),
        "samples": {**grade(samples).as_dict(), "unfinished": samples.count(None)},
        "forced_choice": chosen(model),
        "baselines": {
            "bigram": chosen(Bigram(torch.tensor(corpus), tokenizer.n_vocab)),
            "window_8": chosen(window_log_probs(model, 8)),
        },
    }
