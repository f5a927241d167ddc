"""Measured rates of this machine: the upper bounds that a model's speed is compared with.

Each rate is the best of a few short runs, in FLOP/s or bytes/s without prefix. It is measured when
it is needed, because a data sheet knows neither the other programs on the machine nor its
temperature.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn


def seconds(run: Callable[[], object], device: torch.device) -> float:
    """How long a call takes, with the work that it starts on a GPU."""
    on_gpu = device.type in ("cuda", "mps")
    if on_gpu:
        torch.accelerator.synchronize(device)
    start = time.perf_counter()
    run()
    if on_gpu:
        torch.accelerator.synchronize(device)
    return time.perf_counter() - start


def matrix_rate(device: torch.device, dtype: torch.dtype, size: int | None = None) -> float:
    """FLOP/s of a large square matrix product: the upper bound for training."""
    n = size or (8192 if device.type == "cuda" else 2048)
    a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))
    return 2 * n**3 / _best_of(5, lambda: a @ b, device)


@torch.no_grad()
def matrix_vector_rate(
    device: torch.device,
    dtype: torch.dtype,
    shape: tuple[int, int] | None = None,
    *,
    prepare: Callable[[nn.Module], nn.Module] = nn.Sequential,
) -> float:
    """Bytes/s at which a matrix is read to multiply one vector: the upper bound for decoding.

    The matrix is far larger than any cache. ``prepare`` may replace the layer that multiplies, as
    ``fast.pack`` does.
    """
    rows, columns = shape or ((50304, 8192) if device.type == "cuda" else (50304, 2048))
    linear = nn.Linear(columns, rows, bias=False, device=device, dtype=dtype)
    product = prepare(nn.Sequential(linear))
    x = torch.randn(1, columns, device=device).to(dtype)
    return rows * columns * dtype.itemsize / _best_of(10, lambda: product(x), device)


def copy_rate(device: torch.device, size: int = 2**27) -> float:
    """Bytes/s read and written while one large tensor is copied to another."""
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size / _best_of(5, lambda: target.copy_(source), device)


def fastest(run: Callable[[], object], device: torch.device, within: float = 2.0) -> float:
    """Seconds of the fastest of some calls: at least 2, at most 10, within about so many seconds.

    The first call, which warms up, does not count. A machine that does other things is slow most
    of the time.
    """
    run()
    times: list[float] = []
    while len(times) < 2 or (len(times) < 10 and sum(times) < within):
        times.append(seconds(run, device))
    return min(times)


def _best_of(repeats: int, run: Callable[[], object], device: torch.device) -> float:
    run()
    return min(seconds(run, device) for _ in range(repeats))
