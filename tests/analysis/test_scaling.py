"""Fits of the loss over size and data, and the runs that they are made to."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch.nn import functional as F

from gpt2_edu import GPT2, load_tokenizer
from gpt2_edu.analysis import grid, scaling
from gpt2_edu.analysis.scaling import Fit, Run, best_size, fit, intervals, load_runs
from gpt2_site import make_scaling

TRUE = Fit(0.44, 60.0, 400.0, 0.5, 0.4)
SIZES, LENGTHS = (1760, 3792, 10_160, 25_472, 56_640), (300_000, 1_000_000, 3_000_000, 10_000_000)


def run(n, d, loss, **rest):
    given = {"flops": 6.0 * n * d, "seed": 0, "n_layer": 2, "n_embd": 8, "unique": d, "lr": 0.01}
    return Run(n=n, d=d, loss=loss, **given | rest)


def drawn(noise=0.0, seeds=2, true=TRUE):
    """Runs whose loss is that of a known surface, but for noise of so large a share."""
    source = random.Random(0)
    return [
        run(n, d, true.loss(n, d) * math.exp(source.gauss(0, noise)), seed=seed)
        for seed, n, d in product(range(seeds), SIZES, LENGTHS)
    ]


def test_a_fit_to_points_of_a_surface_is_that_surface():
    found = fit(drawn())
    for name in scaling.UNKNOWNS:
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=1e-3), name
    assert found.gamma == 1
    assert found.error < 1e-4
    known = fit(drawn(), TRUE.E)
    assert TRUE.E == pytest.approx(known.E, rel=1e-9)
    assert known.A == pytest.approx(TRUE.A, rel=1e-3)


def test_size_and_length_may_help_each_other():
    true = Fit(0.44, 20.0, 400.0, 0.4, 0.5, gamma=2.0)
    runs = drawn(noise=0.01, true=true)
    apart, joint = fit(runs), fit(runs, joint=True)
    assert joint.gamma == pytest.approx(2, rel=0.2)
    assert joint.error < 0.012 < 2 * joint.error < apart.error
    low, high = intervals(runs, draws=60, joint=True)["E"]
    assert low < 0.44 < high
    one = scaling.predictions(runs, runs[:1], draws=20, joint=True)[0]
    assert one.low < true.loss(one.n, one.d) < one.high
    n, d = best_size(true, 6e10)
    assert true.loss(n, d) < min(true.loss(n * f, d / f) for f in (0.9, 1.1))
    with pytest.raises(ValueError, match="6 unknowns need 7 runs or more, got 6"):
        fit(runs[:6], joint=True)


def test_no_descent_finds_a_better_fit():
    runs = drawn(noise=0.05)
    found = fit(runs)
    logs = torch.tensor([(r.n, r.d, r.loss) for r in runs], dtype=torch.float64).log()
    centre = logs[:, :2].mean(0).tolist()  # without it, the descent would hardly move
    at = torch.tensor(
        [
            math.log(found.E),
            math.log(found.A) - found.alpha * centre[0],
            math.log(found.B) - found.beta * centre[1],
            found.alpha,
            found.beta,
        ],
        dtype=torch.float64,
        requires_grad=True,
    )
    descent = torch.optim.LBFGS([at], max_iter=300, line_search_fn="strong_wolfe")

    def cost():
        descent.zero_grad()
        powers = at[1:3] - at[3:] * (logs[:, :2] - logs[:, :2].mean(0))
        terms = torch.cat([at[:1].expand(len(runs), 1), powers], dim=1)
        loss = F.huber_loss(terms.logsumexp(1), logs[:, 2], reduction="sum", delta=scaling.HUBER)
        loss.backward()
        return loss

    before = cost().item()
    descent.step(cost)
    assert cost().item() > before * (1 - 1e-6)


@pytest.mark.thorough
def test_intervals_have_the_true_floor_in_them_and_shrink_where_it_is_known():
    runs = drawn(noise=0.02)
    free, known = intervals(runs, draws=60), intervals(runs, TRUE.E, draws=60)
    for name in scaling.UNKNOWNS[:-1]:
        assert free[name][0] <= getattr(TRUE, name) <= free[name][1], name
    assert known["E"] == pytest.approx((TRUE.E, TRUE.E))
    assert known["alpha"][1] - known["alpha"][0] < free["alpha"][1] - free["alpha"][0]
    assert intervals(runs, draws=60) == free != intervals(runs, draws=60, seed=1)


def test_what_cannot_be_fitted_is_refused():
    runs = drawn()
    with pytest.raises(ValueError, match="5 unknowns need 6 runs or more, got 5"):
        fit(runs[:5])
    fit(runs[3:8], TRUE.E)  # 4 unknowns
    with pytest.raises(ValueError, match="4 unknowns need 5 runs or more, got 4"):
        intervals(runs[3:7], TRUE.E)
    with pytest.raises(ValueError, match="two sizes or more, got only 1,760"):
        fit([r for r in runs if r.n == SIZES[0]])
    with pytest.raises(ValueError, match="two lengths or more, got only 300,000"):
        fit([r for r in runs if r.d == LENGTHS[0]])
    with pytest.raises(ValueError, match="a floor must be between 0 and the lowest loss"):
        fit(runs, 3.0)


def test_a_profile_is_lowest_at_the_best_floor_and_residuals_show_what_does_not_fit():
    floors = [0.2, 0.3, 0.44, 0.5, 0.55]
    costs = scaling.profile(drawn(), floors)
    assert min(costs) == costs[2] < 1e-4
    runs = drawn()
    runs[5] = replace(runs[5], loss=runs[5].loss * 1.1)
    found = scaling.residuals(fit(runs), runs)
    assert found[5] == pytest.approx(0.1, abs=0.003)  # the others decide
    assert max(map(abs, found[:5] + found[6:])) < 0.003


@pytest.mark.thorough
def test_subsets_leave_out_what_they_say():
    runs = drawn()
    found = scaling.subsets(runs)
    assert found["all"] == runs
    assert {r.n for r in found["without the two smallest"]} == set(SIZES[2:])
    assert {r.d for r in found["without the longest runs"]} == set(LENGTHS[:-1])
    small, large = scaling.halves(runs)
    assert len(small) == len(large) == len(runs) / 2
    assert max(r.n * r.d for r in small) <= min(r.n * r.d for r in large)
    without = scaling.influence(runs)
    assert list(without) == sorted(without, key=math.prod)
    assert without[SIZES[0], LENGTHS[0]].E == pytest.approx(0.44, rel=1e-3)


@pytest.mark.parametrize(
    ("some", "message"),
    [
        ([r for r in drawn() if r.n == 1760], "two sizes or more, got only 1,760"),
        ([r for r in drawn() if r.d == 300_000], "two lengths or more, got only 300,000"),
        ([], "two sizes or more, got no runs"),
    ],
)
def test_subsets_need_two_sizes_and_two_lengths(some, message):
    with pytest.raises(ValueError, match=message):
        scaling.subsets(some)


def test_predictions_of_a_true_form_come_out():
    small, large = scaling.halves(drawn(noise=0.01))
    found = scaling.predictions(small, large, draws=40)
    assert len(found) == len(SIZES) * len(LENGTHS) / 2
    assert all(len(one.measured) == 2 for one in found)
    inside = [one.low < TRUE.loss(one.n, one.d) < one.high for one in found]
    assert sum(inside) > 0.7 * len(inside)


def test_the_best_size_by_formula_and_by_the_runs_themselves():
    C = 6e10
    n, d = best_size(TRUE, C)
    assert 6 * n * d == pytest.approx(C)
    assert TRUE.loss(n, d) < min(TRUE.loss(n * f, d / f) for f in (0.9, 1.1))
    n_70, d_14 = best_size(scaling.BESIROGLU, 5.76e23)  # Chinchilla has 20 tokens a parameter
    assert 15 < d_14 / n_70 < 30
    assert best_size(scaling.HOFFMANN, 5.76e23)[0] < n_70 / 1.5  # its printed fit contradicts that
    dense = [run(n, d, TRUE.loss(n, d)) for n in SIZES for d in range(200_000, 12_000_000, 50_000)]
    at = scaling.at_budget(dense, C)
    assert [point[0] for point in at] == [1760, 3792, 10_160, 25_472]  # the largest sees too little
    assert at[1] == pytest.approx((3792, C / 6 / 3792, TRUE.loss(3792, C / 6 / 3792)), rel=1e-4)
    assert scaling.valley(dense, C) == pytest.approx(n, rel=0.1)
    assert scaling.valley(dense, 6 * 1760 * 250_000) is None  # the smallest would be best
    best = scaling.best_sizes(dense)
    assert scaling.exponent(best) == pytest.approx(0.4 / 0.9, abs=0.05)
    with pytest.raises(ValueError, match="two budgets or more, got 1"):
        scaling.exponent({C: n})


def test_repeated_tokens_are_worth_as_many_new_ones():
    runs = drawn()
    again = run(10_160, 10_000_000, TRUE.loss(10_160, 3_000_000), unique=1_000_000)
    assert scaling.worth(again, runs) == pytest.approx(3_000_000)
    assert scaling.worth(replace(again, loss=9.0), runs) is None


# ---- The stored runs ----------------------------------------------------------------------------


def test_stored_runs_are_a_grid_and_what_belongs_to_it():
    runs = load_runs()
    assert scaling.FLOOR == pytest.approx(0.438, abs=0.001)
    assert all(r.loss > scaling.FLOOR and r.unique == r.d and r.n < r.n_all for r in runs)
    for r in runs:
        assert r.n == pytest.approx(12 * 2 * r.n_embd**2 + 28 * r.n_embd)
    unfinished = load_runs("unfinished")
    assert {r.d for r in unfinished} == {r.d for r in runs}
    assert all(r.unique < r.d for r in load_runs("repeated"))
    assert len({r.lr for r in load_runs("rates")}) > 3
    with pytest.raises(ValueError, match="kind must be one of grid, unfinished"):
        load_runs("all")


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A grid that takes a second."""
    monkeypatch.setattr(make_scaling, "FILE", tmp_path / "scaling.json")
    monkeypatch.setattr(make_scaling, "STEPS", (2, 4))
    monkeypatch.setattr(make_scaling, "WIDTHS", (4, 8))
    monkeypatch.setattr(make_scaling, "TRIED", ((4, 0.01),))
    monkeypatch.setattr(make_scaling, "TRIED_STEPS", 4)
    monkeypatch.setattr(make_scaling, "WINDOWS", 32)
    monkeypatch.setattr(make_scaling, "REPEATED", (4, 4))
    monkeypatch.setattr(make_scaling, "EPOCHS", (2,))
    monkeypatch.setattr(make_scaling, "N_SEEDS", 1)
    monkeypatch.setattr(make_scaling, "loss", lambda model: 5.0)
    grid.windows.cache_clear()
    yield make_scaling.FILE
    grid.windows.cache_clear()


def test_a_killed_grid_leaves_a_valid_file_and_is_finished_later(tiny, monkeypatch):
    made, whole = [], make_scaling.train

    def killed(model, data, steps, *rest):
        if len(made) == 3:
            raise KeyboardInterrupt
        yield from whole(model, data, steps, *rest)
        made.append((model.config.n_embd, steps))

    monkeypatch.setattr(make_scaling, "train", killed)
    with pytest.raises(KeyboardInterrupt):
        make_scaling.main()
    assert made == [(4, 4), (4, 2), (4, 4)]
    rows = json.loads(tiny.read_text())["runs"]
    assert [len(rows[kind]) for kind in ("rates", "grid", "repeated")] == [1, 2, 0]
    made.clear()
    monkeypatch.setattr(make_scaling, "train", whole)
    make_scaling.main()
    assert len(load_runs(path=tiny)) == 4
    again = load_runs("repeated", tiny)[0]
    assert again.unique * 2 == again.d == 4 * 8 * 112
    early = load_runs("unfinished", tiny)
    assert [(r.n_embd, r.d // 8 // 112) for r in early] == [(4, 2), (4, 4), (8, 2), (8, 4)]
    before = tiny.read_text()
    make_scaling.main()
    assert tiny.read_text() == before


def test_windows_are_new_text_and_repeated_ones_are_the_same():
    rows = grid.windows(32)
    end = grid.renumber(torch.tensor([load_tokenizer("crane").eot_token]))
    assert rows.shape == (32, 113)
    assert (rows[:, 0] == end).all()
    assert len({tuple(row) for row in rows.tolist()}) == 32
    for epochs, different in ((1, 32), (2, 16)):
        seen: list[list[int]] = []
        model = GPT2(grid.config(4))
        model.register_forward_pre_hook(lambda _, given, seen=seen: seen.extend(given[0].tolist()))
        assert list(grid.train(model, rows, 4, 0.01, seed=0, epochs=epochs)) == [1, 2, 3, 4]
        assert len(seen) == 32
        assert len({tuple(row) for row in seen}) == different
    used = grid.used_ids().tolist()
    with pytest.raises(ValueError, match="do not occur"):
        grid.renumber(torch.tensor([next(i for i in range(1024) if i not in used)]))
    with pytest.raises(ValueError, match="5 steps need 40 windows, got 32"):
        next(grid.train(model, rows, 5, 0.01, seed=0))
