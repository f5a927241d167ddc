"""Train a grid of models on Crane World, and store their losses: `make scaling`.

The file is gpt2_edu/assets/scaling.json, which gpt2_edu/analysis/scaling.py reads. Each seed takes
one core half an hour. A run is stored as soon as it ends, and those in the file are not made again:
to make all, delete it first. Each seed goes from the cheapest run to the most expensive, so the
runs that there are at any time are those below some amount of compute, and a seed less of the
others.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import torch

from gpt2_edu import GPT2
from gpt2_edu.analysis.grid import B, T, config, loss, train, used_ids, windows
from gpt2_edu.analysis.scaling import FILE
from gpt2_edu.analysis.since import SEEDS, held_out
from gpt2_edu.flops import flops_per_token, parameters_by_part
from gpt2_site.make_since import Results

STEPS = (280, 840, 2520, 7560)  # 0.25, 0.75, 2.3 and 6.8 million tokens
WINDOWS = 89_600  # to choose from: more than any run needs
WIDTHS = (8, 12, 20, 32, 48, 80)
TRIED = tuple(product((8, 20, 48), (0.00375, 0.0075, 0.015, 0.03, 0.06)))  # widths, rates
TRIED_STEPS = 1120
EPOCHS = (2, 4, 16, 64)  # how often a run of REPEATED steps sees the same windows
REPEATED = (32, 2520)  # width and steps
N_SEEDS = 3


def main() -> None:
    torch.set_num_threads(1)  # sums in one order, so that the same machine gives the same numbers
    results = Results(FILE)
    begin(results)
    for C, lr in TRIED:
        run(results, "rates", C, TRIED_STEPS, lr, seed=99)
    for seed in range(N_SEEDS):
        for C, steps in by_cost(product(WIDTHS, STEPS)):
            run(results, "grid", C, steps, rate(C), seed)
        for epochs in EPOCHS:
            C, steps = REPEATED
            run(results, "repeated", C, steps, rate(C), seed, epochs)


def begin(results: Results) -> None:
    """What is the same for all runs."""
    results.begin(
        "made",
        command="make scaling",
        torch=torch.__version__.partition("+")[0],
        seeds={"held_out": SEEDS["held_out"]},
    )
    results.begin(
        "runs",
        "rates",
        "grid",
        "repeated",
        floor=torch.cat(list(held_out().surprisals)).mean().item(),
        vocabulary=len(used_ids()),
        batch_size=B,
        T=T,
    )


def rate(C: int) -> float:
    """The peak of the learning rate for a width: near the best of those that were tried."""
    return float(f"{0.5 / C:.3g}")  # as the file holds it


def by_cost(cells: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Widths and steps, from the least compute to the most."""
    return sorted(cells, key=lambda cell: flops_per_token(config(cell[0]), T) * cell[1])


def run(
    results: Results, kind: str, C: int, steps: int, lr: float, seed: int, epochs: int = 1
) -> None:
    """Train a model, unless it is among the results, and store what there is to say of it.

    ``early`` has its loss at the ends of shorter runs, when its learning rate was still high.
    """
    d = steps * B * T
    key = {"n_embd": C, "d": d, "unique": d // epochs, "seed": seed, "lr": lr}
    if not (key := results.missing(f"runs.{kind}", **key)):
        return
    torch.manual_seed(seed)
    model = GPT2(config(C))
    early = []
    for done in train(model, windows(WINDOWS), steps, lr, seed, epochs):
        if done in STEPS or done == steps:
            early.append([done * B * T, loss(model)])
    *early, (_, last) = early
    parts = parameters_by_part(model.config)
    results.add(
        f"runs.{kind}",
        key
        | {
            "n_layer": model.config.n_layer,
            "n": sum(parts.values()) - parts["wte"] - parts["wpe"],
            "flops": float(flops_per_token(model.config, T) * d),
            "loss": last,
        }
        | ({"early": early} if early and kind == "grid" else {}),
    )


if __name__ == "__main__":
    main()
