"""Tokens per second of greedy generation on a CPU, one text at a time.

"ours" is ``generate(fast.pack(model, torch.bfloat16), …)``, int8 and int4 are
``fast.pack(quantize(model, …))``, "not packed" is the plain model. The step of one token is
compiled for "compiled", where in int8 four integers make a word. The limit of each row is what is
possible if weights and cache are read at the rate at which torch reads memory. Each contender has a
process of its own, because the threads of one library slow another's that share its process.
"ratios" compares rounds: ours beside another's, how many times its tokens per second. A profile
says where the time of one token goes, and a second task what a token costs late in a text and early
in it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import contenders
from benchmarks.common import (
    Report,
    Row,
    alternate,
    alternate_apart,
    parser,
    random_ids,
    rounds,
)
from gpt2_edu import GPT2, GPT2Config, fast, flops, stream
from gpt2_edu.machine.measure import seconds
from gpt2_edu.quantize import quantize

RATIOS = {  # ours, and beside which
    "float32 beside transformers": ("ours, float32, not packed", "transformers, float32"),
    "bfloat16 beside transformers": ("ours", "transformers, bfloat16"),
    "float32 beside CTranslate2": ("ours, float32", "CTranslate2, float32"),
    "int8 beside CTranslate2": ("ours, int8", "CTranslate2, int8"),
    "float32, compiled, beside CTranslate2": ("ours, float32, compiled", "CTranslate2, float32"),
    "int8, compiled, beside CTranslate2": ("ours, int8, compiled", "CTranslate2, int8"),
    "int8, compiled, beside bfloat16": ("ours, int8, compiled", "ours"),
    "int8, compiled, beside bfloat16, compiled": ("ours, int8, compiled", "ours, compiled"),
    "int8 beside bfloat16": ("ours, int8", "ours"),
    "int4 beside bfloat16": ("ours, int4", "ours"),
}
PARTS = {  # of a token: how the names of their operations begin
    "products": (
        "mkldnn::_linear",
        "aten::addmm",
        "quantized::linear",
        "aten::_weight_int4pack",
    ),
    "attention": ("aten::_scaled_dot_product",),
    "norms": ("aten::native_layer_norm",),
    "GELU": ("aten::gelu",),
}


OURS = (
    "ours",
    "ours, int8",
    "ours, int4",
    "ours, float32",
    "ours, float32, not packed",
    "ours, compiled",
    "ours, int8, compiled",
    "ours, float32, compiled",
)


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
    weights = {"float32": plain.nbytes(), "bfloat16": plain.nbytes() // 2}
    weights |= {kind: quantised(plain, kind).nbytes() for kind in ("int8", "int4")}
    names = list(OURS)
    if contenders.has_transformers():
        names += ["transformers, float32", "transformers, bfloat16"]
    if contenders.has_ctranslate2():
        names += ["CTranslate2, float32", "CTranslate2, int8"]
    makers = {name: partial(make, name, config, idx, new) for name in names}
    if options.quick:
        taken = alternate({name: made() for name, made in makers.items()}, rounds(options), device)
    else:
        taken = alternate_apart(makers, rounds(options), device, warm_up=1)

    memory = torch.ones(2**18 if options.quick else 2**27)  # more than any cache holds
    times = alternate({"memory": memory.sum}, rounds(options), device)
    rate = memory.nbytes / statistics.median(times["memory"])
    report.rates = {"memory, read, bytes/s": rate}
    cache = flops.cache_bytes_per_token(config, "float32") * (prompt + new // 2)
    for name, seconds_ in taken.items():
        kind = next((kind for kind in weights if kind in name), "bfloat16")
        report.add_rates(
            "decode", {name: seconds_}, new, "tokens/s", rate / (weights[kind] + cache)
        )
    report.extra["ratios"] = {
        name: statistics.median(b / a for a, b in zip(taken[one], taken[other], strict=True))
        for name, (one, other) in RATIOS.items()
        if other in taken
    }
    report.extra["milliseconds of a token"] = {
        name: by_part(our_model(name, plain), idx, steps)
        for name in ("ours, float32", "ours", "ours, int8", "ours, int4")
    }
    for title, figures in report.extra.items():
        print(title, *(f"  {name}: {shown(figure)}" for name, figure in figures.items()), sep="\n")

    model = our_model("ours", plain)
    by_length = {length: [] for length in lengths}
    for _ in range(rounds(options)):
        for length in lengths:
            ids = random_ids(1, length, config.vocab_size, device)
            by_length[length].append(one_token(model, ids, steps))
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


def make(name: str, config: GPT2Config, idx: torch.Tensor, new: int) -> Callable[[], object]:
    """A contender: what generates its text."""
    plain, (whose, *how) = contenders.ours(config, idx.device), name.split(", ")
    if whose == "transformers":
        theirs = contenders.theirs(config, idx.device, getattr(torch, how[0]))
        return contenders.their_generation(theirs, idx, new)
    if whose == "CTranslate2":
        # In float32, too, in which its text is compared with ours.
        return contenders.ctranslate2_generations(plain, idx, new, ("float32", how[0]))[name]
    model, settings = our_model(name, plain), {}
    if "compiled" in how:
        settings["predict"] = fast.Compiled(model, 1, idx.size(1) + new)
    return contenders.our_generation(model, idx, new, **settings)


def our_model(name: str, plain: GPT2) -> GPT2:
    """Our model as the name of a contender says; bfloat16 if it says no type."""
    for kind in ("int8", "int4"):
        if kind in name:
            return fast.pack(quantised(plain, kind), for_compiler="compiled" in name)
    if "float32" not in name:
        return fast.pack(plain, torch.bfloat16, for_compiler="compiled" in name)
    return fast.pack(plain) if name == "ours, float32" else plain


def quantised(plain: GPT2, kind: str) -> GPT2:
    """In int8 with a scale for each row, in int4 for 32 columns, or fewer in a tiny model."""
    return quantize(plain) if kind == "int8" else quantize(plain, 4, min(32, plain.config.n_embd))


def by_part(model: GPT2, idx: torch.Tensor, steps: int) -> dict[str, float]:
    """Milliseconds of a token after idx, by the profiler, which itself slows small operations.

    "operations" are all others of torch, "Python" is what is left.
    """
    new = stream(model, idx, steps + 1, temperature=0)
    next(new)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        start = time.perf_counter()
        for _ in range(steps):
            next(new)
        whole = time.perf_counter() - start
    taken = dict.fromkeys(["head", *PARTS, "operations"], 0.0)
    products = 0
    for event in sorted(profile.events(), key=lambda event: event.time_range.start):
        part = next((p for p, names in PARTS.items() if event.name.startswith(names)), "operations")
        if part == "products":
            products += 1
            if products % (4 * model.config.n_layer + 1) == 0:  # the last of a token
                part = "head"
        taken[part] += event.self_cpu_time_total / 1e3 / steps
    taken["Python"] = whole * 1e3 / steps - sum(taken.values())
    return taken


def shown(figure: float | dict[str, float]) -> str:
    """Two digits of it, or of each part."""
    if isinstance(figure, dict):
        return ", ".join(f"{name} {part:.2f}" for name, part in figure.items())
    return f"{figure:.2f}"


def one_token(model: GPT2, idx: torch.Tensor, steps: int) -> float:
    """Median seconds of a token after idx."""
    new = stream(model, idx, steps + 1, temperature=0)
    next(new)  # the prompt's own pass
    return statistics.median(seconds(lambda: next(new), idx.device) for _ in range(steps))


if __name__ == "__main__":
    main()
