"""Peak rates of GPUs, from their makers' data sheets: the table gpus.csv."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import torch

from .messages import nearest

# Bytes of one number. TF32 is a way to multiply float32 numbers, which are stored in 4 bytes.
BYTES = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2}


def bytes_per_number(precision: str) -> int:
    """Bytes of one number of a precision; ValueError for an unknown one."""
    if precision not in BYTES:
        raise ValueError(f"unknown precision {precision!r}. {nearest(precision, BYTES)}")
    return BYTES[precision]


@dataclass(frozen=True)
class Device:
    """A GPU's rates as its maker states them.

    ``peak`` holds FLOP/s of dense matrix products by precision, accumulated in float32, on the
    tensor cores where they support that precision. Data sheets since the A100 also print twice as
    much, "with sparsity", for matrices of which half the numbers are zero; ours are dense.
    """

    name: str  # as torch.cuda.get_device_name() gives it, without the brand
    peak: Mapping[str, float]
    memory_bytes_per_second: float
    source: str


def _read_table() -> tuple[Device, ...]:
    with files(__package__).joinpath("gpus.csv").open(encoding="utf-8") as file:
        return tuple(
            Device(
                row["name"],
                {precision: float(row[precision]) for precision in BYTES if row[precision]},
                float(row["bytes_per_second"]),
                row["source"],
            )
            for row in csv.DictReader(file)
        )


DEVICES = _read_table()


def find_device(device: str | torch.device) -> Device | None:
    """The table's entry for a GPU, by torch's device or by name; None if the table lacks it.

    The full name must match: an H100 NVL or a MIG slice of an A100 has other rates.
    """
    if isinstance(device, torch.device):
        if device.type != "cuda":
            return None
        device = torch.cuda.get_device_name(device)
    wanted = device.lower()
    for brand in ("nvidia ", "tesla ", "geforce "):
        wanted = wanted.removeprefix(brand)
    return next((known for known in DEVICES if known.name.lower() == wanted), None)


def device_peak(device: str | torch.device, precision: str) -> float | None:
    """Peak FLOP/s of dense matrix products, or None without a figure from a data sheet.

    None means a GPU that is not in the table, a precision that its tensor cores lack (bfloat16 on
    a T4), or a CPU, whose rate must be measured. Raises ValueError for an unknown precision.
    """
    bytes_per_number(precision)
    found = find_device(device)
    return found.peak.get(precision) if found else None
