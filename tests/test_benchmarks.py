"""The benchmarks run, on a machine without a GPU too, and what they report is whole.

No speed is asserted: that depends on who else is using the machine.
"""

from __future__ import annotations

import importlib
import json
import math
import multiprocessing
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch

from benchmarks import common, contenders, gpu, memory, own_text

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
CPU = torch.device("cpu")
SCRIPTS = {
    "cpu_generation": ["decode", "a token after 8", "a token after 32"],
    "cpu_training": ["training"],
    "in_page": [
        *(f"Crane: {task}" for task in ["ready", "first answer, cold", "first answer, warm"]),
        *(f"Crane: {task}" for task in ["writing", "writing, recorded"]),
        *(f"tiny: {task}" for task in ["ready", "first answer, cold", "first answer, warm"]),
        *(f"tiny: {task}" for task in ["a token", "a token, CPU time", "peak memory"]),
        *(f"tiny: {task}" for task in ["ready on a second visit", "stored"]),
    ],
    "memory": ["training", "generation"],
    "own_text": ["loss, 0.02 MB", "loss, 0.04 MB"],
    "page_training": ["training, C 16, T 8, B 2"],
    "speed_ladder": ["training"],
}
APART = {"in_page", "memory"}  # start processes; here for ours alone, to be quick
PAGES = {"in_page", "page_training"}
LONG = {"cpu_generation", "in_page", "memory", "own_text", "page_training"}


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.browser] * (name in PAGES) + [pytest.mark.thorough] * (name in LONG)


def as_it_is(model, **settings):
    """For torch.compile: compiled steps are tried below and in test_fast.py."""
    return model


# Warnings of transformers under torch.compile are not ours to mend.
OF_THEIRS = pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"
)


@pytest.fixture(autouse=True)
def as_it_was():
    """Benchmarks may set what belongs to all of torch."""
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=marks(n)) for n in SCRIPTS],
)
@OF_THEIRS
def test_a_quick_run_writes_a_whole_file(name, tmp_path, capsys, monkeypatch, missing):
    if name in APART:
        monkeypatch.setattr(contenders, "has_transformers", lambda: False)
    script = importlib.import_module(f"benchmarks.{name}")
    if name == "memory":
        forked = multiprocessing.get_context("forkserver")  # torch is imported once for all
        forked.set_forkserver_preload(["benchmarks.memory"])
        monkeypatch.setattr(script.multiprocessing, "get_context", lambda kind: forked)
    if name == "own_text":  # test_proposal.py measures it
        monkeypatch.setattr(script, "training_rate", lambda *device: 1e9)
    if name in {"cpu_generation", "speed_ladder"}:
        monkeypatch.setattr(torch, "compile", as_it_is)
    if name == "in_page":
        monkeypatch.setattr(script, "onnx_graph", lambda config, weights: None)
    if name in PAGES:
        if script.chromium.program() is None:
            missing("no Chromium on PATH")
    path = tmp_path / "new" / "figures.json"
    script.main(["--quick", "--device", "cpu", "--rounds", "1", "--json", str(path)])
    printed = capsys.readouterr().out
    figures = json.loads(path.read_text(encoding="utf-8"))
    assert figures["benchmark"] == name
    assert figures["machine"]["torch"] == torch.__version__
    assert list(dict.fromkeys(row["task"] for row in figures["rows"])) == SCRIPTS[name]
    for row in figures["rows"]:
        assert len(row["values"]) == 1
        assert all(math.isfinite(value) and value > 0 for value in row["values"])
        assert any(row["task"] in line and row["contender"] in line for line in printed.split("\n"))
    assert all(math.isfinite(rate) and rate > 0 for rate in figures["rates"].values())
    named = [(row["task"], row["contender"]) for row in figures["rows"]]
    assert len(set(named)) == len(named)
    if name.startswith("cpu"):
        assert named[0][1] == "ours" and any("transformers" in who for _, who in named)


@pytest.mark.thorough
def test_contenders_that_take_turns_in_processes_of_their_own():
    """Each runs twice to be warm, and in three rounds; this process does not sleep for it."""
    wait = partial(time.sleep, 0.05)
    taken = common.alternate_apart(
        {"waits": partial(partial, wait), "none": partial(partial, int)}, 3, CPU
    )
    assert [len(times) for times in taken.values()] == [3, 3]
    assert min(taken["waits"]) >= 0.05


def test_the_probabilities_of_an_ngram_model_sum_to_one():
    ids = [i * i % 7 for i in range(99)] + [3, 1, 4, 1, 5, 2, 6]
    for context in (ids[50:54], ids[-5:-1], [6, 6, 6, 6], [2]):
        lost = own_text.ngram_loss(ids, context, 7) * (len(context) - 1) if context[1:] else 0.0
        texts = ([*context, i] for i in range(7))
        total = sum(math.exp(lost - own_text.ngram_loss(ids, t, 7) * len(context)) for t in texts)
        assert total == pytest.approx(1)
    assert own_text.ngram_loss(ids, ids, 7) < own_text.ngram_loss(ids, ids, 7, n=1)


def test_every_script_is_tested_and_explained():
    helpers = {"__init__", "chromium", "common", "contenders", "onnx_graph"}
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - helpers
    assert scripts == {*SCRIPTS, "gpu"}
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in readme for name in scripts)


@pytest.mark.thorough
def test_gpu_runs_as_a_file_too():
    command = [sys.executable, "benchmarks/gpu.py", "--help"]
    done = subprocess.run(command, cwd=ROOT, env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_what_needs_a_gpu_runs_here_at_tiny_sizes(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(contenders, "has_transformers", lambda: False)  # to be quick
    monkeypatch.setattr(torch, "compile", as_it_is)
    path = tmp_path / "gpu.json"
    assert gpu.main(["--quick", "--device", "cpu", "--json", str(path)]) == 0, capsys.readouterr()
    report = json.loads(path.read_text(encoding="utf-8"))
    assert [one["part"] for one in report["parts"]] == list(gpu.PARTS)
    found = {one["part"]: one["found"] for one in report["parts"]}
    assert "needs a GPU" not in found["Training"] + found["Decoding, one text and many"]
    assert all(rate > 0 for rate in report["rates"].values())
    rates = [rates for name, rates in report["figures"].items() if "tokens/s" in name]
    assert len(rates) == 4 and all(rate > 0 for each in rates for rate in each.values())
    written = path.with_suffix(".md").read_text(encoding="utf-8")
    for title, said in found.items():
        state = "left out" if said.startswith("needs ") else "ok"
        assert f"| {title} | {state} |" in written


def test_a_part_that_fails_is_reported_and_the_next_one_runs(tmp_path, monkeypatch, capsys):
    def fails(bench):
        raise RuntimeError("CUDA error: an illegal | memory access")

    parts = {"One": fails, "Two": lambda bench: "went well", "Three": fails}
    monkeypatch.setattr(gpu, "PARTS", parts)
    path = tmp_path / "gpu.json"
    assert gpu.main(["--quick", "--device", "cpu", "--json", str(path)]) == 1
    states = [one["state"] for one in json.loads(path.read_text(encoding="utf-8"))["parts"]]
    assert states == ["failed", "ok", "failed"]
    written = path.with_suffix(".md").read_text(encoding="utf-8")
    assert "illegal \\| memory access (test_benchmarks.py:" in written
    monkeypatch.setattr(gpu, "BUDGET", -1)
    assert gpu.main(["--quick", "--device", "cpu", "--json", str(path), "--only", "tWo"]) == 0
    only = json.loads(path.read_text(encoding="utf-8"))["parts"]
    assert [(one["part"], one["state"]) for one in only] == [("Two", "left out")]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("title", gpu.PARTS)
def test_on_a_gpu(title, tmp_path):
    given = ["--quick", "--device", "cuda", "--only", title, "--json", str(tmp_path / "gpu.json")]
    assert gpu.main(given) == 0


def test_memory_measures_transformers_too():
    """Within this process the figures mean nothing, but the way is the same."""
    for task in ("training", "generation"):
        assert memory.measure(task, "transformers", "cpu", True, torch.get_num_threads()) >= 0


@pytest.fixture
def report():
    made = common.Report("some", CPU, {"batch": 3})
    # Two seconds against four, and once, when the machine was busy, ten against twenty.
    made.add_rates("work", {"ours": [2.0, 2.0, 10.0], "other": [4.0, 4.0, 20.0]}, 8, "tokens/s", 16)
    made.rows.append(common.Row("size", "ours", [3.0], "bytes", higher_is_better=False, limit=1.5))
    made.rows.append(common.Row("size", "other", [6.0], "bytes", higher_is_better=False))
    return made


def test_rates_are_work_over_time_and_ratios_compare_within_a_round(report):
    ours, other, small, large = report.rows
    assert (ours.values, ours.median) == ([4.0, 4.0, 0.8], 4.0)
    assert (other.median, report.ratio(other)) == (2.0, pytest.approx(2.0))
    assert report.ratio(large) == 2.0  # half as many bytes are twice as good
    assert report.ratio(ours) is None and report.ratio(small) is None
    assert (ours.of_limit, small.of_limit, large.of_limit) == (0.25, 0.5, None)


def test_the_report_prints_what_it_writes(report, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(common, "cpu_name", lambda: "Some(R) CPU @ 2.00GHz")
    report.finish(None)
    assert "ours is 2.00 × as good" in capsys.readouterr().out
    (written,) = tmp_path.glob("some-some-r-cpu-2-00ghz-20*.json")
    rows = json.loads(written.read_text(encoding="utf-8"))["rows"]
    assert [row["median"] for row in rows] == [4.0, 2.0, 3.0, 6.0]
    assert [row["ours_is_better_by"] for row in rows] == [None, pytest.approx(2.0), None, 2.0]


def test_contenders_take_turns_in_changing_order_and_none_is_cold():
    calls: list[str] = []
    runs = {name: (lambda name=name: calls.append(name)) for name in "ab"}
    taken = common.alternate(runs, 3, CPU, warm_up=2)
    assert "".join(calls) == "aabb" + "ab" + "ba" + "ab"
    assert {name: len(times) for name, times in taken.items()} == {"a": 3, "b": 3}


def test_numbers_are_short():
    told = {7.72e14: "772 T", 1234.5: "1.234 k", 12.5: "12.5", 0.0021: "2.1 m", 0.0: "0"}
    assert {number: common.short(number) for number in told} == told


def test_both_models_are_the_same_size_and_generate_as_much_without_dropout():
    ours, theirs = contenders.ours(contenders.TINY, CPU), contenders.theirs(contenders.TINY, CPU)
    assert ours.num_parameters() == theirs.num_parameters()
    assert theirs.config._attn_implementation == "sdpa"
    for model in (ours, theirs):
        rates = [m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)]
        assert rates and set(rates) == {0.0}
    idx = torch.zeros(3, 5, dtype=torch.int64)
    assert contenders.our_generation(ours, idx, 7)().shape == (3, 12)
    assert contenders.their_generation(theirs, idx, 7)().shape == (3, 12)
