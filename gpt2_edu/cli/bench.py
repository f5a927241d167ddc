"""``gpt2-edu bench``: a model's speed, compared with the rates that this machine reaches."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from .. import fast, flops
from ..config import GPT2Config, LlamaConfig, ModelConfig
from ..generation import generate
from ..machine.data_sheets import device_peak
from ..machine.device import named_device, pick_precision
from ..machine.measure import matrix_rate, matrix_vector_rate, seconds
from ..machine.messages import short_repr
from ..machine.options import option
from ..models import new_model
from . import command
from .generate import check_memory, packed, type_name


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What to measure."""

    preset: str = option("the size to measure, with random weights", "gpt2")
    family: Literal["gpt2", "llama"] = option("GPT-2, or a Llama of these sizes", "gpt2")
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
    preset = GPT2Config.preset(options.preset)
    config: ModelConfig = LlamaConfig.like(preset) if options.family == "llama" else preset
    batch_size, T, prompt = options.batch_size, options.block_size, options.prompt
    new_tokens = options.new_tokens or min(128, config.block_size + 1 - prompt)
    if not 1 <= options.rounds <= 1000:
        raise ValueError(f"rounds must lie in 1 … 1000, got {short_repr(options.rounds)}")
    if min(batch_size, T, prompt, new_tokens) < 1:
        raise ValueError("batch_size, block_size, prompt and new_tokens must be at least 1")
    if max(T, prompt + new_tokens - 1) > config.block_size:
        raise ValueError(
            f"prompt={prompt} and new_tokens={new_tokens}, or block_size={T}, exceed the "
            f"window of {config.block_size} tokens"
        )
    check_memory(config, batch_size, prompt + new_tokens, dtype, device)
    torch.manual_seed(0)
    kind = type_name(dtype)
    model = new_model(config).to(device)
    frozen = copy.deepcopy(model).to(dtype) if options.compile else fast.pack(model, dtype)
    how = "compiled" if options.compile else f"weights{packed(frozen)}"
    where = f"{device}, {torch.get_num_threads()} threads" if device.type == "cpu" else device
    named = options.preset + " as a Llama" * (options.family == "llama")
    print(f"{named}: {flops.num_parameters(config):,} parameters, {how} in {kind} on {where}")
    matrix = matrix_rate(device, dtype)
    bandwidth = matrix_vector_rate(device, dtype, prepare=fast.pack)
    print(f"matrix products      {matrix / 1e9:10,.0f} GFLOP/s   measured now")
    print(f"matrix times vector  {bandwidth / 1e9:10,.1f} GB/s      measured now")

    def median_seconds(run: Callable[[], object]) -> float:
        return statistics.median(seconds(run, device) for _ in range(options.rounds))

    idx = torch.randint(config.vocab_size, (batch_size, max(T + 1, prompt)), device=device)
    predict = fast.Compiled(frozen, batch_size) if options.compile else None

    def write(n: int) -> None:
        generate(frozen, idx[:, :prompt], n, temperature=0, predict=predict)

    write(new_tokens)  # warm up
    first, total = (median_seconds(partial(write, n)) for n in (1, new_tokens))
    print(f"first token          {first * 1e3:10,.1f} ms        prompt of {prompt}")
    if new_tokens > 1:
        rate = (new_tokens - 1) / (total - first)  # steps per second
        read = flops.bytes_read_per_step(config, batch_size, prompt + new_tokens // 2, kind)
        print(
            f"decode, batch {batch_size:<6} {rate * batch_size:10,.1f} tokens/s  "
            f"{rate * read / bandwidth:.0%} of the matrix-vector bandwidth"
        )

    # Training: forward, loss, backward, AdamW; products in ``dtype`` under autocast.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device.type != "mps")
    if options.compile:
        model.compile()
    model.train()

    def step() -> None:
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            _, loss = model(idx[:, :T], idx[:, 1 : T + 1])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    step()  # warm up
    step()
    rate = batch_size * T / median_seconds(step)
    peak = device_peak(device, kind)
    sheet = f"{flops.utilisation(config, T, rate, peak):.0%}" if peak else "n/a"
    print(
        f"train, {batch_size} × {T:<9} {rate:10,.1f} tokens/s  "
        f"{flops.utilisation(config, T, rate, matrix):.0%} of the matrix rate measured, "
        f"{sheet} of the data sheet's"
    )
