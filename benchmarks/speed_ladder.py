"""What each technique brings to training speed: a plain loop, one technique more on each rung.

On a GPU the 124M model at T = 1024, on a CPU one of 2.9M at T = 128. All rungs take turns. The
loop is written out below, so that one can see how little each rung changes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import contenders
from benchmarks.common import (
    Report,
    Row,
    alternate,
    hardware_rates,
    parser,
    random_ids,
    rounds,
)
from gpt2_edu import GPT2, GPT2Config, flops

ON_A_CPU = GPT2Config(
    vocab_size=2001, block_size=128, n_layer=4, n_head=4, n_embd=224, **contenders.NO_DROPOUT
)


@dataclass(frozen=True)
class Loop:
    """The techniques of a rung."""

    batch: int
    tf32: bool = False
    autocast: bool = False
    fused_attention: bool = False
    compiled: bool = False
    padded_vocabulary: bool = False
    fused_optimiser: bool = False


def ladder(batch: int, on_gpu: bool) -> dict[str, Loop]:
    """Each rung keeps what the ones before it have."""
    loop = Loop(batch)
    rungs = {"float32, explicit attention": loop}

    def climb(name: str, **change: bool | int) -> None:
        nonlocal loop
        loop = replace(loop, **change)
        rungs[name] = loop

    if on_gpu:
        climb("+ TF32 products", tf32=True)
    climb("+ bfloat16 autocast", autocast=True)
    climb("+ fused attention", fused_attention=True)
    if on_gpu or shutil.which(os.environ.get("CXX", "c++")):
        climb("+ torch.compile", compiled=True)
    climb("+ vocabulary padded to 64s", padded_vocabulary=True)
    climb("+ fused AdamW", fused_optimiser=True)
    climb("+ 4 times the batch", batch=4 * batch)
    return rungs


def training_loop(
    loop: Loop, config: GPT2Config, T: int, steps: int, device: torch.device, quick: bool
) -> Callable[[], None]:
    """A run of ``steps`` training steps as the rung says."""
    V = config.vocab_size
    if loop.padded_vocabulary:  # matrix units like multiples of 64; the ids beyond V never occur
        config = replace(config, vocab_size=-(-V // 64) * 64)
    model = GPT2(config).to(device)
    forward = contenders.compiled(model, quick) if loop.compiled else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=loop.fused_optimiser)
    idx = random_ids(loop.batch, T + 1, V, device)
    model.use_attention("auto" if loop.fused_attention else "explicit")

    def run() -> None:
        torch.set_float32_matmul_precision("high" if loop.tf32 else "highest")
        for _ in range(steps):
            with torch.autocast(device.type, torch.bfloat16, enabled=loop.autocast):
                _, loss = forward(idx[:, :-1], idx[:, 1:])
            loss.backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    return run


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--batch", type=int, help="sequences a step below the last rung")
    options = options.parse_args(argv)
    device = torch.device(options.device)
    on_gpu = device.type == "cuda"
    config = contenders.SMALLEST if on_gpu else ON_A_CPU
    batch, T, steps = (16, 1024, 4) if on_gpu else (16, 128, 2)
    if options.quick:
        config, batch, T, steps = contenders.TINY, 3, 31, 1
    batch = options.batch or batch

    report = Report(
        "speed_ladder",
        device,
        {"parameters": flops.num_parameters(config), "batch": batch, "T": T},
        rates=hardware_rates(device, [torch.float32, torch.bfloat16], quick=options.quick),
    )
    rungs = ladder(batch, on_gpu)
    runs = {
        name: training_loop(loop, config, T, steps, device, options.quick)
        for name, loop in rungs.items()
    }
    taken = alternate(runs, rounds(options), device, warm_up=1)
    first = before = [batch * T * steps / t for t in next(iter(taken.values()))]
    for name, loop in rungs.items():
        kind = "bfloat16" if loop.autocast else "float32"
        limit = report.rates[f"matrix {kind} FLOP/s"] / flops.flops_per_token(config, T)
        rates = [loop.batch * T * steps / t for t in taken[name]]
        gains = [
            statistics.median(a / b for a, b in zip(rates, earlier, strict=True))
            for earlier in (before, first)
        ]
        note = f"{gains[0]:.2f} × the rung before, {gains[1]:.2f} × the first"
        report.rows.append(Row("training", name, rates, "tokens/s", limit=limit, note=note))
        before = rates
    report.finish(options.json)


if __name__ == "__main__":
    main()
