"""One loss for all ideas, as a staircase; below it what each model writes."""

from __future__ import annotations

from html import escape

import matplotlib.pyplot as plt

from ..analysis.staircase import Measured, Staircase, stored
from ..machine.display import Exhibit
from .plot import Plot
from .setup import COLOURS

LEAVES = "⟦"  # marks where a text leaves the language
SEEN = 0.5  # nats below its loss, from which on a model has seen in training what it should predict


class Stairs(Exhibit):
    """The losses of all steps as a plot, and a table with what each model writes.

    stairs: what was measured; by default what is stored with the package.
    """

    def __init__(self, stairs: Staircase | None = None) -> None:
        self.stairs = stairs or stored()

    def __repr__(self) -> str:
        steps = ", ".join(f"{one.step.name} {one.loss:.2f}" for one in self.stairs.steps)
        return f"Stairs({steps}, floor {self.stairs.floor:.2f})"

    def html(self) -> str:
        return self.plot().html() + self.table()

    def plot(self) -> Plot:
        """A row for each step, from top to bottom; the lower the loss, the further to the left."""
        steps, floor = self.stairs.steps, self.stairs.floor
        fig, ax = plt.subplots(figsize=(4.4, 4.8))
        edges = [y for i in range(len(steps)) for y in (i - 0.5, i + 0.5)]
        for seed in range(max(len(one.losses) for one in steps)):
            way = [one.losses[min(seed, len(one.losses) - 1)] for one in steps for _ in range(2)]
            ax.plot(way, edges, color=COLOURS["q"], lw=0.6)
        mean = [one.loss for one in steps for _ in range(2)]
        ax.plot(mean, edges, color=COLOURS["q"], lw=2)
        for i, one in enumerate(steps):
            ax.text(max(one.losses) + 0.12, i, f"{one.loss:.2f}", va="center")
            if saw_ahead(one):
                seen = sum(one.training) / len(one.training)
                ax.plot(seen, i, "o", color=COLOURS["k"], markerfacecolor="white")
                ax.text(seen + 0.15, i, "in training", va="center")
        ax.axvline(floor, color=COLOURS["plain"], ls=":")
        ax.text(floor + 0.1, len(steps) - 0.25, f"floor {floor:.2f}")
        ax.set_yticks(range(len(steps)), [one.step.name for one in steps])
        ax.set(xlim=(0, 7.9), ylim=(len(steps), -0.5), xlabel="loss on new stories (nats a token)")
        return Plot(fig, self.caption, alt=self.alt)

    @property
    def caption(self) -> str:
        recipe = self.stairs.recipe
        return (
            f"The same stories, {recipe.steps} steps and width {recipe.n_embd} for every model. "
            f"Thick: the mean of {recipe.seeds} starts; thin: each of them. Circle: the loss in "
            "training, where the model sees what it predicts."
        )

    @property
    def alt(self) -> str:
        steps = "; ".join(f"{one.step.name} {one.loss:.2f}" for one in self.stairs.steps)
        floor = f"The floor of the language is {self.stairs.floor:.2f}."
        return f"A staircase of losses, one step for each part of the model: {steps}. {floor}"

    def table(self) -> str:
        """How a story of each step's first model begins."""
        head = "".join(
            f'<th scope="col">{name}</th>' for name in ("step", "loss", "what it writes")
        )
        rows = "".join(map(_row, self.stairs.steps))
        caption = (
            f"How the first story of each model begins. {LEAVES} marks where it leaves the "
            "language."
        )
        return (
            f'<div class="g2 g2-stairs"><table><caption>{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def saw_ahead(one: Measured) -> bool:
    """Whether training showed a model what it was to predict."""
    return bool(one.training) and sum(one.training) / len(one.training) < one.loss - SEEN


def _row(one: Measured) -> str:
    right, wrong = one.excerpt()
    mark = f"<mark>{LEAVES}{escape(wrong)}</mark>" if wrong else ""
    return (
        f'<tr><th scope="row">{escape(one.step.name)}</th><td>{one.loss:.2f}</td>'
        f"<td>{escape(right)}{mark}<br><small>{escape(one.step.says)}</small></td></tr>"
    )
