"""The benchmarks run, on a machine without a GPU too, and what they report is whole.

No speed is asserted: that depends on who else is using the machine.
"""

from __future__ import annotations

import importlib
import itertools
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
import torch
from torch._dynamo.utils import counters
from torch.nn import functional as F
from torch.nn.attention import SDPBackend

from benchmarks import contenders, rungs
from benchmarks.common import random_ids
from benchmarks.exhibits import QUICK, exhibits

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = {
    "cpu_generation": ["decode", "a token after 8", "a token after 32"],
    "cpu_training": ["training"],
    "exhibits": [name for name, _, _ in exhibits()[:QUICK]],
    "first_token": ["first token"],
    "import_time": ["import"],
    "in_page": [
        *(f"Crane: {task}" for task in ["ready", "first answer, cold", "first answer, warm"]),
        *(f"Crane: {task}" for task in ["writing", "writing, recorded"]),
        *(f"tiny: {task}" for task in ["ready", "first answer, cold", "first answer, warm"]),
        *(f"tiny: {task}" for task in ["a token", "a token, CPU time", "peak memory"]),
    ],
    "memory": ["training", "generation"],
    "speed_ladder": ["training"],
}
# These start a process for each figure. Here they do it for ours alone, to be quick.
APART = {"exhibits", "import_time", "in_page", "memory"}
IN_PAGES = {"exhibits", "in_page"}

# Warnings of transformers under torch.compile are not ours to mend.
OF_THEIRS = pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"
)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    """Benchmarks may set what belongs to all of torch."""
    monkeypatch.syspath_prepend(str(ROOT))
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.browser if n in IN_PAGES else ()) for n in SCRIPTS],
)
@OF_THEIRS
def test_a_quick_run_prints_a_whole_table_and_writes_a_whole_file(
    name, tmp_path, capsys, monkeypatch, missing
):
    contenders = importlib.import_module("benchmarks.contenders")
    assert contenders.has_transformers(), "the test environment lacks transformers"
    if name in APART:
        monkeypatch.setattr(contenders, "has_transformers", lambda: False)
    path = tmp_path / "new" / "figures.json"
    script = importlib.import_module(f"benchmarks.{name}")
    if name == "in_page":
        monkeypatch.setattr(script, "onnx_graph", lambda config, weights: None)
    if name in IN_PAGES and script.chromium.program() is None:
        missing("no Chromium on PATH")
    rounds = 1 if name in APART else 2
    script.main(["--quick", "--device", "cpu", "--rounds", str(rounds), "--json", str(path)])
    printed = capsys.readouterr().out
    figures = json.loads(path.read_text(encoding="utf-8"))

    assert figures["benchmark"] == name
    assert figures["machine"]["torch"] == torch.__version__
    assert figures["machine"]["threads"] == torch.get_num_threads()
    assert figures["machine"]["cpu"]
    assert list(dict.fromkeys(row["task"] for row in figures["rows"])) == SCRIPTS[name]
    for row in figures["rows"]:
        assert len(row["values"]) == rounds
        assert all(math.isfinite(value) and value > 0 for value in row["values"])
        assert any(row["task"] in line and row["contender"] in line for line in printed.split("\n"))
    for rate in figures["rates"].values():
        assert math.isfinite(rate) and rate > 0
    contenders_of_task = {
        task: [row["contender"] for row in figures["rows"] if row["task"] == task]
        for task in SCRIPTS[name]
    }
    for task, names in contenders_of_task.items():
        assert len(names) == len(set(names)), task
        if name not in APART and name != "speed_ladder":
            assert names[0] == "ours"
            assert any("transformers" in n for n in names) or task.startswith("a token after")
            theirs = [row for row in figures["rows"] if row["contender"] != "ours"]
            assert all(row["ours_is_better_by"] > 0 for row in theirs)


def test_every_script_is_tested_and_explained():
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    scripts -= {"__init__", "chromium", "common", "contenders", "onnx_graph", "rungs"}
    assert scripts == {*SCRIPTS, "gpu"}
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in readme for name in scripts)


@pytest.mark.parametrize("how", ["-m benchmarks.gpu", "benchmarks/gpu.py"])
def test_a_script_runs_from_the_repository_both_ways(how):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [sys.executable, *how.split(), "--help"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout


@pytest.fixture
def gpu():
    return importlib.import_module("benchmarks.gpu")


@pytest.mark.slow
@OF_THEIRS
def test_what_needs_a_gpu_runs_here_at_tiny_sizes(gpu, tmp_path, capsys):
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
    assert all(f"| {title} | ok |" in written for title in gpu.PARTS)


def test_a_part_that_fails_is_reported_and_the_next_one_runs(gpu, tmp_path, monkeypatch, capsys):
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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("title", importlib.import_module("benchmarks.gpu").PARTS)
def test_on_a_gpu(gpu, title, tmp_path):
    given = ["--quick", "--device", "cuda", "--only", title, "--json", str(tmp_path / "gpu.json")]
    assert gpu.main(given) == 0


def test_memory_measures_transformers_in_a_process_of_its_own_too():
    """Within this process the figures mean nothing, but the road is the same."""
    memory = importlib.import_module("benchmarks.memory")
    for task in ("training", "generation"):
        assert memory.measure(task, "transformers", "cpu", True, torch.get_num_threads()) >= 0


# ---- The figures ------------------------------------------------------------------------------


@pytest.fixture
def report():
    common = importlib.import_module("benchmarks.common")
    made = common.Report("some", torch.device("cpu"), {"batch": 3})
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


def test_the_report_prints_what_it_writes(report, tmp_path, capsys):
    report.finish(tmp_path / "x.json")
    printed = capsys.readouterr().out
    assert "batch 3" in printed
    assert "ours is 2.00 × as good" in printed
    written = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert [row["median"] for row in written["rows"]] == [4.0, 2.0, 3.0, 6.0]
    assert [row["ours_is_better_by"] for row in written["rows"]] == [
        None,
        pytest.approx(2.0),
        None,
        2.0,
    ]


def test_without_a_path_the_file_is_named_by_benchmark_processor_and_day(
    report, tmp_path, monkeypatch
):
    common = importlib.import_module("benchmarks.common")
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(common, "cpu_name", lambda: "Some(R) CPU @ 2.00GHz")
    written = report.write(None)
    assert written.parent == tmp_path
    assert written.name.startswith("some-some-r-cpu-2-00ghz-20")
    assert written.suffix == ".json"


def test_contenders_take_turns_in_changing_order_and_none_is_cold():
    common = importlib.import_module("benchmarks.common")
    calls: list[str] = []
    runs = {name: (lambda name=name: calls.append(name)) for name in "ab"}
    taken = common.alternate(runs, 3, torch.device("cpu"), warm_up=2)
    assert "".join(calls) == "aabb" + "ab" + "ba" + "ab"
    assert {name: len(times) for name, times in taken.items()} == {"a": 3, "b": 3}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (7.72e14, "772 T"),
        (2.1e10, "21 G"),
        (1234.5, "1.234 k"),
        (12.5, "12.5"),
        (0.0021, "2.1 m"),
        (8.1e-4, "810 µ"),
        (0.0, "0"),
    ],
)
def test_numbers_are_short(number, words):
    assert importlib.import_module("benchmarks.common").short(number) == words


def test_both_models_are_the_same_size_and_neither_drops():
    contenders = importlib.import_module("benchmarks.contenders")
    cpu = torch.device("cpu")
    ours, theirs = contenders.ours(contenders.TINY, cpu), contenders.theirs(contenders.TINY, cpu)
    assert ours.num_parameters() == theirs.num_parameters()
    assert theirs.config._attn_implementation == "sdpa"
    for model in (ours, theirs):
        rates = [m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)]
        assert rates and set(rates) == {0.0}


def test_both_generate_as_many_tokens_as_asked():
    contenders = importlib.import_module("benchmarks.contenders")
    cpu = torch.device("cpu")
    idx = torch.zeros(3, 5, dtype=torch.int64)
    ours, theirs = contenders.ours(contenders.TINY, cpu), contenders.theirs(contenders.TINY, cpu)
    assert contenders.our_generation(ours, idx, 7)().shape == (3, 12)
    assert contenders.their_generation(theirs, idx, 7)().shape == (3, 12)


@pytest.mark.parametrize("name", list(rungs.rungs(torch.bfloat16)))
def test_each_rung_of_training_computes_the_same_step(name, monkeypatch):
    cpu = torch.device("cpu")
    idx = random_ids(3, 32, contenders.TINY.vocab_size, cpu)

    def three_steps(rung, dtype):
        if rung.only_on_gpu and rung.change:  # here with a kernel that a processor has
            rung = replace(rung, change=partial(rungs.pin_attention, backend=SDPBackend.MATH))
        model = contenders.ours(contenders.TINY, cpu)
        model.use_attention("fused")
        step = rungs.training_step(rung, model, idx, dtype, quick=True)
        losses = torch.stack([step() for _ in range(3)])
        return losses, model.state_dict()

    for dtype, close in (
        (torch.float32, {"rtol": 1e-5, "atol": 1e-5}),
        (torch.bfloat16, {"rtol": 0.02, "atol": 2e-3}),  # AdamW's first steps have the size lr
    ):
        rung = rungs.rungs(dtype)[name]
        plain, weights = three_steps(rungs.Rung(), dtype)
        graphs = counters["stats"]["unique_graphs"]
        losses, changed = three_steps(rung, dtype)
        torch.testing.assert_close(losses, plain, **close)
        torch.testing.assert_close(changed, weights, **close)
        # A changed model is compiled anew: the graph of the other would know nothing of the change.
        assert (counters["stats"]["unique_graphs"] > graphs) == (rung.change is not None)


def test_the_head_is_padded_and_the_stream_is_halved():
    model = contenders.ours(contenders.TINY, torch.device("cpu"))
    seen = {}
    model.lm_head.register_forward_hook(lambda _, given, out: seen.update(x=given[0], out=out))
    rungs.pad_head(model)
    rungs.half_residual(model, torch.bfloat16)
    with mock.patch.object(F, "linear", wraps=F.linear) as linear, torch.autocast("cpu"):
        model.transformer.h[0].register_forward_pre_hook(lambda _, x: seen.update(stream=x[0]))
        model(torch.zeros(1, 5, dtype=torch.int64))
    assert linear.call_args.args[1].shape == (128, 16)
    assert seen["out"].shape == (1, 5, 97)
    assert seen["stream"].dtype == torch.bfloat16


def test_rungs_change_one_thing_each_and_keep_the_others():
    ladder = importlib.import_module("benchmarks.speed_ladder").ladder
    for on_gpu in (False, True):
        loops = [vars(loop) for loop in ladder(16, on_gpu).values()]
        for lower, higher in itertools.pairwise(loops):
            changed = [name for name in lower if lower[name] != higher[name]]
            assert len(changed) == 1
        assert loops[-1]["batch"] == 64
