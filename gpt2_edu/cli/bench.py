"""How fast a model is here, beside what the machine reaches at most in the same minutes."""

from __future__ import annotations

import statistics
from contextlib import nullcontext

import torch

from .. import flops
from ..config import GPT2Config
from ..generation import generate
from ..machine.data_sheets import device_peak
from ..machine.measure import matrix_rate, matrix_vector_rate, seconds
from ..model import GPT2
from ..packed import pack


def bench(
    config: GPT2Config,
    *,
    device: torch.device,
    dtype: torch.dtype,
    batch_size: int = 1,
    prompt: int = 32,
    new_tokens: int = 128,
    block_size: int = 128,
    rounds: int = 3,
    compile: bool = False,
) -> None:
    """Print the machine's rates, then tokens/s of generating and of training with random weights.

    Utilisation is the model's useful FLOPs (see ``flops.flops_per_token``) over the matrix rate
    that was measured here; for a known GPU also over its data sheet's. Share of bandwidth is the
    bytes that decoding must read over what a matrix-vector product reads here.
    """
    for name, value in (("new_tokens", new_tokens), ("rounds", rounds), ("prompt", prompt)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if max(block_size, prompt + new_tokens - 1) > config.block_size:
        raise ValueError(
            f"prompt={prompt} and new_tokens={new_tokens}, or block_size={block_size}, exceed the "
            f"window of {config.block_size} tokens"
        )
    torch.manual_seed(0)
    kind = str(dtype).removeprefix("torch.")
    threads = f", {torch.get_num_threads()} threads" if device.type == "cpu" else ""
    print(f"{flops.num_parameters(config):,} parameters, {kind} on {device}{threads}")
    products = matrix_rate(device, dtype)
    reading = matrix_vector_rate(device, dtype, packed=True)
    print(f"matrix products      {products / 1e9:10,.0f} GFLOP/s   measured now")
    print(f"matrix times vector  {reading / 1e9:10,.1f} GB/s      measured now")

    model = GPT2(config).to(device)
    fast = pack(model, dtype)
    idx = torch.randint(config.vocab_size, (batch_size, prompt), device=device)

    def produce(new: int) -> float:
        return seconds(lambda: generate(fast, idx, new, temperature=0, compile=compile), device)

    produce(new_tokens)  # warm
    first = statistics.median(produce(1) for _ in range(rounds))
    whole = statistics.median(produce(new_tokens) for _ in range(rounds))
    print(f"first token          {first * 1e3:10,.1f} ms        prompt of {prompt}")
    if new_tokens > 1:
        rate = (new_tokens - 1) / (whole - first)  # steps per second
        read = flops.bytes_read_per_step(config, batch_size, prompt + new_tokens // 2, kind)
        share = rate * read / reading
        print(
            f"decode, batch {batch_size:<6} {rate * batch_size:10,.1f} tokens/s  "
            f"{share:.0%} of the matrix-vector bandwidth"
        )
    step_seconds = _training_seconds(model, batch_size, block_size, dtype, rounds, compile)
    tokens_per_second = batch_size * block_size / step_seconds
    used = flops.utilisation(config, block_size, tokens_per_second, products)
    peak = device_peak(device, kind)
    sheet = "n/a"
    if peak:
        sheet = f"{flops.utilisation(config, block_size, tokens_per_second, peak):.0%}"
    print(
        f"train, {batch_size} × {block_size:<9} {tokens_per_second:10,.1f} tokens/s  "
        f"{used:.0%} of the matrix rate measured, {sheet} of the data sheet's"
    )


def _training_seconds(
    model: GPT2, batch_size: int, T: int, dtype: torch.dtype, rounds: int, compile: bool
) -> float:
    """Seconds of one step: forward, backward, AdamW; products in ``dtype`` under autocast."""
    device = next(model.parameters()).device
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device.type != "mps")
    idx = torch.randint(model.config.vocab_size, (batch_size, T + 1), device=device)
    if compile:
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

    step()
    step()
    return statistics.median(seconds(step, device) for _ in range(rounds))
