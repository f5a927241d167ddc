"""The most likely next tokens as bars, optionally beside earlier probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import tiktoken
from torch import Tensor

from ..machine.display import Exhibit, figure
from .matrix import number
from .tokens import token_label


class Bars(Exhibit):
    """The largest probabilities as labelled bars, optionally with earlier values.

    ``now`` and ``before`` map names to probabilities; a name missing in ``before`` counts as 0.
    ``rows`` is the number of bars.
    """

    def __init__(
        self,
        now: Mapping[str, float],
        *,
        before: Mapping[str, float] | None = None,
        caption: str = "",
        rows: int = 6,
    ) -> None:
        self.before, self.caption = before, caption
        self.now = dict(sorted(now.items(), key=lambda item: -item[1])[:rows])

    @classmethod
    def of(cls, probabilities: Tensor, encoding: tiktoken.Encoding, **settings: Any) -> Bars:
        """Bars of the probabilities (V,) of the next token."""
        names = {
            i: token_label(encoding.decode_single_token_bytes(i))
            for i in probabilities.topk(min(64, len(probabilities))).indices.tolist()
        }
        return cls({name: float(probabilities[i]) for i, name in names.items()}, **settings)

    @classmethod
    def example(cls) -> Bars:
        return cls({"ate": 0.53, "stood": 0.12}, before={"ate": 0.5}, caption="What comes next.")

    def __repr__(self) -> str:
        return "Bars(" + ", ".join(f"{name} {p:.2f}" for name, p in self.now.items()) + ")"

    def html(self) -> str:
        head = '<tr><td></td><th scope="col">probability</th>'
        if self.before is not None:
            head += '<th scope="col">before</th>'
        rows = "".join(self._row(name, p) for name, p in self.now.items())
        table = f"<table><thead>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return figure("weights g2-bars", self.caption, table)

    def _row(self, name: str, p: float) -> str:
        cells = f'<td><span style="--share:{p:.3f}">{number(p, 3)}</span></td>'
        if self.before is not None:
            cells += f"<td>{number(self.before.get(name, 0.0), 3)}</td>"
        return f'<tr><th scope="row"><code>{escape(name)}</code></th>{cells}</tr>'
