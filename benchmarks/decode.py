"""Tokens per second of greedy generation with a cache: one text at a time, and 64 at once.

On a GPU in bfloat16: ours (each step a replayed CUDA graph) and ours compiled, against
transformers as it comes and with its static cache and compilation. On a CPU in float32, with
fewer tokens, and 16 texts at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

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
from gpt2_edu import flops, generate


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--profile", action="store_true", help="add the top GPU kernels of ours")
    options = options.parse_args(argv)
    device = torch.device(options.device)
    on_gpu = device.type == "cuda"
    dtype = torch.bfloat16 if on_gpu else torch.float32
    config = contenders.size(options.quick)
    prompt, new, batches = (16, 256, (1, 64)) if on_gpu else (16, 32, (1, 16))
    if options.quick:
        prompt, new, batches = 5, 7, (1, 3)

    kind = str(dtype).removeprefix("torch.")
    report = Report(
        "decode",
        device,
        {
            "parameters": flops.num_parameters(config),
            "precision": kind,
            "prompt": prompt,
            "new_tokens": new,
        },
        rates=hardware_rates(device, [dtype], quick=options.quick),
    )
    reading = max(report.rates[f"matrix-vector {kind} bytes/s"], report.rates["copy bytes/s"])
    ours = contenders.ours(config, device, dtype)
    theirs = contenders.theirs(config, device, dtype) if contenders.has_transformers() else None
    for batch in batches:
        torch.compiler.reset()  # else another batch makes the compiler leave sizes open
        idx = random_ids(batch, prompt, config.vocab_size, device)
        runs = {"ours": contenders.our_generation(ours, idx, new)}
        if on_gpu:
            runs["ours compiled"] = lambda idx=idx: generate(
                ours, idx, new, temperature=0, compile=True
            )
        if theirs is not None:
            runs["transformers"] = contenders.their_generation(theirs, idx, new)
        if theirs is not None and on_gpu:  # a static cache is compiled there by itself
            runs["transformers static, compiled"] = contenders.their_generation(
                theirs, idx, new, cache_implementation="static"
            )
        taken = alternate(runs, rounds(options), device)
        # On average a step finds the prompt and half of the new tokens in the cache.
        limit = flops.decode_tokens_per_second_bound(
            config, batch, prompt + new // 2, reading, kind
        )
        report.add_rates(f"decode, batch {batch}", taken, batch * new, "tokens/s", limit)
        if options.profile and on_gpu:
            report.extra[f"kernels, batch {batch}"] = top_kernels(runs["ours"])
            print_kernels(report.extra[f"kernels, batch {batch}"])
    report.finish(options.json)


if __name__ == "__main__":
    main()
