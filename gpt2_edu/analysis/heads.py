"""Inside a model of Crane World: what each head is needed for, and where it looks.

``head_effects`` removes heads one at a time and repeats the forced choices of evals.py.
``attention_statistics`` measures where each head looks from the positions that matter. Both take
any model that notes its ``attn.heads`` and ``attn.weights``: the package's or the reader's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from .. import crane
from ..language_model import eval_mode
from ..tape import trace
from ..tokenizer import Encoding
from .evals import Choice, Grades, Score, choices, grade_choices
from .interventions import Edits, record, without
from .scoring import LogProbs, device_of, encode_words, model_log_probs, pad_right


def noted_heads(model: nn.Module) -> dict[str, Tensor]:
    """``attn.heads`` of every layer for a single token, (1, H, 1, D), by path.

    They show how many layers and heads the model has, and under which paths edits find them.
    """
    return record(model, [0]).ending("attn.heads")


# ---- Removing a head ---------------------------------------------------------------------------


@dataclass(frozen=True)
class HeadEffect:
    """What is lost without one head, by phenomenon."""

    layer: int
    head: int
    drops: dict[str, float]  # of the share that is right, in percentage points
    sense_drops: dict[str, float]  # the same of "sense" only, by homograph
    margin_drops: dict[str, float]  # of the mean margin, in nats


@dataclass(frozen=True)
class HeadEffects:
    """The intact model's forced choices, and what each head's removal takes from them."""

    intact: Grades
    margins: dict[str, float]  # of the intact model: the mean margin of each phenomenon, in nats
    heads: tuple[HeadEffect, ...]  # layer by layer

    def __str__(self) -> str:
        names = list(self.intact.phenomena)
        rows = {"intact, %": [100 * score.share for score in self.intact.phenomena.values()]}
        rows |= {f"without {e.layer}.{e.head}": [-e.drops[n] for n in names] for e in self.heads}
        lines = [" " * 14 + "  ".join(f"{name:>6}" for name in names)]
        for label, values in rows.items():
            cells = [f"{v:z{max(len(n), 6)}.1f}" for n, v in zip(names, values, strict=True)]
            lines.append(f"{label:14}" + "  ".join(cells))
        return "\n".join(lines)


def head_effects(model: nn.Module, tokenizer: Encoding, seeds: Iterable[int]) -> HeadEffects:
    """Forced choices on the stories of these seeds with one head removed at a time.

    A removed head gives zeros. No drop does not mean that a head does nothing: another may be
    enough without it. Takes N · H + 1 times as long as ``forced_choice``, whose errors it
    shares. Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?".
    """
    seeds = list(seeds)
    intact = choices(_edited_log_probs(model, {}), tokenizer, seeds)
    grades, margins = grade_choices(intact), _mean_margins(intact)
    effects = []
    for layer, heads in enumerate(noted_heads(model).values()):
        for head in range(heads.size(1)):
            edits = without(model, heads=[(layer, head)])
            left = choices(_edited_log_probs(model, edits), tokenizer, seeds)
            now, now_margins = grade_choices(left), _mean_margins(left)
            drops = _points_lost(grades.phenomena, now.phenomena)
            sense_drops = _points_lost(grades.senses, now.senses)
            margin_drops = {name: margins[name] - now_margins[name] for name in margins}
            effects.append(HeadEffect(layer, head, drops, sense_drops, margin_drops))
    return HeadEffects(grades, margins, tuple(effects))


def _points_lost(before: dict[str, Score], after: dict[str, Score]) -> dict[str, float]:
    """The difference of each share, in percentage points."""
    return {name: 100 * (score.share - after[name].share) for name, score in before.items()}


def sense_only_from_hint(word: str, seed: int) -> bool:
    """Whether this seed's story tests the sense of ``word`` once, and only a hint decides it.

    "Ada saw nothing but feathers and reeds, until the crane …": no place has been named before,
    and the crane does one thing only, so that nothing else helps to choose it.
    """
    story = crane.annotated_story(seed)
    senses = [test.sense for test in story.tests if test.phenomenon == "sense"]
    return " nothing but " in story.text and len(senses) == 1 and senses[0].startswith(f"{word}-")


def _edited_log_probs(model: nn.Module, edits: Edits) -> LogProbs:
    def log_probs(ids: Tensor) -> Tensor:
        with trace(model, edits=edits):
            return model_log_probs(model)(ids)

    return log_probs


def _mean_margins(found: Sequence[Choice]) -> dict[str, float]:
    margins = defaultdict(list)
    for choice in found:
        margins[choice.phenomenon].append(choice.margin)
    return {name: sum(margins[name]) / len(margins[name]) for name in sorted(margins)}


def _attention(model: nn.Module, rows: Sequence[Sequence[int]]) -> Iterator[Tensor]:
    """For each row the attention weights of all layers: (N, H, T, T) on the CPU, padded."""
    for i in range(0, len(rows), 16):
        with eval_mode(model), torch.inference_mode(), trace(model) as t:
            model(pad_right(rows[i : i + 16]).to(device_of(model)))
        yield from torch.stack([*t.ending("attn.weights").values()], dim=1).float().cpu()


# ---- Where the heads look ----------------------------------------------------------------------


@dataclass(frozen=True)
class HeadAttention:
    """Where one head looks: for each pattern a mean attention weight, from 0 to 1."""

    layer: int
    head: int
    weights: dict[str, float]


@dataclass(frozen=True)
class AttentionStatistics:
    """What ``attention_statistics`` returns."""

    counts: dict[str, int]  # places that each pattern was measured at
    even: dict[str, float]  # the weights of a head that looks at every token equally
    heads: tuple[HeadAttention, ...]  # layer by layer

    def strongest(self, pattern: str) -> HeadAttention:
        """The head that follows a pattern most."""
        return max(self.heads, key=lambda head: head.weights[pattern])

    def __str__(self) -> str:
        width = max(map(len, self.counts))
        lines = [f"{'':{width}}  places    even  strongest head"]
        for pattern, count in self.counts.items():
            best = self.strongest(pattern)
            lines.append(
                f"{pattern:{width}}{count:8}{self.even[pattern]:8.3f}  "
                f"{best.layer}.{best.head}: {best.weights[pattern]:.3f}"
            )
        return "\n".join(lines)


def attention_statistics(
    model: nn.Module, tokenizer: Encoding, seeds: Iterable[int]
) -> AttentionStatistics:
    """Where each head looks in the stories of these seeds. The patterns:

    ``first``       from every token but the first to the first, <|endoftext|>
    ``previous``    from every token but the first to the one before it
    ``to sense``, ``to name``, ``to object`` …  for each phenomenon, from the token that must
                    predict the tested words, the one before them, to all that decides them
    ``copy``        the same, for names and objects, to the words that are to be said again
    ``induction``   as ``copy``, but only to words that once followed the token that stands
                    before them now: "red kite" … "red" → "kite"
    ``homograph``   from the homograph itself, the last one before the tested words, to what
                    decides its sense and stands before it

    A place's weight is the sum over the tokens that are looked at; a pattern's is the mean over
    its places. Raises ValueError for no seeds, or a model that does not note its attention
    weights. Source of the last but one: Olsson et al. 2022, "In-context Learning and Induction
    Heads".
    """
    stories = [crane.annotated_story(seed) for seed in seeds]
    if not stories:
        raise ValueError("there is nothing to look at: give at least one seed")
    texts = [encode_words(tokenizer, story.words) for story in stories]
    found = defaultdict(list)  # by pattern: weights (N, H) of each place, and those of an even head
    tables = _attention(model, [ids for ids, _ in texts])  # (N, H, T, T) each
    for story, (ids, starts), weights in zip(stories, texts, tables, strict=True):
        for pattern, query, keys in attention_places(story, ids, starts):
            place = weights[:, :, query, keys].sum(dim=-1).double()
            found[pattern].append((place, len(keys) / (query + 1)))
    counts = {pattern: len(found[pattern]) for pattern in sorted(found)}
    means = {p: torch.stack([place for place, _ in found[p]]).mean(dim=0) for p in counts}
    return AttentionStatistics(
        counts,
        {p: sum(even for _, even in found[p]) / counts[p] for p in counts},
        tuple(
            HeadAttention(n, h, {p: float(means[p][n, h]) for p in counts})
            for n, h in np.ndindex(means["first"].shape)
        ),
    )


def attention_places(
    story: crane.AnnotatedStory, ids: Sequence[int], starts: Sequence[int]
) -> Iterator[tuple[str, int, list[int]]]:
    """Every place of a story to measure at: the pattern, the query's position, the keys'.

    ids and starts are those of ``encode_words``. For the patterns see ``attention_statistics``.
    """
    for query in range(1, len(ids) - 1):  # the closing <|endoftext|> predicts nothing
        yield "first", query, [0]
        yield "previous", query, [query - 1]
    for test in story.tests:
        query = starts[test.start] - 1
        cues = [list(range(starts[start], starts[stop])) for start, stop in test.cues]
        if not cues:
            continue
        yield f"to {test.phenomenon}", query, sorted({at for cue in cues for at in cue})
        if test.phenomenon in ("name", "object"):
            said = [story.words[start:stop] for start, stop in test.cues]
            same = [cue for cue, words in zip(cues, said, strict=True) if words == test.right]
            if same:
                yield "copy", query, [at for cue in same for at in cue]
            if followed := [at for cue in same for at in cue[:1] if ids[at - 1] == ids[query]]:
                yield "induction", query, followed
        if test.phenomenon == "sense":
            word = test.sense.partition("-")[0]
            named = [i for i in range(test.start) if story.words[i] == word]
            own = starts[named[-1] + 1] - 1 if named else -1  # its last token
            if before := sorted({at for cue in cues for at in cue if at < own}):
                yield "homograph", own, before
