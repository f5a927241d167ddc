"""How long one waits for the first new token after a prompt of 512 tokens.

This is bound by arithmetic, not by memory: all of the prompt goes through the model at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import contenders
from benchmarks.common import Report, Row, alternate, hardware_rates, parser, random_ids, rounds
from gpt2_edu import flops


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__).parse_args(argv)
    device = torch.device(options.device)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    config = contenders.size(options.quick)
    prompt = 31 if options.quick else 512

    kind = str(dtype).removeprefix("torch.")
    report = Report(
        "first_token",
        device,
        {"parameters": flops.num_parameters(config), "precision": kind, "prompt": prompt},
        rates=hardware_rates(device, [dtype], quick=options.quick),
    )
    idx = random_ids(1, prompt, config.vocab_size, device)
    runs = {"ours": contenders.our_generation(contenders.ours(config, device, dtype), idx, 1)}
    if contenders.has_transformers():
        theirs = contenders.theirs(config, device, dtype)
        runs["transformers"] = contenders.their_generation(theirs, idx, 1)
    taken = alternate(runs, rounds(options), device)
    # lm_head is needed for the last position alone.
    parts = flops.forward_flops_by_part(config, prompt)
    work = prompt * (sum(parts.values()) - parts["lm_head"]) + parts["lm_head"]
    limit = work / report.rates[f"matrix {kind} FLOP/s"]
    for name, times in taken.items():
        report.rows.append(
            Row("first token", name, times, "s", higher_is_better=False, limit=limit)
        )
    report.finish(options.json)


if __name__ == "__main__":
    main()
