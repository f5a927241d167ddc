"""What the units of the MLPs answer to: where they fire, and how far the token decides it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..language_model import LanguageModel, eval_mode
from ..tape import trace
from .scoring import pad_right

FAVOURITES = 5  # tokens
LOUDEST = 1000  # places among which the strongest are looked for


@dataclass(frozen=True)
class Answers:
    """The answers of all units at every token of some rows of ids, one after another."""

    act: tuple[Tensor, ...]  # for each block (n, F), float16: mlp.act
    token: Tensor  # (n,): the id that a unit answers at
    row: Tensor  # (n,)
    at: Tensor  # (n,): its index in the row


@torch.no_grad()
def unit_answers(
    model: LanguageModel, rows: Sequence[Sequence[int]], batch_size: int = 32
) -> Answers:
    """Run the model over rows of ids, and keep what every unit answers.

    In a Llama that is the gate times the other projection, so an open gate may answer below 0.
    """
    blocks: list[list[Tensor]] = [[] for _ in model.transformer.h]
    places = []
    for first in range(0, len(rows), batch_size):
        batch = rows[first : first + batch_size]
        ids = pad_right(batch)
        real = torch.arange(ids.size(1)) < torch.tensor([[len(row)] for row in batch])  # (B, T)
        with eval_mode(model), trace(model) as t:
            model(ids.to(model.device))
        for n, kept in enumerate(blocks):
            kept.append(t[f"transformer.h.{n}.mlp.act"].cpu()[real].half())
        b, at = real.nonzero(as_tuple=True)
        places.append(torch.stack([ids[real], first + b, at]))
    token, row, at = torch.cat(places, dim=1)
    return Answers(tuple(torch.cat(kept) for kept in blocks), token, row, at)


def share_on_favourites(answers: Answers, *, shuffled: bool = False) -> Tensor:
    """How far a token decides each unit: (N, F), the share of its firings on its favourites.

    A unit fires where its answer is above 0. Its favourites are the five tokens at which it fires
    most often in every other row; the share is counted in the rows between, so that chance cannot
    choose them. ``shuffled`` moves all firings to random places, which shows what chance gives. A
    unit that never fires has NaN.
    """
    chosen = answers.row % 2 == 0
    V = int(answers.token.max()) + 1
    shares = []
    for act in answers.act:
        on = act > 0  # (n, F)
        if shuffled:
            on = on[torch.randperm(len(on), generator=torch.Generator().manual_seed(0))]
        choose, count = (
            torch.zeros(V, on.size(1)).index_add_(0, answers.token[half], on[half].float())
            for half in (chosen, ~chosen)
        )
        favourites = choose.topk(FAVOURITES, dim=0).indices
        shares.append(count.gather(0, favourites).sum(dim=0) / count.sum(dim=0))
    return torch.stack(shares)


def strongest(
    answers: Answers, rows: Sequence[Sequence[int]], block: int, unit: int, n: int = 5
) -> Iterator[tuple[float, int, int]]:
    """The n places at which a unit answers loudest: its answer, row and index of the token.

    No two have the same last three tokens, each has a next token, and at each it is above 0.
    """
    act = answers.act[block][:, unit].float()
    seen: set[tuple[int, ...]] = set()
    for i in act.topk(min(LOUDEST, len(act))).indices.tolist():
        row, at = int(answers.row[i]), int(answers.at[i])
        last = tuple(rows[row][max(0, at - 2) : at + 1])
        if act[i] <= 0 or len(seen) == n:
            return
        if last not in seen and at < len(rows[row]) - 1:
            seen.add(last)
            yield float(act[i]), row, at


def contexts(
    model: LanguageModel, rows: Sequence[Sequence[int]], n: int = 5, before: int = 8
) -> list[Any]:
    """For each block and unit its strongest places, as a page reads them.

    Each is the answer, rounded, and ids: up to ``before`` tokens, the one that it answers at, and
    the next. The <|endoftext|> before a story is there only if the unit answers at it.
    """
    answers = unit_answers(model, rows)
    return [
        [
            [
                [round(value, 1), list(rows[row][max(min(1, at), at - before) : at + 2])]
                for value, row, at in strongest(answers, rows, block, unit, n)
            ]
            for unit in range(act.size(1))
        ]
        for block, act in enumerate(answers.act)
    ]
