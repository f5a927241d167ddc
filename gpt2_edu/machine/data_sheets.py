"""Peak rates of GPUs, from their makers' data sheets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


def _rates(float32: float, tf32: float, half: float) -> dict[str, float]:
    """The peaks of a GPU since Ampere; ``half`` is that of bfloat16 and of float16."""
    return {"float32": float32, "tf32": tf32, "bfloat16": half, "float16": half}


_VOLTA = {"float32": 15.7e12, "float16": 125e12}
_AMPERE = _rates(19.5e12, 156e12, 312e12)
_HOPPER = _rates(67e12, 494.7e12, 989.4e12)
_V100_SHEET = "NVIDIA V100 data sheet"
_A100_SHEET = "NVIDIA A100 Tensor Core GPU data sheet; 40 GB: A100 architecture whitepaper, 2020"
_L4_SHEET = "NVIDIA L4 data sheet (sparse figures halved)"
_RTX_3090 = "NVIDIA Ampere GA102 whitepaper, table of the RTX 3090"
_RTX_4090 = "NVIDIA Ada GPU architecture whitepaper, table of the RTX 4090"
_H100_SHEET = "NVIDIA H100 Tensor Core GPU data sheet (sparse figures halved); H100 whitepaper"
_B200_SHEET = "NVIDIA HGX B200 data sheet (an eighth of the board, sparse figures halved)"

DEVICES = (
    Device("T4", {"float32": 8.1e12, "float16": 65e12}, 320e9, "NVIDIA T4 data sheet"),
    Device("V100-PCIE-16GB", {"float32": 14e12, "float16": 112e12}, 900e9, _V100_SHEET),
    Device("V100-SXM2-16GB", _VOLTA, 900e9, _V100_SHEET),
    Device("V100-SXM2-32GB", _VOLTA, 900e9, _V100_SHEET),
    Device("A100-PCIE-40GB", _AMPERE, 1555e9, _A100_SHEET),
    Device("A100-SXM4-40GB", _AMPERE, 1555e9, _A100_SHEET),
    Device("A100 80GB PCIe", _AMPERE, 1935e9, _A100_SHEET),
    Device("A100-SXM4-80GB", _AMPERE, 2039e9, _A100_SHEET),
    Device("A10G", _rates(35e12, 35e12, 70e12), 600e9, "NVIDIA A10G data sheet (AWS, 2022)"),
    Device("L4", _rates(30.3e12, 60e12, 121e12), 300e9, _L4_SHEET),
    Device("RTX 3090", _rates(35.6e12, 35.6e12, 71e12), 936e9, _RTX_3090),
    Device("RTX 4090", _rates(82.6e12, 82.6e12, 165.2e12), 1008e9, _RTX_4090),
    Device("H100 PCIe", _rates(51e12, 378e12, 756e12), 2000e9, _H100_SHEET),
    Device("H100 80GB HBM3", _HOPPER, 3350e9, _H100_SHEET),
    Device("H200", _HOPPER, 4800e9, "NVIDIA H200 Tensor Core GPU data sheet (halved)"),
    Device("B200", _rates(75e12, 1125e12, 2250e12), 8000e9, _B200_SHEET),
)


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
