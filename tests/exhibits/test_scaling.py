"""The exhibit of fitted losses, before a page wakes it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from functools import cache

import pytest

from gpt2_edu.analysis.scaling import Fit, Run, fit, load_runs
from gpt2_edu.exhibits import Scaling

TRUTH = Fit(E=0.44, A=60, B=9000, alpha=0.55, beta=0.7)
SIZES = (1_760, 10_160, 56_640, 155_200)
LENGTHS = (250_880, 752_640, 2_257_920, 6_773_760)


@cache
def made(noise: float = 0.02, seeds: int = 2) -> tuple[Run, ...]:
    """Runs whose losses lie on TRUTH, but for so much."""
    rng = random.Random(1)

    def runs() -> Iterator[Run]:
        for n in SIZES:
            for d in LENGTHS:
                for seed in range(seeds):
                    loss = round(TRUTH.loss(n, d) * math.exp(rng.gauss(0, noise)), 4)
                    shape = {"n_layer": 2, "n_embd": 8, "unique": d, "lr": 0.1}
                    yield Run(n=n, d=d, loss=loss, flops=6.0 * n * d, seed=seed, **shape)

    return tuple(runs())


def test_the_page_gets_the_runs_and_what_each_choice_takes_away():
    settings = json.loads(Scaling(runs=made(), floor=0.44).settings)
    assert len(settings["runs"]) == 32
    assert settings["runs"][0] == [1760, 250880, made()[0].loss]
    sets = dict(settings["sets"])
    assert sets["all"] == []
    assert sets["without the smallest size"] == [f"1760x{d}" for d in LENGTHS]
    assert sets["without the shortest runs"] == [f"{n}x250880" for n in SIZES]
    halves = sets["the half with less compute"], sets["the half with more compute"]
    assert set(halves[0]).isdisjoint(halves[1]) and len(halves[0] + halves[1]) == 16
    assert "155200x6773760" in halves[0] and "1760x250880" in halves[1]


def test_without_a_script_there_are_the_losses_and_both_floors():
    html = Scaling(runs=made(), floor=0.44).html()
    assert html.startswith('<gpt2-scaling class="g2-live"')
    found = fit(made())
    assert "32 runs of 4 sizes" in html
    assert f"Its floor E is {found.E:.3f}, the true floor 0.440." in html


def test_too_few_runs_are_refused():
    with pytest.raises(ValueError, match="6 runs or more"):
        Scaling(runs=made()[:5], floor=0.44)


def test_the_stored_runs_can_be_shown():
    settings = json.loads(Scaling().settings)
    assert len(settings["runs"]) == len(load_runs())
    assert 0.43 < settings["floor"] < 0.45
