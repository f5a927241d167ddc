"""A matrix as a table whose cells are coloured by magnitude."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ..machine.display import Exhibit, figure
from .plot import heat
from .setup import COLOURS


def number(value: float, decimals: int) -> str:
    """A rounded number as text, with a typographic minus sign and no negative zero."""
    if value == float("-inf"):
        return "−∞"
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


class Matrix(Exhibit):
    """A vector or matrix as a table with labelled rows and columns.

    values: (columns,) or (rows, columns), numbers. ``role`` sets the colour: "q", "k", "v",
    "weights" or "plain". ``rows`` and ``columns`` are labels; ``corner`` describes them
    ("query ↓ key →"). The heat is |value| / ``scale``, by default the largest |value|. Negative
    numbers are hatched, so that they do not depend on colour. ``causal`` hides the cells above the
    diagonal.
    """

    def __init__(
        self,
        values: Tensor | Sequence[Any],
        *,
        rows: Sequence[object] | None = None,
        columns: Sequence[object] | None = None,
        caption: str = "",
        corner: str = "",
        role: str = "plain",
        decimals: int = 2,
        scale: float | None = None,
        causal: bool = False,
    ) -> None:
        table = torch.as_tensor(values).detach().cpu().double()
        table = table.unsqueeze(0) if table.ndim == 1 else table
        if table.ndim != 2:
            raise ValueError(f"a Matrix shows 1 or 2 axes, got shape {tuple(table.shape)}")
        if role not in COLOURS:
            raise ValueError(f"unknown role {role!r}. Known: {', '.join(COLOURS)}")
        for name, labels, size in (("rows", rows, len(table)), ("columns", columns, table.size(1))):
            if labels is not None and len(labels) != size:
                raise ValueError(f"{len(labels)} labels for {size} {name}")
        self.values, self.caption, self.corner, self.causal = table, caption, corner, causal
        self.rows, self.columns, self.role, self.decimals = rows, columns, role, decimals
        finite = table[table.isfinite()].abs()
        self.scale = scale or (float(finite.max()) if finite.numel() else 1.0)

    def __repr__(self) -> str:
        return f"Matrix({self.values.size(0)} × {self.values.size(1)})"

    def html(self) -> str:
        return figure(self.role, self.caption, self.table_html())

    def table_html(self) -> str:
        """The ``<table>`` without a figure."""
        head = ""
        if self.columns is not None:
            tag = 'th scope="col"' if self.corner else "td"  # an empty heading is not a <th>
            corner = f'<{tag} class="corner">{escape(self.corner)}</{tag[:2]}>' if self.rows else ""
            labels = "".join(f'<th scope="col">{escape(str(c))}</th>' for c in self.columns)
            head = f"<thead><tr>{corner}{labels}</tr></thead>"
        body = ""
        for i, row in enumerate(self.values.tolist()):
            label = f'<th scope="row">{escape(str(self.rows[i]))}</th>' if self.rows else ""
            hidden = [self.causal and j > i for j in range(len(row))]
            cells = map(self._cell, row, hidden)
            body += f"<tr>{label}{''.join(cells)}</tr>"
        return f'<div class="g2-scroll"><table>{head}<tbody>{body}</tbody></table></div>'

    def _cell(self, value: float, hidden: bool) -> str:
        """A ``<td>`` with the number as text and |value| / scale as its heat."""
        text = number(value, self.decimals)
        if hidden or value == float("-inf"):
            return f'<td class="off">{"0" if value == 0 else text}</td>'
        heat = min(abs(value) / self.scale, 1.0) if self.scale > 0 else 0.0
        sign = ' class="neg"' if text.startswith("−") else ""
        return f'<td{sign} style="--heat:{heat:.2f}">{text}</td>'

    def plot(self, ax: Any = None) -> Figure:
        """The table as a matplotlib figure, drawn on ``ax`` if given."""
        height, width = self.values.shape
        if ax is None:
            _, ax = plt.subplots(figsize=(1.2 + 0.7 * width, 0.8 + 0.5 * height))
        visible = self.values.abs().nan_to_num(posinf=0.0)  # masked cells (−∞) have no heat
        shade = visible.clamp(max=self.scale) / self.scale
        # At most 60 % of the colour, so that the numbers can be read on it.
        ax.imshow(shade.numpy(), cmap=heat(self.role), vmin=0, vmax=1 / 0.6, aspect="auto")
        for i, row in enumerate(self.values.tolist()):
            for j, value in enumerate(row):
                if not (self.causal and j > i):
                    ax.text(j, i, number(value, self.decimals), ha="center", va="center")
        ax.set_xticks(range(width), self.columns or [""] * width)
        ax.set_yticks(range(height), self.rows or [""] * height)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_title(self.caption, parse_math=False)
        return ax.figure
