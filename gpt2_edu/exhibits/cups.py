"""The shell game: what a model answers at once, and with the place after each swap written down."""

from __future__ import annotations

from html import escape
from typing import Any

import torch

from ..generation import generate
from ..language_model import LanguageModel
from ..machine.display import Exhibit, figure
from ..sampling import next_probabilities
from ..thought import cups
from .matrix import number

WAYS = {"now": cups.NOW, "steps": cups.STEPS}
NAMES = {"now": "at once", "steps": "with its steps"}


class Shuffled(Exhibit):
    """A game of cups with both answers of a model, and what each cup had at each token of them.

    ``settings`` goes to the exhibit of the page, where the reader swaps the cups.
    """

    def __init__(self, model: LanguageModel, game: cups.Game, *, caption: str = "") -> None:
        self.game, self.caption = game, caption
        self.found = {way: _played(model, game, ask) for way, ask in WAYS.items()}

    @property
    def settings(self) -> dict[str, Any]:
        """For ``Live("cups", shuffled, first=…, **shuffled.settings)``."""
        start, *swaps = self.game.text.split()
        return {
            "words": list(cups.WORDS),
            "longest": cups.MOST,
            "game": {"start": start, "swaps": swaps},
            "found": self.found,
        }

    def __repr__(self) -> str:
        said = ", ".join(f"{NAMES[way]} {one['said']}" for way, one in self.found.items())
        return f"Shuffled({self.game.text!r}: {self.game.answer}; {said})"

    def html(self) -> str:
        _, *swaps = self.game.text.split()
        head = "".join(f'<th scope="col">{name}</th>' for name in ("", *cups.CUPS, "it says"))
        head = head.replace('<th scope="col"></th>', "<td></td>")
        now, steps = (self.found[way]["steps"] for way in WAYS)
        rows = [_row(NAMES["now"], one, self.game.answer) for one in now]
        labels = [*swaps, *["+"] * len(steps)]
        truth = [*self.game.steps.split(), *[""] * len(steps)]
        rows += map(_row, labels, steps, truth)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        spent = "; ".join(
            f"{NAMES[way]}: {one['tokens']} tokens" for way, one in self.found.items()
        )
        text = f"<p>The ball begins under {escape(self.game.text[0])}. {spent}.</p>"
        legend = "Probability of each cup; the ball is under the framed one."
        body = f'{text}<div class="g2-scroll">{table}</div>'
        return figure("weights g2-shuffled", self.caption, body, legend)


def _row(label: str, step: dict[str, Any], truth: str) -> str:
    cells = "".join(
        f'<td class="truth" style="--heat:{p:.2f}">{number(p, 2)}</td>'
        if cup == truth
        else f'<td style="--heat:{p:.2f}">{number(p, 2)}</td>'
        for cup, p in zip(cups.CUPS, step["p"], strict=True)
    )
    mark = "✓" if step["word"] == truth else "✗"
    said = f"<td>{escape(step['word'])} {mark}</td>"
    return f'<tr><th scope="row">{escape(label)}</th>{cells}{said}</tr>'


@torch.no_grad()
def _played(model: LanguageModel, game: cups.Game, ask: str) -> dict[str, Any]:
    """What web/exhibits/shells.mjs computes, under the same names."""
    ids = cups.prompt(game, ask)
    end = cups.IDS[cups.END]
    most = len(game.steps.split()) + 2
    text = generate(model, torch.tensor([ids]), most, temperature=0, eos_id=end)
    logits, _ = model(text)
    rows = next_probabilities(logits[0, len(ids) - 1 :])
    written = text[0, len(ids) :].tolist()
    places = [cups.IDS[cup] for cup in cups.CUPS]
    steps = [
        {"word": cups.WORDS[i], "p": [round(p, 3) for p in row[places].tolist()]}
        for i, row in zip(written, rows, strict=False)
        if i != end
    ]
    said = steps[-1]["word"] if steps else ""
    return {"steps": steps, "said": said, "tokens": len(written)}
