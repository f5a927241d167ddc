"""The most likely next tokens as bars, optionally beside earlier probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from torch import Tensor

from ..machine.display import Exhibit, figure
from ..tokenizer import Encoding
from .matrix import number
from .tokens import token_label


class Bars(Exhibit):
    """Probabilities as labelled bars, optionally with earlier values beside them.

    ``now`` and ``before`` map names to probabilities.
    """

    def __init__(
        self,
        now: Mapping[str, float],
        *,
        before: Mapping[str, float] | None = None,
        caption: str = "",
    ) -> None:
        self.now, self.before, self.caption = now, before, caption

    @classmethod
    def of(
        cls,
        probabilities: Tensor,
        encoding: Encoding,
        *,
        before: Tensor | None = None,
        caption: str = "",
        rows: int = 6,
    ) -> Bars:
        """The likeliest next tokens by ``probabilities`` (V,), beside those ``before`` (V,)."""
        ids = probabilities.topk(rows).indices.tolist()
        names = [token_label(encoding.decode_single_token_bytes(i)) for i in ids]
        now = dict(zip(names, probabilities[ids].tolist(), strict=True))
        earlier = before if before is None else dict(zip(names, before[ids].tolist(), strict=True))
        return cls(now, before=earlier, caption=caption)

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
            cells += f"<td>{number(self.before[name], 3)}</td>"
        return f'<tr><th scope="row"><code>{escape(name)}</code></th>{cells}</tr>'
