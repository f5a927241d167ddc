"""Training throughput on one GPU: 124M parameters, T = 1024, bfloat16, B = 64, both compiled.

A plain loop around each model: autocast, clipped gradients, fused AdamW. Beside tokens per second
stands what share of the matrix rate, measured in the same run, the useful FLOPs are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch
from torch import nn

from benchmarks import contenders
from benchmarks.common import (
    Report,
    alternate,
    hardware_rates,
    parser,
    print_kernels,
    random_ids,
    rounds,
    top_kernels,
)
from gpt2_edu import flops


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--batch", type=int, help="sequences a step (default: 64)")
    options.add_argument("--profile", action="store_true", help="add the top GPU kernels of ours")
    options = options.parse_args(argv)
    device = torch.device(options.device)
    if device.type != "cuda" and not options.quick:
        raise SystemExit("This needs a CUDA device; --quick runs it on a CPU, to see that it runs.")
    config = contenders.size(options.quick)
    batch = options.batch or (3 if options.quick else 64)
    T, steps = (31, 1) if options.quick else (1024, 10)
    torch.set_float32_matmul_precision("high")  # TF32 for what autocast leaves in float32

    report = Report(
        "gpu_training",
        device,
        {"parameters": flops.num_parameters(config), "batch": batch, "T": T, "compiled": True},
        rates=hardware_rates(device, [torch.bfloat16], quick=options.quick),
    )
    idx = random_ids(batch, T + 1, config.vocab_size, device)

    def loop(model: nn.Module, loss_of: Callable) -> Callable[[], object]:
        loss = loss_of(contenders.compiled(model, options.quick))
        step = contenders.training_step(model, loss, idx, torch.bfloat16)
        return lambda: [step() for _ in range(steps)]

    runs = {"ours": loop(contenders.ours(config, device), contenders.our_loss)}
    if contenders.has_transformers():
        runs["transformers"] = loop(contenders.theirs(config, device), contenders.their_loss)
    taken = alternate(runs, rounds(options), device, warm_up=1)
    matrix_rate = report.rates["matrix bfloat16 FLOP/s"]
    limit = matrix_rate / flops.flops_per_token(config, T)
    report.add_rates("training", taken, batch * T * steps, "tokens/s", limit)
    if options.profile and device.type == "cuda":
        report.extra["kernels"] = top_kernels(runs["ours"])
        print_kernels(report.extra["kernels"])
    report.finish(options.json)


if __name__ == "__main__":
    main()
