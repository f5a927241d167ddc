"""Chapter 18: the limit of a step of your model, on a listed device or this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import ipywidgets as widgets
import torch

from .. import flops
from ..config import GPT2Config
from ..exhibits import Matrix
from ..machine import data_sheets
from ..machine.display import Exhibit
from ..machine.measure import copy_rate, matrix_rate
from .lab import SLOW, Lab

HERE = "this machine, measured"
PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
PRESETS = ("crane", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
# How often a step asks PyTorch for an operation: outside of the blocks, and in each of them.
REQUESTS = {"write": (15, 39), "train": (55, 100)}
REQUEST = 5e-6  # seconds that one takes; assumed


def without_dropout(preset: str) -> GPT2Config:
    """A preset's configuration, as what a step costs on paper assumes it."""
    config = GPT2Config.preset(preset)
    return replace(config, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0)


def limits(
    config: GPT2Config, job: str, batch: int, T: int, precision: str, rate: float, memory: float
) -> dict[str, float]:
    """The milliseconds that a step takes for each limit; the longest binds.

    job: "write", a token that attends to T keys, for each text, or "train".
    rate, memory: FLOP/s and bytes/s of the device.
    """
    outside, each = REQUESTS[job]
    if job == "train":
        work = batch * T * flops.flops_per_token(config, T)
        moved = 2 * flops.memory(config, batch, T, precision).total  # written and read
    else:
        work = batch * flops.flops_per_token(config, 2 * T, training=False)
        moved = flops.bytes_read_per_step(config, batch, T, precision)
    seconds = (REQUEST * (outside + each * config.n_layer), moved / memory, work / rate)
    names = ("requests", "memory traffic", "arithmetic")
    return {name: 1e3 * time for name, time in zip(names, seconds, strict=True)}


def on_paper(preset: str, job: str, batch: int, T: int, precision: str, device: str) -> list[float]:
    """The milliseconds of ``limits`` for a preset without dropout, on a listed device."""
    gpu = data_sheets.find_device(device)
    if gpu is None:
        raise ValueError(f"there is no data sheet of a {device}")
    rates = gpu.peak[precision], gpu.memory_bytes_per_second
    return list(limits(without_dropout(preset), job, batch, T, precision, *rates).values())


@cache
def measured(precision: str) -> tuple[float, float]:
    """Measure FLOP/s and bytes/s of this machine in a second or two."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.float32 if precision == "tf32" else getattr(torch, precision)
    return matrix_rate(device, dtype), copy_rate(device)


class Cost(Lab):
    """The time of a step for requests, memory traffic and arithmetic; the longest binds.

    config: the model's. Other arguments are those of ``Live``.
    """

    def __init__(self, config: GPT2Config, **live: Any) -> None:
        presets = {name: GPT2Config.preset(name) for name in PRESETS}
        sizes = {
            name: [c.n_layer, c.n_embd, c.n_head, c.vocab_size, c.block_size]
            for name, c in presets.items()
        }
        devices = {
            gpu.name: {"peak": dict(gpu.peak), "memory": gpu.memory_bytes_per_second}
            for gpu in data_sheets.DEVICES
        }
        super().__init__("cost", sizes=sizes, devices=devices, requests=REQUESTS, **live)
        self.config = config

    def controls(self) -> Mapping[str, Any]:
        most = self.config.block_size
        devices = [HERE, *(device.name for device in data_sheets.DEVICES)]
        return {
            "device": widgets.Dropdown(options=devices, description="device"),
            "job": widgets.Dropdown(options=["write", "train"], description="job"),
            "precision": widgets.Dropdown(options=PRECISIONS, description="numbers"),
            "batch": widgets.IntSlider(1, min=1, max=256, description="texts", **SLOW),
            "T": widgets.IntSlider(most, min=1, max=most, description="tokens", **SLOW),
        }

    def show(
        self, *, device: str, job: str, precision: str, batch: int, T: int
    ) -> Iterator[Exhibit | str]:
        found = data_sheets.find_device(device)
        if found is None:
            rate, memory = measured(precision)
        else:
            rate, memory = found.peak.get(precision, 0.0), found.memory_bytes_per_second
            if not rate:
                raise ValueError(f"the data sheet of a {device} has no figure for {precision}.")
        times = limits(self.config, job, batch, T, precision, rate, memory)
        bound = max(times, key=lambda name: times[name])
        yield Matrix(
            [[time] for time in times.values()],
            rows=list(times),
            columns=["ms"],
            decimals=3,
            caption=f"At least, for one step on {device}; a request is assumed to take 5 µs.",
        )
        rest = batch * (T if job == "train" else 1) / (times[bound] / 1e3)
        yield f"Bound by {bound}: at most {rest:,.0f} tokens a second."
