"""Tokens per second of greedy generation on a CPU, one text at a time, in float32 and bfloat16.

"ours" is ``generate(pack(model), …)``, the fast road; "ours, not packed" is the model as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import contenders
from benchmarks.common import Report, alternate, hardware_rates, parser, random_ids, rounds
from gpt2_edu import flops
from gpt2_edu.packed import pack


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu").parse_args(argv)
    device = torch.device(options.device)
    config = contenders.size(options.quick)
    prompt, new = (5, 7) if options.quick else (16, 64)
    dtypes = [torch.float32, torch.bfloat16]

    report = Report(
        "cpu_generation",
        device,
        {"parameters": flops.num_parameters(config), "prompt": prompt, "new_tokens": new},
        rates=hardware_rates(device, dtypes, quick=options.quick),
    )
    idx = random_ids(1, prompt, config.vocab_size, device)
    for dtype in dtypes:
        kind = str(dtype).removeprefix("torch.")
        model = contenders.ours(config, device, dtype)
        runs = {
            "ours": contenders.our_generation(pack(model), idx, new),
            "ours, not packed": contenders.our_generation(model, idx, new),
        }
        if contenders.has_transformers():
            theirs = contenders.theirs(config, device, dtype)
            runs["transformers"] = contenders.their_generation(theirs, idx, new)
        taken = alternate(runs, rounds(options), device, warm_up=1)
        reading = report.rates[f"matrix-vector {kind} bytes/s"]
        limit = flops.decode_tokens_per_second_bound(config, 1, prompt + new // 2, reading, kind)
        report.add_rates(f"decode, {kind}", taken, new, "tokens/s", limit)
    report.finish(options.json)


if __name__ == "__main__":
    main()
