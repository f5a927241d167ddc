"""Learning from rewards in the page: stored curves first, then the reader's own run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt

from ..analysis.reward_runs import stored
from .live import Live
from .plot import Plot
from .setup import COLOURS

TEXTS = 64  # of a step
MEASURED = 100  # texts at each point of a stored curve
FIRST = "Press learn. What rises, and what falls? Then go back, and reward every crane."
CAPTION = (
    "A novice learns from rewards: for right stories, reined in by β, or for every crane. Each "
    "point is measured on 100 stories."
)
Curve = Mapping[str, Any]
Key = tuple[str, float]  # what is rewarded, and the rein


class Rewarded(Live):
    """The exhibit ``<gpt2-reward>``: a novice learns from rewards for what it writes.

    Until a reader starts it, and without JavaScript, it shows the stored runs of ``make reward``.
    """

    def __init__(self, first: str = FIRST, found: Mapping[str, Any] | None = None) -> None:
        found = found or stored()
        runs, own = chosen(found), found["language"]["entropy"]
        curves = [
            {"choice": {"kind": kind, "word": "", "rein": rein}, "points": points(curve)}
            for (kind, rein), curve in runs.items()
        ]
        super().__init__("reward", drawn(runs, own), first=first, entropy=own, stored=curves)


def chosen(found: Mapping[str, Any]) -> dict[Key, Curve]:
    """The first seed's curves, in columns, of the runs that differ in nothing but the key."""
    ways = found["tuned"]["ways"]
    plain = {"reward", "rein", "steps", "every"}
    return {
        (settings.get("reward", "right"), settings.get("rein", 0.0)): run["curve"]
        for run in found["tuned"]["runs"]
        for settings in [ways.get(run["variant"])]
        if settings is not None and plain.issuperset(settings)
        if run["seed"] == 0 and "kl" in run["curve"]
        if settings.get("reward") != "shared"
    }


def points(curve: Curve) -> list[dict[str, Any]]:
    """A curve as the page reads it, point by point."""
    found = []
    for i, step in enumerate(curve["step"]):
        point = {"n": TEXTS * step, "texts": TEXTS * curve["step"][1]}
        point |= {name: curve[name][i] for name in ("entropy", "length", "nats")}
        point["right"] = curve["right"][i] / MEASURED
        point["plots"] = [count / MEASURED for count in curve["plots"][i]]
        if i:  # means since the point before
            point |= {"reward": curve["reward"][i - 1], "divergence": curve["kl"][i - 1]}
        found.append(point)
    return found


def drawn(runs: Mapping[Key, Curve], own: float) -> Plot:
    """Right stories, entropy, and the divergence from the truth, against the stories marked."""
    fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.8), layout="constrained")
    names = {key: "every crane" if key[0] == "cranes" else f"right, β = {key[1]:g}" for key in runs}
    styles = cycle([("q", "-"), ("k", "--"), ("v", "-."), ("weights", ":")])
    for (key, curve), (role, style) in zip(runs.items(), styles, strict=False):
        marked = [TEXTS * step for step in curve["step"]]
        shares = [100 * count / MEASURED for count in curve["right"]]
        for ax, values in zip(axes, (shares, curve["entropy"], curve["nats"]), strict=True):
            ax.plot(marked, values, style, color=COLOURS[role], label=names[key])
    axes[1].axhline(own, color=COLOURS["plain"], lw=0.8)
    at = {"transform": axes[1].get_yaxis_transform(), "ha": "right", "va": "bottom"}
    axes[1].text(1, own, f"the language {own:.2f} ", **at)
    titles = ("% right stories", "entropy per token", "KL from the truth")
    for ax, title in zip(axes, titles, strict=True):
        ax.set(title=title, xlabel="stories marked")
        ax.set_ylim(bottom=0)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    ends = "; ".join(
        f"{names[key]}: {100 * curve['right'][-1] / MEASURED:.0f} % right, "
        f"entropy {curve['entropy'][-1]:.2f}, {curve['nats'][-1]:.2f} nats from the truth"
        for key, curve in runs.items()
    )
    alt = f"Three charts against the stories marked, a line for each run. At the end {ends}."
    return Plot(fig, CAPTION, alt=alt)
