"""Attention heat maps: row = query, who looks; column = key, who is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from html import escape
from itertools import groupby

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ..machine.display import Exhibit, figure
from .matrix import Matrix
from .setup import COLOURS

SHADES = 10  # of a small picture


class Attention(Exhibit):
    """Heat maps of attention weights, one for each head.

    weights: (T, T) for one head or (H, T, T) for H heads, rows summing to 1. tokens: T labels.
    Where every weight above the diagonal is 0, the map is causal and those cells are hatched.
    Of several heads there are small pictures without numbers; each opens to its table, and that
    of the head at ``enlarge`` is open.
    """

    def __init__(
        self,
        weights: Tensor,
        tokens: Sequence[str],
        *,
        caption: str = "",
        titles: Sequence[str] | None = None,
        decimals: int = 2,
        enlarge: int = 0,
    ) -> None:
        weights = torch.as_tensor(weights).detach().cpu()
        maps = weights.unsqueeze(0) if weights.ndim == 2 else weights
        T = len(tokens)
        if maps.ndim != 3 or maps.shape[1:] != (T, T):
            raise ValueError(
                f"attention over {T} tokens needs weights of shape ({T}, {T}) or (H, {T}, {T}), "
                f"got {tuple(weights.shape)}. For a batch, choose one sequence: weights[0]"
            )
        sums = maps.double().sum(dim=-1)
        if not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
            raise ValueError(
                "each row of attention weights sums to 1, but here a row sums to "
                f"{float(sums.flatten()[(sums - 1).abs().argmax()]):.4f}. Are these scores, "
                "or was the softmax taken along another axis?"
            )
        titles = titles or ([f"head {h}" for h in range(len(maps))] if len(maps) > 1 else [""])
        if not 0 <= enlarge < len(maps):
            raise ValueError(f"enlarge={enlarge} names none of {len(maps)} heads, counted from 0")
        self.caption, self.enlarge = caption, enlarge
        self.heads = [
            Matrix(
                head,
                rows=list(tokens),
                columns=list(tokens),
                caption=title,
                corner="query ↓ key →",
                role="weights",
                decimals=decimals,
                scale=1.0,  # so that maps can be compared by eye
                causal=T > 1 and bool((head.triu(diagonal=1) == 0).all()),
            )
            for head, title in zip(maps, titles, strict=True)
        ]

    def __repr__(self) -> str:
        heads = "1 head" if len(self.heads) == 1 else f"{len(self.heads)} heads"
        return f"Attention({heads}, {len(self.heads[0].values)} tokens)"

    def html(self) -> str:
        legend = "Row = query, the token that looks. Column = key, the token that is looked at."
        if len(self.heads) == 1:
            return figure("weights", self.caption, self.heads[0].table_html(), legend)
        tables = [head.table_html() for head in self.heads]
        group = sha256("".join(tables).encode()).hexdigest()[:8]  # one of it is open at a time
        maps = "".join(
            f'<details class="g2-head" name="g2-{group}"{" open" if i == self.enlarge else ""}>'
            f"<summary><span>{escape(head.caption)}</span>{_small(head)}</summary>{table}</details>"
            for i, (head, table) in enumerate(zip(self.heads, tables, strict=True))
        )
        return figure("weights", self.caption, f'<div class="g2-heads">{maps}</div>', legend)

    def plot(self) -> Figure:
        """The same maps as one matplotlib figure."""
        columns = min(len(self.heads), 4)
        rows = -(-len(self.heads) // columns)
        size = 1.0 + 0.55 * len(self.heads[0].values)
        picture, axes = plt.subplots(
            rows,
            columns,
            squeeze=False,
            layout="constrained",
            figsize=(columns * size, rows * size),
        )
        for ax in axes.flat[len(self.heads) :]:
            ax.axis("off")
        for ax, head in zip(axes.flat, self.heads, strict=False):
            head.plot(ax)
            ax.set(xlabel="key", ylabel="query")
        picture.suptitle(self.caption, parse_math=False)
        return picture


def _small(head: Matrix) -> str:
    """A head's map as a picture without numbers, one unit a cell: strokes one unit wide."""
    T = len(head.values)
    strokes = [""] * (SHADES + 1)
    for i, row in enumerate(head.values.tolist()):
        j = 0
        for shade, cells in groupby(round(SHADES * min(weight, 1.0)) for weight in row):
            length = len(list(cells))
            strokes[shade] += f"M{j} {i}h{length}"
            j += length
    paths = "".join(
        f'<path d="{stroke}" opacity="{shade / SHADES:g}"/>'
        for shade, stroke in enumerate(strokes)
        if shade and stroke
    )
    return (
        f'<svg viewBox="0 -.5 {T} {T}" width="72" height="72" role="img" '
        f'aria-label="{escape(_most(head))}" stroke="{COLOURS["weights"]}">{paths}</svg>'
    )


def _most(head: Matrix) -> str:
    """Where a head looks most, the first row aside, which in a causal map has no choice."""
    assert head.rows and head.columns
    first = min(1, len(head.values) - 1)
    below = head.values[first:]
    i, j = divmod(int(below.argmax()), below.size(1))
    return f"{head.rows[first + i]} looks at {head.columns[j]} with {float(below[i, j]):.2f}."
