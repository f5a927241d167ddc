"""How the loss falls with size and with data, where its floor is known.

``make scaling`` trains a grid of models on Crane World and stores their losses, ``load_runs`` reads
them, and ``fit`` fits L(N, D) = E + A / N^α + B / D^β as Hoffmann et al. 2022 did. E ought to be
the entropy of the language, and here that is known: ``FLOOR``. Losses are nats per token.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain, pairwise, product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch import Tensor

FILE = Path(str(files("gpt2_edu") / "assets" / "scaling.json"))
FLOOR: float  # the exact loss of the language on the held-out stories
HUBER = 1e-3  # beyond it an error of a log counts by its size, no longer by its square
UNKNOWNS = ("E", "A", "B", "alpha", "beta", "gamma")  # the last only where it is asked for


@dataclass(frozen=True, kw_only=True)
class Run:
    """A trained model."""

    n: int  # parameters without both tables of embeddings
    d: int  # tokens seen
    loss: float  # on new stories
    flops: float  # of training, with the head and attention
    seed: int
    n_layer: int
    n_embd: int
    unique: int  # different tokens seen: d, if nothing is repeated
    lr: float  # the peak of the learning rate

    @property
    def n_all(self) -> int:
        """Parameters with both tables, as Hoffmann et al. count them."""
        facts = stored()["runs"]
        return self.n + (facts["vocabulary"] + facts["T"]) * self.n_embd


@cache
def stored(path: Path = FILE) -> dict[str, Any]:
    """What ``make scaling`` found.

    "runs" has the ``floor``, which is the exact loss of the language on the same stories; the
    ``vocabulary`` of these models, ``batch_size`` and ``T``; and rows for ``load_runs`` in "rates",
    "grid" and "repeated". In "grid", ``early`` has pairs of a length and the loss there.
    """
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def __getattr__(name: str) -> float:
    """FLOOR is read only when it is asked for: what writes the file imports this module."""
    if name == "FLOOR":
        return float(stored()["runs"]["floor"])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_runs(kind: str = "grid", path: Path = FILE) -> list[Run]:
    """The stored runs of a kind.

    "grid" are sizes and lengths, of several seeds, with new text throughout. "unfinished" are the
    longest of these at their end and at shorter lengths, where their learning rate was still high.
    "repeated" read fewer different tokens several times. "rates" tried learning rates. Raises
    ValueError for another kind.
    """
    kinds = ("grid", "unfinished", "repeated", "rates")
    if kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(kinds)}, got {kind!r}")
    rows = stored(path)["runs"]["grid" if kind == "unfinished" else kind]
    finished = [
        ({name: row[name] for name in row if name != "early"}, row.get("early", [])) for row in rows
    ]
    if kind != "unfinished":
        return [Run(**row) for row, _ in finished]
    longest = max((row["d"] for row in rows), default=0)
    return [
        Run(**row | {"d": d, "unique": d, "loss": loss, "flops": row["flops"] * d / longest})
        for row, early in finished
        if row["d"] == longest
        for d, loss in [*early, (longest, row["loss"])]
    ]


# ---- The fit ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """L(N, D) = E + (A / N^alpha + B / D^beta)^gamma; the form of Hoffmann et al. has no gamma."""

    E: float
    A: float
    B: float
    alpha: float
    beta: float
    gamma: float = 1.0
    error: float = 0.0  # of the losses that it was fitted to: the mean of |log|, as a share

    def loss(self, n: float, d: float) -> float:
        """Nats per token of n parameters after d tokens."""
        return self.E + (self.A * n**-self.alpha + self.B * d**-self.beta) ** self.gamma


# Both of the same runs, whose floor nobody knows: as printed in 2022, and fitted again by Besiroglu
# et al. 2024, "Chinchilla Scaling: A replication attempt". N counts all parameters.
HOFFMANN = Fit(1.69, 406.4, 410.7, 0.34, 0.28)
BESIROGLU = Fit(1.8172, 482.01, 2085.43, 0.3478, 0.3658)


def fit(runs: Sequence[Run], floor: float | None = None, joint: bool = False) -> Fit:
    """The best fit to runs, with E free, or with E = ``floor``; ``joint`` lets gamma be free too.

    It has the least sum of Huber losses of the errors of log L (Hoffmann et al. 2022, "Training
    Compute-Optimal Large Language Models", approach 3), of the local minima that are reached from a
    grid of starts. A gamma above 1 means that size buys more in longer runs, and length more in
    larger models; eq. 1.5 of Kaplan et al. 2020 also has a power of the sum. Raises ValueError for
    fewer runs than unknowns and one, for runs that all have one size or one length, and for a floor
    that is not below all losses.
    """
    _check(runs, floor, joint)
    tensor = _columns(runs)
    found, cost = _minimise(tensor[None], _starts(tensor, floor, joint), floor, joint)
    return _as_fit(found[cost.argmin()], tensor)


def intervals(
    runs: Sequence[Run],
    floor: float | None = None,
    draws: int = 300,
    seed: int = 0,
    joint: bool = False,
) -> dict[str, tuple[float, float]]:
    """95 % of the fits to runs drawn with replacement are between these, for each unknown by name.

    Draws of too few sizes or lengths for a fit are drawn again. Raises what ``fit`` raises.
    """
    found = bootstrap(runs, floor, draws, seed, joint)
    names = UNKNOWNS if joint else UNKNOWNS[:-1]
    return {name: _middle([getattr(one, name) for one in found], 0.95) for name in names}


def bootstrap(
    runs: Sequence[Run],
    floor: float | None = None,
    draws: int = 300,
    seed: int = 0,
    joint: bool = False,
) -> list[Fit]:
    """Fits to as many runs, drawn with replacement. Raises what ``fit`` raises."""
    _check(runs, floor, joint)
    generator = torch.Generator().manual_seed(seed)
    chosen: list[Tensor] = []
    while len(chosen) < draws:
        places = torch.randint(len(runs), (len(runs),), generator=generator)
        drawn = [runs[i] for i in places]
        if len({run.n for run in drawn}) > 1 and len({run.d for run in drawn}) > 1:
            chosen.append(places)
    tensor = _columns(runs)
    starts = _starts(tensor, floor, joint)
    starts = starts[:: max(len(starts) // 5, 1)]  # a few of them, far apart, find the same minima
    every = tensor[torch.stack(chosen)]  # (draws, R, 3)
    found, cost = _minimise(
        every.repeat_interleave(len(starts), 0), starts.repeat(draws, 1), floor, joint
    )
    best = cost.view(draws, -1).argmin(1) + torch.arange(draws) * len(starts)
    return [_as_fit(one, data) for one, data in zip(found[best], every, strict=True)]


def profile(runs: Sequence[Run], floors: Sequence[float], joint: bool = False) -> list[float]:
    """The typical error of the best fit with each of these floors: flat where no floor is better.

    It is the mean of |error of log L|, as a share. Raises what ``fit`` raises.
    """
    return [fit(runs, floor, joint).error for floor in floors]


def residuals(found: Fit, runs: Iterable[Run]) -> list[float]:
    """By how much each loss is above the fit, as a share: a pattern says that the form is wrong."""
    return [run.loss / found.loss(run.n, run.d) - 1 for run in runs]


def _check(runs: Sequence[Run], floor: float | None, joint: bool) -> None:
    unknowns = len(UNKNOWNS) - (floor is not None) - (not joint)
    if len(runs) <= unknowns:
        raise ValueError(f"{unknowns} unknowns need {unknowns + 1} runs or more, got {len(runs)}")
    _check_varied(runs)
    lowest = min(run.loss for run in runs)
    if floor is not None and not 0 < floor < lowest:
        raise ValueError(f"a floor must be between 0 and the lowest loss, {lowest}, got {floor}")


def _check_varied(runs: Sequence[Run]) -> None:
    for name, kinds in (("sizes", {run.n for run in runs}), ("lengths", {run.d for run in runs})):
        if len(kinds) < 2:
            got = f"only {kinds.pop():,}" if kinds else "no runs"
            raise ValueError(f"runs must have two {name} or more, got {got}")


def _columns(runs: Iterable[Run]) -> Tensor:
    """(R, 3): the logs of n, d and loss."""
    rows = [(run.n, run.d, run.loss) for run in runs]
    return torch.tensor(rows, dtype=torch.float64).log()


def _centre(columns: Tensor) -> Tensor:
    """(2,): of log n and log d. Logs are counted from here, or A and alpha could hardly be told."""
    return columns[:, :2].mean(0)


def _starts(columns: Tensor, floor: float | None, joint: bool) -> Tensor:
    """(starts, 6): log E, log A, log B, alpha, beta, log gamma; E a share of the lowest loss."""
    lowest, middle = columns[:, 2].min().exp().item(), columns[:, 2].median().exp().item()
    shares = (0.01, 0.3, 0.6, 0.9, 0.99)
    floors = [lowest * share for share in shares] if floor is None else [floor]
    rest = [math.log(max(middle - E, 0.01 * middle)) for E in floors]
    return torch.tensor(
        [
            (
                math.log(E),
                (above + math.log(share)) / gamma,
                (above + math.log(1 - share)) / gamma,
                alpha / gamma,
                beta / gamma,
                math.log(gamma),
            )
            for (E, above), share, alpha, beta, gamma in product(
                zip(floors, rest, strict=True),
                (0.2, 0.8),
                (0.2, 0.8),
                (0.2, 0.8),
                (1.0, 2.0) if joint else (1.0,),
            )
        ],
        dtype=torch.float64,
    )


def _minimise(
    columns: Tensor, guess: Tensor, floor: float | None, joint: bool, steps: int = 100
) -> tuple[Tensor, Tensor]:
    """The minima (P, 6) below P guesses, and their costs (P,); columns (P or 1, R, 3).

    Hoffmann et al. use L-BFGS. This is the method of Levenberg and Marquardt with weights for the
    Huber loss: all starts of all draws at once.
    """
    logs = columns[..., :2] - columns[..., :2].mean(1, keepdim=True)  # (P, R, 2)
    aim = columns[..., 2]
    free = guess.new_tensor([floor is None, 1, 1, 1, 1, joint])

    def look(at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Errors (P, R), costs (P,), and the slopes of the errors (P, R, 6)."""
        powers = at[:, None, 1:3] - at[:, None, 3:5] * logs
        # Of two terms, torch is slow to take logsumexp and softmax along an axis.
        total, gamma = torch.logaddexp(*powers.split(1, -1)), at[:, None, 5:].exp()  # (P, R, 1)
        of_all = torch.logaddexp(at[:, None, :1], gamma * total)
        errors = of_all[..., 0] - aim
        small = errors.abs().clamp(max=HUBER)
        of_floor, of_rest = (at[:, None, :1] - of_all).exp(), (gamma * total - of_all).exp()
        each = of_rest * gamma * (powers - total).exp()
        slopes = torch.cat([of_floor, each, -each * logs, of_rest * gamma * total], dim=-1)
        return errors, (small * (errors.abs() - small / 2)).sum(-1), slopes * free

    damping = torch.full_like(guess[:, :1], 1e-2)
    errors, cost, slopes = look(guess)
    for _ in range(steps):
        weighted = slopes * (HUBER / errors.abs().clamp(min=HUBER))[..., None]
        square = weighted.mT @ slopes
        square = square + torch.diag_embed(damping * square.diagonal(dim1=-2, dim2=-1) + 1e-12)
        step = torch.linalg.solve(square, weighted.mT @ errors[..., None])[..., 0]
        after = guess - step.clamp(-2, 2)
        found = look(after)
        better = found[1] < cost
        guess = torch.where(better[:, None], after, guess)
        errors, cost, slopes = (
            torch.where(better.view(-1, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip(found, (errors, cost, slopes), strict=True)
        )
        damping = torch.where(better[:, None], damping / 3, damping * 4).clamp(1e-9, 1e9)
    return guess, cost


def _as_fit(found: Tensor, columns: Tensor) -> Fit:
    """A minimum (6,) as a fit to columns (R, 3)."""
    (e, a, b, alpha, beta, gamma), centre = found.tolist(), _centre(columns).tolist()
    logs = (e, a + alpha * centre[0], b + beta * centre[1])
    E, A, B = map(math.exp, logs)
    here = Fit(E, A, B, alpha, beta, math.exp(gamma))
    errors = [
        abs(y - math.log(here.loss(math.exp(n), math.exp(d)))) for n, d, y in columns.tolist()
    ]
    return replace(here, error=math.expm1(fmean(errors)))


def _middle(values: Sequence[float], share: float) -> tuple[float, float]:
    """The bounds of the middle share of values."""
    tails = torch.tensor([(1 - share) / 2, (1 + share) / 2], dtype=torch.float64)
    low, high = torch.tensor(values, dtype=torch.float64).quantile(tails).tolist()
    return low, high


# ---- Which points decide ------------------------------------------------------------------------


def cells(runs: Iterable[Run]) -> dict[tuple[int, int], list[Run]]:
    """Runs of the same size and length, which differ by their seeds; from the least 6·N·D on."""
    found: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.n * run.d, run.n, run.seed)):
        found[run.n, run.d].append(run)
    return dict(found)


def halves(runs: Iterable[Run]) -> tuple[list[Run], list[Run]]:
    """The half of the sizes and lengths that take less compute, and the other."""
    groups = list(cells(runs).values())
    middle = len(groups) // 2
    return [*chain(*groups[:middle])], [*chain(*groups[middle:])]


def subsets(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Some of the runs, chosen by size, by length or by compute, with the name of the choice.

    Raises ValueError for runs that all have one size or one length.
    """
    _check_varied(runs)
    n, d = sorted({run.n for run in runs}), sorted({run.d for run in runs})
    small, large = halves(runs)
    return {
        "all": list(runs),
        "without the smallest size": [run for run in runs if run.n > n[0]],
        "without the two smallest": [run for run in runs if run.n > n[1]],
        "without the largest size": [run for run in runs if run.n < n[-1]],
        "without the shortest runs": [run for run in runs if run.d > d[0]],
        "without the longest runs": [run for run in runs if run.d < d[-1]],
        "the half with less compute": small,
        "the half with more compute": large,
    }


def influence(
    runs: Sequence[Run], floor: float | None = None, joint: bool = False
) -> dict[tuple[int, int], Fit]:
    """The fit without one size and length, for each of them. Raises what ``fit`` raises."""
    return {
        cell: fit([r for r in runs if (r.n, r.d) != cell], floor, joint) for cell in cells(runs)
    }


class Prediction(NamedTuple):
    """A loss that was predicted, with the middle 95 % of the predictions, and what it came to."""

    n: int
    d: int
    predicted: float
    low: float
    high: float
    measured: list[float]  # by seed


def predictions(
    known: Sequence[Run],
    others: Iterable[Run],
    floor: float | None = None,
    draws: int = 300,
    joint: bool = False,
) -> list[Prediction]:
    """What a fit to the known runs says of others, and how these came out.

    Raises what ``fit`` raises.
    """
    found, drawn = fit(known, floor, joint), bootstrap(known, floor, draws, joint=joint)
    return [
        Prediction(
            n,
            d,
            found.loss(n, d),
            *_middle([one.loss(n, d) for one in drawn], 0.95),
            [run.loss for run in some],
        )
        for (n, d), some in cells(others).items()
    ]


# ---- The best size ------------------------------------------------------------------------------


def best_size(found: Fit, flops: float) -> tuple[float, float]:
    """The size and length of least loss among those with 6·N·D = flops (Hoffmann et al., eq. 4)."""
    a, b = found.alpha, found.beta
    ratio = (a * found.A / (b * found.B)) ** (1 / (a + b))
    n = ratio * (flops / 6) ** (b / (a + b))
    return n, flops / (6 * n)


def at_budget(
    runs: Iterable[Run], flops: float, tables: bool = False
) -> list[tuple[float, float, float]]:
    """(N, D, loss) of each size at D = flops / 6·N, between its measured lengths.

    Losses are means over seeds, interpolated straight in the logs. Sizes for which that D was not
    reached are left out. ``tables`` counts the parameters of embeddings as well.
    """
    found: list[tuple[float, float, float]] = []
    for n, curve in _curves(runs, tables).items():
        d = flops / (6 * n)
        if (at := _between(curve, math.log(d))) is not None:
            found.append((n, d, math.exp(at)))
    return found


def _curves(runs: Iterable[Run], tables: bool = False) -> dict[int, list[tuple[float, float]]]:
    """Of each size the logs of its lengths, and the mean over seeds of the logs of the losses."""
    losses: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        losses[run.n_all if tables else run.n][run.d].append(math.log(run.loss))
    return {
        n: [(math.log(d), fmean(some)) for d, some in sorted(by_length.items())]
        for n, by_length in sorted(losses.items())
    }


def _between(points: Iterable[tuple[float, float]], x: float) -> float | None:
    """y at x on the line through points; None outside them."""
    for (x0, y0), (x1, y1) in pairwise(sorted(points)):
        if x0 - 1e-9 <= x <= x1 + 1e-9:  # the ends belong to it, however they were rounded
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return None


def valley(runs: Iterable[Run], flops: float, tables: bool = False) -> float | None:
    """The best N for a budget by the runs themselves, or None if it is not among the sizes.

    It is the lowest point of the parabola in log N through the best size and its two neighbours
    (Hoffmann et al., approach 2, through three points).
    """
    points = [(math.log(n), loss) for n, _, loss in at_budget(runs, flops, tables)]
    lowest = min(range(len(points)), key=lambda i: points[i][1], default=0)
    if not 0 < lowest < len(points) - 1:
        return None
    (x0, y0), (x1, y1), (x2, y2) = points[lowest - 1 : lowest + 2]
    left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    # The slope is `left` halfway to the left, `right` halfway to the right, and straight between.
    return math.exp((x0 + x1) / 2 - left * (x2 - x0) / 2 / (right - left))


def exponent(best: Mapping[float, float]) -> float:
    """The slope of log N over log C, from the best size by budget: N grows as C to this power.

    Raises ValueError for fewer than two budgets.
    """
    if len(best) < 2:
        raise ValueError(
            f"an exponent needs the best sizes of two budgets or more, got {len(best)}"
        )
    x = torch.tensor(list(best), dtype=torch.float64).log()
    y = torch.tensor(list(best.values()), dtype=torch.float64).log()
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def best_sizes(runs: Sequence[Run], tables: bool = False, budgets: int = 13) -> dict[float, float]:
    """The best N by budget, of budgets spread over those of the runs, as ``valley`` finds it."""
    logs = [math.log(6 * (run.n_all if tables else run.n) * run.d) for run in runs]
    first, step = min(logs), (max(logs) - min(logs)) / (budgets - 1)
    every = [math.exp(first + i * step) for i in range(budgets)]
    return {C: n for C in every if (n := valley(runs, C, tables)) is not None}


def worth(run: Run, runs: Iterable[Run]) -> float | None:
    """How many new tokens the same size needs for the loss of a run that read some repeatedly.

    Interpolated straight in the logs between the lengths of ``runs``; None if it lies outside.
    """
    curve = _curves(other for other in runs if other.n == run.n)[run.n]
    at = _between([(y, x) for x, y in curve], math.log(run.loss))
    return None if at is None else math.exp(at)
