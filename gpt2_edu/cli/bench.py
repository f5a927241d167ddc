"""``gpt2-edu bench``: a model's speed, compared with the rates that this machine reaches."""

from __future__ import annotations

import copy
import statistics
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal

import torch

from .. import fast, flops
from ..config import GPT2Config
from ..generation import generate
from ..machine.data_sheets import device_peak
from ..machine.device import named_device, pick_precision
from ..machine.measure import matrix_rate, matrix_vector_rate, seconds
from ..machine.messages import short_repr
from ..machine.options import option
from ..model import GPT2
from . import command
from .generate import check_memory, packed, type_name


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What to measure."""

    preset: str = option("the size to measure, with random weights", "gpt2")
    batch_size: int = option("texts at once, generating and training", 1)
    prompt: int = option("tokens in the prompt", 32)
    new_tokens: int = option("tokens to generate; 0: 128, or as many as the window takes", 0)
    block_size: int = option("tokens of each text in a training step", 128)
    rounds: int = option("repetitions; the median counts", 3)
    compile: bool = option("compile", False)
    device: str = option("auto, cpu, cuda …", "auto")
    precision: Literal["auto", "float32", "bf16", "fp16"] = option("type of the products", "auto")


@command("gpt2-edu bench", "gpt2-edu bench --preset gpt2-medium --batch-size 64 --compile")
def bench(options: BenchOptions) -> None:
    """Measure tokens/s, utilisation and the share of this machine's bandwidth.

    Utilisation is the model's FLOPs (see ``flops.flops_per_token``) over the matrix rate measured
    now and, for a known GPU, over its data sheet's. The share of the bandwidth is the rate at
    which decoding reads its bytes over the rate of a matrix-vector product.
    """
    device = named_device(options.device)
    dtype = pick_precision(options.precision, device)
    config = GPT2Config.preset(options.preset)
    for name in ("batch_size", "new_tokens", "rounds", "prompt", "block_size"):
        if (value := getattr(options, name)) < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    fits = config.block_size + 1 - options.prompt  # "crane" sees 128 tokens
    options = replace(options, new_tokens=options.new_tokens or min(128, fits))
    if options.rounds > 1000:
        raise ValueError(f"rounds must be at most 1000, got {short_repr(options.rounds)}")
    batch_size, T = options.batch_size, options.block_size
    prompt, new_tokens = options.prompt, options.new_tokens
    if max(T, prompt + new_tokens - 1) > config.block_size:
        raise ValueError(
            f"prompt={prompt} and new_tokens={new_tokens}, or block_size={T}, exceed the "
            f"window of {config.block_size} tokens"
        )
    check_memory(config, batch_size, prompt + new_tokens, dtype, device)
    torch.manual_seed(0)
    kind, threads = type_name(dtype), torch.get_num_threads()
    model = GPT2(config).to(device)
    frozen = copy.deepcopy(model).to(dtype) if options.compile else fast.pack(model, dtype)
    how = "compiled" if options.compile else f"weights{packed(frozen)}"
    where = f"{device}, {threads} threads" if device.type == "cpu" else device
    print(
        f"{options.preset}: {flops.num_parameters(config):,} parameters, {how} in {kind} on {where}"
    )
    matrix = matrix_rate(device, dtype)
    bandwidth = matrix_vector_rate(device, dtype, prepare=fast.pack)
    print(f"matrix products      {matrix / 1e9:10,.0f} GFLOP/s   measured now")
    print(f"matrix times vector  {bandwidth / 1e9:10,.1f} GB/s      measured now")

    first, total = _generation_seconds(frozen, options)
    print(f"first token          {first * 1e3:10,.1f} ms        prompt of {prompt}")
    if new_tokens > 1:
        rate = (new_tokens - 1) / (total - first)  # steps per second
        read = flops.bytes_read_per_step(config, batch_size, prompt + new_tokens // 2, kind)
        print(
            f"decode, batch {batch_size:<6} {rate * batch_size:10,.1f} tokens/s  "
            f"{rate * read / bandwidth:.0%} of the matrix-vector bandwidth"
        )
    rate = batch_size * T / _training_seconds(model, options, dtype)
    peak = device_peak(device, kind)
    sheet = f"{flops.utilisation(config, T, rate, peak):.0%}" if peak else "n/a"
    print(
        f"train, {batch_size} × {T:<9} {rate:10,.1f} tokens/s  "
        f"{flops.utilisation(config, T, rate, matrix):.0%} of the matrix rate measured, "
        f"{sheet} of the data sheet's"
    )


def _generation_seconds(model: GPT2, options: BenchOptions) -> tuple[float, float]:
    """Seconds to generate the first token, and all of them."""
    size, device = (options.batch_size, options.prompt), model.device
    idx = torch.randint(model.config.vocab_size, size, device=device)

    predict = fast.Compiled(model, len(idx)) if options.compile else None

    def run(n: int) -> float:
        return seconds(lambda: generate(model, idx, n, temperature=0, predict=predict), device)

    run(options.new_tokens)  # warm up
    first, total = (
        statistics.median(run(n) for _ in range(options.rounds)) for n in (1, options.new_tokens)
    )
    return first, total


def _training_seconds(model: GPT2, options: BenchOptions, dtype: torch.dtype) -> float:
    """Seconds of one step: forward, backward, AdamW; products in ``dtype`` under autocast."""
    device = model.device
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device.type != "mps")
    size = (options.batch_size, options.block_size + 1)
    idx = torch.randint(model.config.vocab_size, size, device=device)
    if options.compile:
        model.compile()
    autocast = torch.autocast(device.type, dtype) if dtype != torch.float32 else nullcontext()
    model.train()

    def step() -> None:
        with autocast:
            _, loss = model(idx[:, :-1], idx[:, 1:])
        assert loss is not None
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    step()  # warm up
    step()
    return statistics.median(seconds(step, device) for _ in range(options.rounds))
