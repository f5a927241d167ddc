"""Rows of the tables of book/gpu.md: what fits on a card, what several send, what was measured."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from gpt2_edu import GPT2Config, flops
from gpt2_edu.machine.data_sheets import find_device

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
SIZES = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
CARDS = (8, 16, 24, 80)  # GB
RESERVED = 1.2e9  # the CUDA context and the workspaces of kernels
T = 1024
NO_DROPOUT = dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), 0.0)
TOKENS = 2**19  # a step
USED = 0.4  # the share of the peak that computing reaches
# Bytes per second on the slowest link of a ring. It leaves and enters a machine once, and with
# eight network cards there are eight rings, each for an eighth of the numbers.
INSIDE = 450e9  # NVLink
BETWEEN = (8 * 50e9, 12.5e9, 1.25e9)  # machines: 8 × 400, 100 and 10 Gbit/s


def fitting(T: int) -> str:
    """For each size the largest batch of T tokens on each card, in training with half precision."""
    rows = []
    for size in SIZES:
        config = replace(GPT2Config.preset(size), **NO_DROPOUT)
        cells = [
            flops.largest_batch(config, T, int(card * 1e9 - RESERVED), "float16") for card in CARDS
        ]
        shown = " | ".join(str(cell) if cell else "none" for cell in cells)
        rows.append(f"| {size} | {shown} |")
    return "\n".join(rows)


def writing() -> str:
    """For each size how many texts of 1,024 tokens a card writes at once, in half precision."""
    rows = []
    for size in SIZES:
        config = GPT2Config.preset(size)
        one = flops.generation_memory(config, 1, T, "float16")
        cells = [int((card * 1e9 - RESERVED - one.weights) // one.cache) for card in CARDS]
        rows.append(f"| {size} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    return "\n".join(rows)


def ceilings() -> str:
    """For some cards TFLOP/s by precision, and GB/s, as their data sheets have them."""
    rows = []
    for name in ("T4", "A100-SXM4-80GB", "RTX 4090", "H100 80GB HBM3"):
        gpu = find_device(name)
        assert gpu is not None
        peaks = [gpu.peak.get(kind) for kind in ("float32", "tf32", "float16")]
        cells = [f"{peak / 1e12:.1f}" if peak else "–" for peak in peaks]
        rows.append(f"| {name} | {' | '.join(cells)} | {gpu.memory_bytes_per_second / 1e9:,.0f} |")
    return "\n".join(rows)


def step(config: GPT2Config, devices: int, sent: float, rate: float) -> flops.TimeEstimate:
    h100 = find_device("H100 80GB HBM3")
    assert h100 is not None
    return flops.training_time(
        config,
        T,
        tokens=TOKENS,
        tokens_per_step=TOKENS,
        peak_flops_per_second=h100.peak["bfloat16"],
        utilisation=USED,
        devices=devices,
        bytes_sent_per_step=sent,
        network_bytes_per_second=rate,
    )


def scaling(size: str) -> str:
    """For 8 to 64 H100, eight in a machine: seconds of computing and sending in a step, by link."""
    config, rows = GPT2Config.preset(size), []
    send = flops.fsdp_bytes_per_step if size == "gpt2-xl" else flops.ddp_bytes_per_step
    for devices in (8, 16, 32, 64):
        one_machine = devices == 8
        times = [
            step(config, devices, send(config, devices), rate)
            for rate in ([INSIDE] if one_machine else BETWEEN)
        ]
        cells = [f"{time.communication_seconds:.3f}" for time in times]
        cells = [*cells, "", "", ""] if one_machine else ["", *cells]
        rows.append(f"| {devices} | {times[0].compute_seconds:.3f} | {' | '.join(cells)} |")
    return "\n".join(rows)


def newest(benchmark: str) -> dict[str, Any] | None:
    """The newest stored report of a benchmark that is no quick look."""
    found = [json.loads(path.read_text("utf-8")) for path in RESULTS.glob(f"{benchmark}-*.json")]
    found = [report for report in found if not report.get("quick")]
    return max(found, key=lambda report: report["date"], default=None)


def measured() -> str:
    report = newest("gpu")
    if report is None:
        return (
            "No report is stored yet: what this book says of GPUs is calculated, or was tested "
            "without one. `make gpu` writes the report that will be shown here."
        )
    machine = report["machine"]
    about = (
        f"Measured on {date.fromisoformat(report['date'][:10]):%Y-%m-%d} on one {machine['gpu']} "
        f"with PyTorch {machine['torch']}."
    )
    ran = [one for one in report["parts"] if one["state"] != "left out"]
    rows = [
        f"| {one['part']} | {one['state']} | {one['found'].replace('|', chr(92) + '|')} |"
        for one in ran
    ]
    others = [one for one in report["parts"] if one not in ran]
    told = [f"* {one['part']}: {one['found']}" for one in others]
    if told:
        told = ["", "Not run:", "", *told]
    return "\n".join([about, "", "| part | | found |", "| --- | --- | --- |", *rows, *told])
