"""Marks for a model of Crane World: how well it guesses, how it chooses, what it writes.

Every measure has a truth to be held against. ``validation`` compares the model's surprise with
the exact one, ``forced_choice`` the words that a story allows with words that contradict it, and
``grade`` lets the judge read what the model writes. heads.py looks inside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import tiktoken
import torch
from torch import Tensor

from .. import crane
from ..crane.surprisal import tokens
from ..generation import generate
from ..model import GPT2

# ids (B, T) int64 → log-probabilities (B, T, V) in nats of the token that follows each position.
# A position may look at the tokens before it and its own, at no later one.
LogProbs = Callable[[Tensor], Tensor]


# ---- Who is asked: a model, or a simpler guesser to compare it with -----------------------------


@contextmanager
def at_rest(model: GPT2) -> Iterator[None]:
    """The model in eval mode and without gradients; afterwards it is in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def device_of(model: GPT2) -> torch.device:
    """Where the model's weights are."""
    return model.get_parameter("transformer.wte.weight").device


def of_model(model: GPT2) -> LogProbs:
    """What a model predicts. Raises ValueError, when asked, for more tokens than its window."""

    def log_probs(ids: Tensor) -> Tensor:
        with at_rest(model):
            return model(ids.to(device_of(model)))[0].float().log_softmax(dim=-1)

    return log_probs


def of_window(model: GPT2, n: int) -> LogProbs:
    """What the same model predicts if it sees the last n tokens alone.

    They then stand at positions 0 to n - 1. A model that was trained on blocks cut anywhere out
    of its corpus knows such beginnings. Raises ValueError for n outside 1 … block_size.
    """
    if not 1 <= n <= model.config.block_size:
        raise ValueError(
            f"a window must lie in 1 … block_size={model.config.block_size} tokens, got {n}"
        )
    whole = of_model(model)

    def log_probs(ids: Tensor) -> Tensor:
        first = whole(ids[:, :n])  # these see everything before them
        if ids.size(1) <= n:
            return first
        windows = ids.unfold(1, n, 1)[:, 1:]  # (B, T - n, n), ending at n … T - 1
        # Texts that begin alike share their windows: each is computed once.
        distinct, which = windows.flatten(0, 1).unique(dim=0, return_inverse=True)
        with at_rest(model):
            later = torch.cat(
                [
                    model(some.to(device_of(model)), last_only=True)[0][:, 0].float()
                    for some in distinct.split(1024)
                ]
            ).log_softmax(dim=-1)
        rest = later[which.to(later.device)].view(*windows.shape[:2], -1)
        return torch.cat([first, rest], dim=1)

    return log_probs


class Bigram:
    """Predicts from the last token alone, by counting which pairs follow each other in a corpus.

    ids: (n,) int64, the texts one after the other. ``add`` is counted to every pair, so that
    none is impossible. Raises ValueError for fewer than two ids, or an ``add`` that is not above 0.
    """

    def __init__(self, ids: Tensor, vocab_size: int, add: float = 0.01) -> None:
        if ids.ndim != 1 or ids.numel() < 2:
            raise ValueError(f"a bigram is counted on ids of shape (n,), got {tuple(ids.shape)}")
        if not add > 0:
            raise ValueError(f"add must be above 0, got {add}")
        pairs = ids[:-1] * vocab_size + ids[1:]
        counts = torch.bincount(pairs, minlength=vocab_size**2).view(vocab_size, vocab_size) + add
        self.table = (counts / counts.sum(dim=-1, keepdim=True)).log()  # (V, V)

    def __call__(self, ids: Tensor) -> Tensor:
        return self.table[ids]


def log_probs_of(guesser: GPT2 | LogProbs) -> LogProbs:
    """A model, or what already answers with log-probabilities, as the latter."""
    return of_model(guesser) if isinstance(guesser, GPT2) else guesser


# ---- Stories as tokens -------------------------------------------------------------------------


def spelled(tokenizer: tiktoken.Encoding, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """The ids of a story with <|endoftext|> before and after it, and where each word begins.

    Word i has the ids from ``starts[i]`` to ``starts[i + 1] - 1``; the last of ``starts`` is the
    place of the closing <|endoftext|>.
    """
    ids, starts = [tokenizer.eot_token], []
    for before, word in zip([None, *words], [*words, ""], strict=True):
        starts.append(len(ids))
        ids += tokens(tokenizer, before, word)
    return ids, starts


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Token lists as one batch (B, T). What follows a text's end cannot reach back into it."""
    T = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (T - len(row))] for row in rows])


def scores(
    guesser: GPT2 | LogProbs, rows: Sequence[Sequence[int]], batch_size: int = 16
) -> list[Tensor]:
    """The log-probability in nats of each token of each row, given those before it.

    A row of n ids has n - 1 such scores, for all but its first token. (n - 1,) float32 on the CPU.
    """
    log_probs, found = log_probs_of(guesser), []
    for i in range(0, len(rows), batch_size):
        batch = rows[i : i + batch_size]
        ids = padded(batch)
        answers = log_probs(ids[:, :-1])  # (B, T - 1, V)
        said = answers.gather(-1, ids[:, 1:, None].to(answers.device))[..., 0].float().cpu()
        found += [said[b, : len(row) - 1] for b, row in enumerate(batch)]
    return found


# ---- Marks -------------------------------------------------------------------------------------


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
        """Wilson's 95 % interval of the share, as if the chances had nothing to do with each other.

        Those of one story do, so the truth is a little less certain. Source: Wilson 1927,
        "Probable Inference, the Law of Succession, and Statistical Inference".
        """
        n, p, z = self.chances, self.share, 1.959964
        centre, scale = p + z * z / (2 * n), 1 + z * z / n
        reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


@dataclass(frozen=True)
class Grades:
    """What a model got right, as ``grade`` and ``forced_choice`` count it."""

    stories: Score  # whole stories: grammatical ones, or those in which every choice was right
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


def tally(results: Iterable[tuple[str, bool]]) -> dict[str, Score]:
    """Count what was right under each name, in alphabetical order."""
    chances, right = Counter[str](), Counter[str]()
    for name, good in results:
        chances[name] += 1
        right[name] += good
    return {name: Score(chances[name], right[name]) for name in sorted(chances)}


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
    """n stories from <|endoftext|> to <|endoftext|>; None for one that outgrows the window.

    ``temperature`` and ``top_p`` are those of ``generate``. The same seed and batch_size draw the
    same stories. Raises ValueError for n below 1, and if the model's vocabulary lacks the
    tokenizer's <|endoftext|>.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1 story, got {n}")
    end = tokenizer.eot_token
    generator = torch.Generator(device_of(model)).manual_seed(seed)
    found: list[str | None] = []
    while len(found) < n:
        start = torch.full((min(batch_size, n - len(found)), 1), end, device=device_of(model))
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
            found.append(tokenizer.decode(ids[: ids.index(end)]) if end in ids else None)
    return found


def grade(texts: Iterable[str | None]) -> Grades:
    """The judge's marks: the share of texts that are whole stories, and of each phenomenon.

    A text that is None, unfinished, is no story and has no chances. A single sentence is no
    story either. Raises ValueError for no texts.
    """
    verdicts = [None if text is None else crane.judge(text) for text in texts]
    if not verdicts:
        raise ValueError("there is nothing to grade: give at least one text")
    chances, right = Counter[str](), Counter[str]()
    for verdict in verdicts:
        if verdict is not None:
            chances.update(verdict.chances)
            right.update(verdict.right)
    whole = sum(verdict is not None and verdict.kind == "story" for verdict in verdicts)
    phenomena = {name: Score(chances[name], right[name]) for name in sorted(chances)}
    return Grades(Score(len(verdicts), whole), phenomena)


# ---- How it chooses ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """Two ways to go on after the same beginning, and which one was likelier."""

    story: int  # counted from 0 in the order of the seeds
    phenomenon: str
    word: str  # the story's homograph, such as "crane"
    margin: float  # log-probability of the right words minus that of the lure, in nats

    @property
    def right(self) -> bool:
        """A tie is not right."""
        return self.margin > 0


def choices(
    guesser: GPT2 | LogProbs,
    tokenizer: tiktoken.Encoding,
    seeds: Iterable[int],
    *,
    held_out: str | None = None,
    batch_size: int = 16,
) -> list[Choice]:
    """Every test in the stories of these seeds: the right words against the first lure.

    The log-probabilities of a continuation's tokens are summed, so one that has more tokens has
    more to lose: who knows nothing prefers the shorter. Errors are those of ``crane.tell``.
    """
    texts: list[list[int]] = []  # one pass of each scores the right words of all its tests
    lures: list[list[int]] = []
    asked: list[tuple[int, crane.Test, int, int]] = []  # the story, and where the right ids stand
    for story, seed in enumerate(seeds):
        told = crane.tell(seed, held_out=held_out)
        ids, starts = spelled(tokenizer, told.words)
        texts.append(ids)
        for test in told.tests:
            at, stop = starts[test.start], starts[test.start + len(test.right)]
            asked.append((story, test, at, stop))
            lures.append(ids[:at] + _lure_ids(tokenizer, told.words, test))
    own, other = scores(guesser, texts, batch_size), scores(guesser, lures, batch_size)
    found = []
    for (story, test, at, stop), lure in zip(asked, other, strict=True):
        # Score i is that of token i + 1.
        margin = float(own[story][at - 1 : stop - 1].sum() - lure[at - 1 :].sum())
        found.append(Choice(story, test.phenomenon, test.sense.partition("-")[0], margin))
    return found


def _lure_ids(tokenizer: tiktoken.Encoding, words: Sequence[str], test: crane.Test) -> list[int]:
    """The ids of a test's first lure, in the place of the right words."""
    lure = test.wrong[0]
    before = (words[test.start - 1] if test.start else None, *lure)
    return [
        i for left, word in zip(before, lure, strict=False) for i in tokens(tokenizer, left, word)
    ]


def forced_choice(
    guesser: GPT2 | LogProbs,
    tokenizer: tiktoken.Encoding,
    seeds: Iterable[int],
    *,
    held_out: str | None = None,
    batch_size: int = 16,
) -> Grades:
    """How often the right words are likelier than the first lure. See ``choices``.

    With ``held_out`` the stories have what training never shows. Raises ValueError for no seeds,
    and what ``crane.tell`` raises.
    """
    found = choices(guesser, tokenizer, seeds, held_out=held_out, batch_size=batch_size)
    return count_choices(found)


def count_choices(found: Sequence[Choice]) -> Grades:
    """Choices as grades. A story counts as right if every choice in it was."""
    if not found:
        raise ValueError("there is nothing to choose: give at least one seed")
    wrong = {choice.story for choice in found if not choice.right}
    stories = len({choice.story for choice in found})
    return Grades(
        Score(stories, stories - len(wrong)),
        tally((choice.phenomenon, choice.right) for choice in found),
        tally((choice.word, choice.right) for choice in found if choice.phenomenon == "sense"),
    )


# ---- How well it guesses -----------------------------------------------------------------------


@dataclass(frozen=True)
class Validation:
    """A model's surprise on stories, beside the exact one. All but the counts in nats per token."""

    loss: float  # the mean over all tokens
    loss_error: float  # standard error of the mean, story by story
    floor: float  # the same mean of the exact surprise
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
    guesser: GPT2 | LogProbs,
    tokenizer: tiktoken.Encoding,
    n_stories: int = 1000,
    seed: int = 0,
    *,
    batch_size: int = 16,
) -> Validation:
    """The loss on the stories of ``crane.entropy(n_stories, seed)``, and the gap to the floor.

    Each story stands alone in its window after an <|endoftext|>; the one that closes it is
    predicted too. The gap is taken token by token, so which stories were drawn matters little.
    It cannot be below 0 by more than chance. Raises ValueError for fewer than two stories.
    """
    if n_stories < 2:
        raise ValueError(f"n_stories must be at least 2, got {n_stories}")
    texts = [crane.story(s) for s in crane.random_seeds(n_stories, seed)]
    end = tokenizer.eot_token
    rows = [[end, *tokenizer.encode_ordinary(text), end] for text in texts]
    losses = [(-said).tolist() for said in scores(guesser, rows, batch_size)]
    exact = [crane.surprisals(text, tokenizer) for text in texts]
    gaps = [[a - b for a, b in zip(*pair, strict=True)] for pair in zip(losses, exact, strict=True)]
    (loss, loss_error), (gap, gap_error) = mean_and_error(losses), mean_and_error(gaps)
    return Validation(
        loss,
        loss_error,
        mean_and_error(exact)[0],
        gap,
        gap_error,
        stories=n_stories,
        tokens=sum(map(len, losses)),
        by_position=tuple(sum(column) / len(column) for column in _columns(losses)),
        gap_by_position=tuple(sum(column) / len(column) for column in _columns(gaps)),
        counts=tuple(map(len, _columns(losses))),
    )


def mean_and_error(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean over all tokens of all stories, and its standard error.

    The tokens of a story depend on each other, so what counts is how the stories scatter: of a
    ratio of two sums, what is left of each total when the story's length has its due.
    """
    totals, lengths, n = [sum(row) for row in rows], [len(row) for row in rows], len(rows)
    mean = sum(totals) / sum(lengths)
    rest = sum((t - mean * k) ** 2 for t, k in zip(totals, lengths, strict=True))
    return mean, math.sqrt(rest * n / (n - 1)) / sum(lengths)


def _columns(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    return [[row[i] for row in rows if i < len(row)] for i in range(max(map(len, rows)))]


# ---- All of it ---------------------------------------------------------------------------------


def report(
    model: GPT2,
    tokenizer: tiktoken.Encoding,
    *,
    n_stories: int = 1000,
    n_samples: int = 1000,
    n_choices: int = 300,
    seed: int = 0,
    training_seeds: Iterable[int] = range(10_000),
    window: int = 8,
    held_out: Sequence[str] = ("sense", "object", "name"),
) -> dict[str, Any]:
    """Every mark of a model, ready for JSON.

    ``n_stories`` are for validation, ``n_samples`` are written freely, and ``n_choices`` tested
    in each forced choice: usual ones and those of each kind of ``held_out``. Two baselines choose
    as well: a bigram counted on the stories of ``training_seeds``, and the model itself with a
    window of ``window`` tokens. With the defaults and a million parameters this takes some minutes
    on two cores.
    """
    seeds = crane.random_seeds(n_choices, seed)
    corpus = [
        i
        for s in training_seeds
        for i in (tokenizer.eot_token, *tokenizer.encode_ordinary(crane.story(s)))
    ]
    guessers: dict[str, LogProbs] = {
        "bigram": Bigram(torch.tensor(corpus), tokenizer.n_vocab),
        f"window_{window}": of_window(model, window),
    }
    kinds = {"usual": None, **{f"held_out_{kind}": kind for kind in held_out}}
    samples = sample_stories(model, tokenizer, n_samples, seed=seed)
    return {
        "validation": asdict(validation(model, tokenizer, n_stories, seed)),
        "samples": {**grade(samples).as_dict(), "unfinished": samples.count(None)},
        "forced_choice": {
            name: forced_choice(model, tokenizer, seeds, held_out=kind).as_dict()
            for name, kind in kinds.items()
        },
        "baselines": {
            name: {
                kind: forced_choice(guesser, tokenizer, seeds, held_out=held).as_dict()
                for kind, held in kinds.items()
            }
            for name, guesser in guessers.items()
        },
    }
