"""Peak memory of a training step and of generation, beside what flops.py works out on paper.

On a GPU: the most that torch's allocator handed out. On a CPU: the most that the process held,
less what it held once its libraries were loaded. Each figure comes from a process of its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import contenders
from benchmarks.common import Report, Row, parser, random_ids, rounds
from gpt2_edu import flops


def held(device: torch.device) -> int:
    """The most bytes that this process has held so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "linux":  # ru_maxrss there counts the process that started this one too
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(task: str, contender: str, kind: str, quick: bool, threads: int) -> float:
    """Peak bytes of one task, measured in a process that has done nothing else."""
    torch.set_num_threads(threads)
    device = torch.device(kind)
    config = contenders.size(quick)
    batch, T, new = shape(quick)
    make = contenders.ours if contender == "ours" else contenders.theirs
    with torch.device("meta"):  # loads the libraries
        make(contenders.TINY, torch.device("meta"))
    before = held(device)
    precision = torch.bfloat16 if device.type == "cuda" else torch.float32
    if task == "training":
        model = make(config, device)
        loss = contenders.our_loss if contender == "ours" else contenders.their_loss
        idx = random_ids(batch, T + 1, config.vocab_size, device)
        step = contenders.training_step(model, loss(model), idx, precision)
        step()
        step()
    else:
        model = make(config, device, precision)
        idx = random_ids(batch, T - new, config.vocab_size, device)
        if contender == "ours":
            contenders.our_generation(model, idx, new)()
        else:
            contenders.their_generation(model, idx, new)()
    return held(device) - before


def shape(quick: bool) -> tuple[int, int, int]:
    """B, T, and how many of the T are generated."""
    return (3, 31, 7) if quick else (4, 512, 64)


def on_paper(task: str, device: torch.device, quick: bool) -> int:
    config = contenders.size(quick)
    batch, T, _new = shape(quick)
    precision = "bfloat16" if device.type == "cuda" else "float32"
    if task == "generation":
        return flops.generation_memory(config, batch, T, precision).total
    parts = flops.memory(config, batch, T, precision, device_type=device.type)
    return parts.total - parts.gradients  # one micro-batch a step: none are kept from before


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__).parse_args(argv)
    device = torch.device(options.device)
    batch, T, new = shape(options.quick)
    report = Report(
        "memory",
        device,
        {
            "parameters": flops.num_parameters(contenders.size(options.quick)),
            "batch": batch,
            "T": T,
            "new_tokens": new,
        },
    )
    names = ["ours", "transformers"] if contenders.has_transformers() else ["ours"]
    apart = multiprocessing.get_context("spawn")
    for task in ("training", "generation"):
        values: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(min(rounds(options), 2)):  # hardly differs between rounds
            for name in names:
                with apart.Pool(1) as pool:
                    job = (task, name, device.type, options.quick, torch.get_num_threads())
                    values[name].append(pool.apply(measure, job))
        paper = on_paper(task, device, options.quick)
        for name in names:
            row = Row(task, name, values[name], "bytes", higher_is_better=False, limit=paper)
            report.rows.append(row)
    report.finish(options.json)


if __name__ == "__main__":
    main()
