"""gpt2-edu bench."""

from __future__ import annotations

import dataclasses
from functools import partial

import pytest
import torch

import gpt2_edu.cli.bench
from gpt2_edu.cli.bench import BenchOptions, bench
from gpt2_edu.config import PRESETS
from gpt2_edu.machine import measure


def _small(real, size, device, dtype, **settings):
    return real(device, dtype, size, **settings)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_the_bench_reports_rates_and_shares(capsys, monkeypatch, precision, config):
    # Smaller products: a CPU that has no bfloat16 takes minutes for the usual ones.
    for name, size in (("matrix_rate", 256), ("matrix_vector_rate", (512, 256))):
        real = getattr(gpt2_edu.cli.bench, name)
        monkeypatch.setattr(gpt2_edu.cli.bench, name, partial(_small, real, size))
    monkeypatch.setitem(PRESETS, "gpt2", dataclasses.replace(config, block_size=64))
    sizes = {"batch_size": 2, "prompt": 5, "new_tokens": 7, "block_size": 11, "rounds": 1}
    bench(BenchOptions(**sizes, device="cpu", precision=precision))
    lines = {line[:6].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert "GFLOP/s" in lines["matrix"] or "GB/s" in lines["matrix"]
    assert "tokens/s" in lines["decode"]
    assert "% of the matrix-vector bandwidth" in lines["decode"]
    assert "n/a of the data sheet" in lines["train,"]


def test_the_bench_refuses_what_does_not_fit(refused, monkeypatch):
    monkeypatch.setattr("gpt2_edu.cli.generate.available_memory", lambda device: 2_000_000)
    assert "0.00 GiB free" in refused("bench", "--device", "cpu")
    assert "exceed the window" in refused("bench", "--new-tokens", 2000)
    assert "Did you mean 'gpt2-xl'" in refused("bench", "--preset", "gpt2-xxl")


def test_a_rate_is_the_work_of_one_call_per_second(monkeypatch):
    monkeypatch.setattr(measure, "seconds", lambda run, device: run().nbytes)  # of its result
    cpu = torch.device("cpu")
    assert measure.matrix_rate(cpu, torch.float32, 3) == 2 * 3**3 / (3 * 3 * 4)
    assert measure.matrix_vector_rate(cpu, torch.bfloat16, (3, 5)) == 3 * 5 * 2 / (3 * 2)
    assert measure.copy_rate(cpu, 40) == 2 * 40 / 40
