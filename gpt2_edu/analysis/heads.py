"""Inside a model of Crane World: what each head is needed for, where it looks, where senses part.

Three instruments. ``head_effects`` takes heads out one at a time and asks again what evals.py
asks. ``attention_statistics`` measures where each head looks from the places that matter.
``parting`` follows two texts through the layers and shows where their vectors go apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import tiktoken
import torch
from torch import Tensor
from torch.nn import functional as F

from .. import crane
from ..model import GPT2
from ..tape import trace
from .evals import (
    Choice,
    Grades,
    LogProbs,
    at_rest,
    choices,
    count_choices,
    device_of,
    padded,
    spelled,
)

# ---- Taking a head out -------------------------------------------------------------------------


@dataclass(frozen=True)
class HeadEffect:
    """What is lost without one head."""

    layer: int
    head: int
    drops: dict[str, float]  # for each phenomenon, in percentage points: intact minus without
    sense_drops: dict[str, float]  # "sense" alone, for each homograph, in percentage points
    margin_drops: dict[str, float]  # for each phenomenon, of the mean margin, in nats


@dataclass(frozen=True)
class HeadEffects:
    """The intact model's forced choices, and what each head's removal takes from them."""

    intact: Grades
    margins: dict[str, float]  # of the intact model: the mean margin of each phenomenon, in nats
    heads: tuple[HeadEffect, ...]  # layer by layer

    def __str__(self) -> str:
        names = list(self.intact.phenomena)
        widths = [max(len(name), 6) for name in names]
        shares = [100 * score.share for score in self.intact.phenomena.values()]
        rows = [("intact, %", shares)]
        rows += [(f"without {e.layer}.{e.head}", [-e.drops[n] for n in names]) for e in self.heads]
        lines = [" " * 14 + "  ".join(f"{n:>{w}}" for n, w in zip(names, widths, strict=True))]
        for label, values in rows:
            cells = [f"{value:z{w}.1f}" for value, w in zip(values, widths, strict=True)]
            lines.append(f"{label:14}" + "  ".join(cells))
        return "\n".join(lines)


def head_effects(
    model: GPT2,
    tokenizer: tiktoken.Encoding,
    seeds: Iterable[int],
    *,
    instead: Literal["zero", "mean"] = "zero",
    held_out: str | None = None,
    batch_size: int = 16,
) -> HeadEffects:
    """Forced choices on the stories of these seeds with one head removed at a time.

    A removed head gives every token the same vector: zeros, or with ``instead="mean"`` its own
    mean over all tokens of these stories, which is closer to what the later layers are used to.
    No drop does not mean that a head does nothing: another may stand in for it. Takes
    N · H + 1 times as long as ``forced_choice``, whose errors it shares. Raises ValueError for
    another ``instead``. Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?".
    """
    if instead not in ("zero", "mean"):
        raise ValueError(f'instead must be "zero" or "mean", got {instead!r}')
    seeds = list(seeds)

    def ask(guesser: LogProbs) -> list[Choice]:
        return choices(guesser, tokenizer, seeds, held_out=held_out, batch_size=batch_size)

    intact = ask(_traced(model, {}))
    grades, margins = count_choices(intact), _mean_margins(intact)
    config = model.config
    vectors = torch.zeros(config.n_layer, config.n_head, config.head_size)
    if instead == "mean":
        stories = [crane.tell(seed, held_out=held_out).words for seed in seeds]
        rows = [spelled(tokenizer, words)[0] for words in stories]
        vectors = mean_heads(model, rows, batch_size=batch_size)
    effects = []
    for layer in range(config.n_layer):
        for head in range(config.n_head):
            left = ask(without_head(model, layer, head, vectors[layer, head]))
            now, now_margins = count_choices(left), _mean_margins(left)
            effects.append(
                HeadEffect(
                    layer,
                    head,
                    drops={
                        name: 100 * (score.share - now.phenomena[name].share)
                        for name, score in grades.phenomena.items()
                    },
                    sense_drops={
                        word: 100 * (score.share - now.senses[word].share)
                        for word, score in grades.senses.items()
                    },
                    margin_drops={name: margins[name] - now_margins[name] for name in margins},
                )
            )
    return HeadEffects(grades, margins, tuple(effects))


def told_by_hint(word: str, seed: int) -> bool:
    """Whether a hint alone tells the sense of ``word`` in this seed's story, and tells it once.

    "Ada saw nothing but feathers and reeds, until the crane …": no place has been named before,
    and the crane does one thing only, so that nothing else helps to choose it.
    """
    told = crane.tell(seed)
    senses = [test.sense for test in told.tests if test.phenomenon == "sense"]
    return " nothing but " in told.text and len(senses) == 1 and senses[0].startswith(f"{word}-")


def without_head(model: GPT2, layer: int, head: int, vector: Tensor | None = None) -> LogProbs:
    """What a model predicts when one head's result is ``vector`` (D,) at every token, or zeros.

    Raises ValueError for a layer or a head that the model does not have.
    """
    N, H = model.config.n_layer, model.config.n_head
    if not (0 <= layer < N and 0 <= head < H):
        raise ValueError(
            f"this model has layers 0 … {N - 1} with heads 0 … {H - 1}, got {layer}.{head}"
        )

    def edit(heads: Tensor) -> Tensor:  # (B, H, T, D)
        heads = heads.clone()
        heads[:, head] = 0 if vector is None else vector.to(heads)
        return heads

    return _traced(model, {f"transformer.h.{layer}.attn.heads": edit})


def mean_heads(model: GPT2, rows: Sequence[Sequence[int]], *, batch_size: int = 16) -> Tensor:
    """The mean result of each head over all tokens of these texts: (N, H, D)."""
    config = model.config
    total = torch.zeros(config.n_layer, config.n_head, config.head_size, dtype=torch.float64)
    for batch, _, tables in _passes(model, rows, "heads", batch_size):  # (B, N, H, T, D)
        for b, row in enumerate(batch):
            total += tables[b, :, :, : len(row)].sum(dim=-2)
    return (total / sum(map(len, rows))).float()


def _traced(model: GPT2, edits: dict[str, Callable[[Tensor], Tensor]]) -> LogProbs:
    def log_probs(ids: Tensor) -> Tensor:
        with at_rest(model), trace(model, edits=edits):
            return model(ids.to(device_of(model)))[0].float().log_softmax(dim=-1)

    return log_probs


def _mean_margins(found: Sequence[Choice]) -> dict[str, float]:
    margins = defaultdict(list)
    for choice in found:
        margins[choice.phenomenon].append(choice.margin)
    return {name: sum(margins[name]) / len(margins[name]) for name in sorted(margins)}


def _passes(
    model: GPT2, rows: Sequence[Sequence[int]], name: str, batch_size: int
) -> Iterator[tuple[Sequence[Sequence[int]], int, Tensor]]:
    """Each batch of rows, the number of its first row, and one tensor of attention.

    That is ``attn.{name}`` of all layers side by side, (B, N, H, T, …) on the CPU.
    """
    for i in range(0, len(rows), batch_size):
        batch = rows[i : i + batch_size]
        with at_rest(model), trace(model) as t:
            model(padded(batch).to(device_of(model)))
        paths = [f"transformer.h.{n}.attn.{name}" for n in range(model.config.n_layer)]
        yield batch, i, torch.stack([t[path] for path in paths], dim=1).float().cpu()


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
    even: dict[str, float]  # what a head would have that looks at every token alike
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
    model: GPT2,
    tokenizer: tiktoken.Encoding,
    seeds: Iterable[int],
    *,
    held_out: str | None = None,
    batch_size: int = 16,
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
    its places. Raises ValueError for no seeds, and what ``crane.tell`` and the model raise.
    Source of the last but one: Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    told = [crane.tell(seed, held_out=held_out) for seed in seeds]
    if not told:
        raise ValueError("there is nothing to look at: give at least one seed")
    texts = [spelled(tokenizer, story.words) for story in told]
    N, H = model.config.n_layer, model.config.n_head
    sums: defaultdict[str, Tensor] = defaultdict(lambda: torch.zeros(N, H, dtype=torch.float64))
    even: defaultdict[str, float] = defaultdict(float)
    counts: defaultdict[str, int] = defaultdict(int)
    for batch, i, tables in _passes(model, [ids for ids, _ in texts], "weights", batch_size):
        for b in range(len(batch)):
            ids, starts = texts[i + b]
            for pattern, query, keys in looks(told[i + b], ids, starts):
                sums[pattern] += tables[b, :, :, query, keys].sum(dim=-1)  # (N, H)
                even[pattern] += len(keys) / (query + 1)
                counts[pattern] += 1
    patterns = sorted(counts)
    return AttentionStatistics(
        {pattern: counts[pattern] for pattern in patterns},
        {pattern: even[pattern] / counts[pattern] for pattern in patterns},
        tuple(
            HeadAttention(n, h, {p: float(sums[p][n, h]) / counts[p] for p in patterns})
            for n in range(N)
            for h in range(H)
        ),
    )


def looks(
    told: crane.Told, ids: Sequence[int], starts: Sequence[int]
) -> Iterator[tuple[str, int, list[int]]]:
    """Every place of a story to measure at: the pattern, the query's position, the keys'.

    ids and starts are those of ``spelled``. For the patterns see ``attention_statistics``.
    """
    for query in range(1, len(ids) - 1):  # the closing <|endoftext|> predicts nothing
        yield "first", query, [0]
        yield "previous", query, [query - 1]
    for test in told.tests:
        query = starts[test.start] - 1
        cues = [list(range(starts[start], starts[stop])) for start, stop in test.cues]
        if not cues:
            continue
        yield f"to {test.phenomenon}", query, sorted({at for cue in cues for at in cue})
        if test.phenomenon in ("name", "object"):
            same = [
                cue
                for cue, (start, stop) in zip(cues, test.cues, strict=True)
                if told.words[start:stop] == test.right
            ]
            if same:
                yield "copy", query, [at for cue in same for at in cue]
            if followed := [at for cue in same for at in cue[:1] if ids[at - 1] == ids[query]]:
                yield "induction", query, followed
        if test.phenomenon == "sense":
            word = test.sense.partition("-")[0]
            named = [i for i in range(test.start) if told.words[i] == word]
            own = starts[named[-1] + 1] - 1 if named else -1  # its last token
            if before := sorted({at for cue in cues for at in cue if at < own}):
                yield "homograph", own, before


# ---- Where two texts part ----------------------------------------------------------------------


@dataclass(frozen=True)
class Parting:
    """Two texts side by side: how far apart their vectors are at each stage and position."""

    tokens: tuple[tuple[str, str], ...]  # at each of the T positions, left and right
    stages: tuple[str, ...]  # "embd", "h.0.resid_mid", "h.0.resid_post" …
    cosine: tuple[tuple[float, ...], ...]  # stages × T: 1 - cos, from 0 (same direction) to 2
    relative: tuple[tuple[float, ...], ...]  # stages × T: distance over the two's mean length
    # stages × T, in nats: how much likelier the left text makes the first follower than the
    # second, beyond how much the right text does, read at that stage. None without followers.
    lens: tuple[tuple[float, ...], ...] | None


def parting(
    model: GPT2,
    tokenizer: tiktoken.Encoding,
    left: str,
    right: str,
    followers: tuple[str, str] | None = None,
) -> Parting:
    """Follow two texts of equally many tokens, each after an <|endoftext|>, through the layers.

    ``followers`` are two words that could come next, such as (" ate", " lifted"), the first one
    fitting the left text: their logits are read from every stage as if it were the last, through
    the final LayerNorm and the head (nostalgebraist 2020, "interpreting GPT: the logit lens").
    A follower of several tokens stands for its first. Raises ValueError for texts of different
    lengths, and for followers that begin with the same token or are empty.
    """
    ids = [[tokenizer.eot_token, *tokenizer.encode_ordinary(text)] for text in (left, right)]
    pieces = [[tokenizer.decode([i]) for i in row] for row in ids]
    if len(ids[0]) != len(ids[1]):
        raise ValueError(
            f"the two texts must have the same number of tokens, but {left!r} has "
            f"{len(ids[0]) - 1} ({' | '.join(pieces[0][1:])}) and {right!r} has "
            f"{len(ids[1]) - 1} ({' | '.join(pieces[1][1:])})"
        )
    if followers is not None:
        first, second = (tokenizer.encode_ordinary(word)[:1] for word in followers)
        if not first or first == second:
            raise ValueError(
                f"the two followers must begin with different tokens, got {followers!r}"
            )
    with at_rest(model), trace(model) as t:
        model(torch.tensor(ids, device=device_of(model)))
        stages = [name for name in t.names if name.endswith(("embd", "resid_mid", "resid_post"))]
        stream = torch.stack([t[name] for name in stages])  # (stages, 2, T, C)
        read = model.lm_head(model.transformer["ln_f"](stream)).float().cpu()
    a, b = stream.double().cpu().unbind(dim=1)  # (stages, T, C) each
    cosine = (1 - F.cosine_similarity(a, b, dim=-1)).clamp(min=0)  # rounding may pass it
    relative = (a - b).norm(dim=-1) / ((a.norm(dim=-1) + b.norm(dim=-1)) / 2)
    lens = None
    if followers is not None:
        preferred = (read[..., first] - read[..., second])[..., 0]  # (stages, 2, T)
        lens = _plain(preferred[:, 0] - preferred[:, 1])
    return Parting(
        tuple(zip(*pieces, strict=True)),
        tuple(name.removeprefix("transformer.") for name in stages),
        _plain(cosine),
        _plain(relative),
        lens,
    )


def _plain(table: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in table.tolist())
