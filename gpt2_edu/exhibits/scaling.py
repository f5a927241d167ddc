"""Runs on the surface of their losses: which runs decide where its floor is."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.ticker import NullLocator

from ..analysis import scaling
from ..analysis.scaling import Fit, Run, cells, fit, load_runs, subsets
from .live import Live
from .plot import Plot
from .setup import COLOURS

FIRST = "Take the shortest runs away. Where does E go?"
CAPTION = (
    "Runs on Crane World, and the fitted curve of each size, with its parameters. Dashed: the "
    "true floor; dotted: that of the fit"
)
POINTS = 50  # of a curve
APART = 1.1  # the least ratio of two losses whose names do not touch
TICKS = (0.3, 0.5, 1, 2, 4)  # of the losses


class Scaling(Live):
    """The exhibit ``<gpt2-scaling>``: runs, the surface fitted to them, its floor and the true one.

    In the page a reader takes runs away, and the rest is fitted anew. Without JavaScript it shows
    the losses against the tokens. By default the runs are the grid that ``make scaling`` stored.
    """

    def __init__(
        self, first: str = FIRST, runs: Sequence[Run] | None = None, floor: float | None = None
    ) -> None:
        runs = load_runs() if runs is None else runs
        floor = scaling.FLOOR if floor is None else floor
        found = fit(runs)
        every = [_name(n, d) for n, d in sorted(cells(runs))]
        away = {
            name: [one for one in every if one not in {_name(run.n, run.d) for run in some}]
            for name, some in subsets(runs).items()
        }
        super().__init__(
            "scaling",
            drawn(runs, found, floor),
            first=first,
            runs=[[run.n, run.d, run.loss] for run in runs],
            floor=floor,
            sets=list(away.items()),
        )


def drawn(runs: Sequence[Run], found: Fit, floor: float) -> Plot:
    """Losses against tokens, with the fitted curve of each size."""
    fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    shortest, longest = min(run.d for run in runs), max(run.d for run in runs)
    lengths = [shortest * (longest / shortest) ** (i / POINTS) for i in range(POINTS + 1)]
    sizes = sorted({run.n for run in runs})
    beside = 0.0
    for n in reversed(sizes):  # from the lowest curve up
        ax.plot(lengths, [found.loss(n, d) for d in lengths], color=COLOURS["q"], lw=1)
        beside = max(found.loss(n, longest), APART * beside)
        ax.text(longest * 1.12, beside, f"{n:,}", va="center", fontsize="small")
    ax.plot([run.d for run in runs], [run.loss for run in runs], "o", color="black", ms=4)
    ends = [shortest, longest]  # the names stand beyond
    ax.plot(ends, [floor, floor], color="black", ls="--", lw=1)
    ax.text(shortest, floor, f"true floor {floor:.3f}", va="bottom", fontsize="small")
    ax.plot(ends, [found.E, found.E], color=COLOURS["q"], ls=":")
    ax.set(xscale="log", yscale="log", xlabel="million tokens seen", ylabel="loss (nats a token)")
    ax.set_xlim(right=2 * longest)
    ax.set_ylim(bottom=0.6 * floor)
    for axis, ticks, unit in (
        (ax.xaxis, sorted({run.d for run in runs}), 1e6),
        (ax.yaxis, [tick for tick in TICKS if tick <= max(run.loss for run in runs)], 1),
    ):
        axis.set_ticks(ticks, [f"{tick / unit:.3g}" for tick in ticks])
        axis.set_minor_locator(NullLocator())
    alt = (
        f"The losses of {len(runs)} runs of {len(sizes)} sizes against the tokens seen, with the "
        f"curves of the fit. Its floor E is {found.E:.3f}, the true floor {floor:.3f}."
    )
    return Plot(fig, f"{CAPTION}, E = {found.E:.3f}.", alt=alt)


def _name(n: int, d: int) -> str:
    """Of the runs of a size and length, as the page names them."""
    return f"{n}x{d}"
