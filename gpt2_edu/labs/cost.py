"""Chapter 18: the bottleneck of a step of your model, on a listed device or this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


@cache
def measured(precision: str) -> tuple[float, float]:
    """Measure FLOP/s and bytes/s of this machine in a second or two."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.float32 if precision == "tf32" else getattr(torch, precision)
    return matrix_rate(device, dtype), copy_rate(device)


class Cost(Lab):
    """The time of a step for arithmetic and for memory traffic; the longer is the bound.

    config: the model's. Other arguments are those of ``Live``.
    """

    def __init__(self, config: GPT2Config, **live: Any) -> None:
        super().__init__("cost", **live)
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
        if job == "train":
            work = batch * T * flops.flops_per_token(self.config, T)
            moved = 2 * flops.memory(self.config, batch, T, precision).total  # written and read
            tokens = batch * T
        else:  # one token that attends to T keys
            work = batch * flops.flops_per_token(self.config, 2 * T, training=False)
            moved = flops.bytes_read_per_step(self.config, batch, T, precision)
            tokens = batch
        times = {"arithmetic": 1e3 * work / rate, "memory traffic": 1e3 * moved / memory}
        bound = max(times, key=lambda name: times[name])
        yield Matrix(
            [[time] for time in times.values()],
            rows=list(times),
            columns=["ms"],
            decimals=3,
            caption=f"At least, for one step on {device}: {work:.3g} FLOP, {moved:.3g} bytes.",
        )
        rest = tokens / (times[bound] / 1e3)
        yield f"Bound by {bound}: at most {rest:,.0f} tokens a second."
