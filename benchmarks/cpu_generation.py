"""Tokens per second of greedy generation on a CPU, one text at a time.

"ours" is ``generate(fast.pack(model, torch.bfloat16), …)``, "not packed" the plain model. The
limit of each row is what torch's matrix-vector product of its type reaches in the same rounds, if
nothing but weights and cache had to be read; the note says the same of the packed product, which is
faster. "beside transformers" compares the plain models in float32, and ours packed with theirs in
bfloat16. A second task measures what a token costs late in a text and early in it.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch
from torch import nn

from benchmarks import contenders
from benchmarks.common import Report, Row, alternate, parser, random_ids, rounds
from gpt2_edu import GPT2, fast, flops, stream
from gpt2_edu.machine.measure import seconds

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu").parse_args(argv)
    device = torch.device(options.device)
    config = contenders.size(options.quick)
    prompt, new = (5, 7) if options.quick else (32, 128)
    lengths, steps = ((8, 32), 4) if options.quick else ((64, 960), 32)

    report = Report(
        "cpu_generation",
        device,
        {"parameters": flops.num_parameters(config), "prompt": prompt, "new_tokens": new},
    )
    idx = random_ids(1, prompt, config.vocab_size, device)
    plain = contenders.ours(config, device)
    packed = {kind: fast.pack(plain, dtype) for kind, dtype in TYPES.items()}
    runs = {
        "ours": contenders.our_generation(packed["bfloat16"], idx, new),
        "ours, float32": contenders.our_generation(packed["float32"], idx, new),
        "ours, float32, not packed": contenders.our_generation(plain, idx, new),
    }
    if contenders.has_transformers():
        for kind, dtype in TYPES.items():
            theirs = contenders.theirs(config, device, dtype)
            runs[f"transformers, {kind}"] = contenders.their_generation(theirs, idx, new)

    products = {
        f"{layout}matrix-vector {kind} bytes/s": matrix_vector(dtype, bool(layout), options.quick)
        for kind, dtype in TYPES.items()
        for layout in ("", "packed ")
    }
    with torch.no_grad():  # the limits take their turn with the contenders
        reading = {name: run for name, (run, _) in products.items()}
        taken = alternate(runs | reading, rounds(options), device, warm_up=1)
    report.rates = {
        name: size / statistics.median(taken.pop(name)) for name, (_, size) in products.items()
    }
    if contenders.has_transformers():
        pairs = {
            "float32": ("ours, float32, not packed", "transformers, float32"),
            "bfloat16": ("ours", "transformers, bfloat16"),
        }
        report.extra["beside transformers"] = {
            kind: statistics.median(b / a for a, b in zip(taken[one], taken[other], strict=True))
            for kind, (one, other) in pairs.items()
        }
        print("beside transformers:", report.extra["beside transformers"])
    for name, times in taken.items():
        kind = "bfloat16" if name == "ours" or "bfloat16" in name else "float32"
        plain_limit, packed_limit = (
            flops.decode_tokens_per_second_bound(config, 1, prompt + new // 2, rate, kind)
            for layout in ("", "packed ")
            for rate in [report.rates[f"{layout}matrix-vector {kind} bytes/s"]]
        )
        report.add_rates("decode", {name: times}, new, "tokens/s", plain_limit)
        of_packed = report.rows[-1].median / packed_limit
        report.rows[-1].note = f"{of_packed:.0%} of the packed product's limit"

    by_length = {length: [] for length in lengths}
    for _ in range(rounds(options)):
        for length in lengths:
            ids = random_ids(1, length, config.vocab_size, device)
            by_length[length].append(one_token(packed["bfloat16"], ids, steps))
    early, late = (by_length[length] for length in lengths)
    report.rows += [
        Row(f"a token after {lengths[0]}", "ours", early, "s", higher_is_better=False),
        Row(
            f"a token after {lengths[1]}",
            "ours",
            late,
            "s",
            higher_is_better=False,
            note=f"{statistics.median(b / a for a, b in zip(early, late, strict=True)):.2f} × it",
        ),
    ]
    report.finish(options.json)


def matrix_vector(
    dtype: torch.dtype, packed: bool, quick: bool
) -> tuple[Callable[[], object], int]:
    """A run of products of a matrix that no cache can hold with one vector, and the bytes read.

    They are many, so that they meet what else the machine does as the contenders meet it.
    """
    rows, columns, times = (512, 64, 2) if quick else (50304, 2048, 40)
    plain = nn.Linear(columns, rows, bias=False, dtype=dtype)
    product = fast.PackedLinear(plain) if packed and fast.onednn_knows(dtype) else plain
    x = torch.randn(1, columns).to(dtype)
    return lambda: [product(x) for _ in range(times)], times * rows * columns * dtype.itemsize


def one_token(model: GPT2, idx: torch.Tensor, steps: int) -> float:
    """Median seconds of a token after idx."""
    new = stream(model, idx, steps + 1, temperature=0)
    next(new)  # the prompt's own pass
    return statistics.median(seconds(lambda: next(new), idx.device) for _ in range(steps))


if __name__ == "__main__":
    main()
