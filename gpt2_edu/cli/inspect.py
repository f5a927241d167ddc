"""``gpt2-edu inspect``: what a model consists of and what it costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from .. import flops
from ..config import PRESETS, ModelConfig
from ..machine.options import option
from ..models import load_config, load_model, load_model_tokenizer
from ..tape import trace
from ..tokenizer import load_encoding
from . import command


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """What to look at."""

    model: str = option(
        "gpt2 … gpt2-xl, crane, a run folder, one with config.json and weights, or on the hub "
        "owner/name or owner/name@revision",
        "gpt2",
    )
    text: str = option("trace this text and print the shape of every tensor; needs weights", "")
    tokenizer: str | None = option("the tokenizer for --text; if not given, the model's", None)
    batch_size: int = option("sequences in a training step, for its memory", 8)


@command(
    "gpt2-edu inspect gpt2-xl",
    'gpt2-edu inspect runs/first --text "A crane ate fish"',
    positional="model",
)
def inspect(options: InspectOptions) -> None:
    """Print a model's sizes, parameters, cost and, for a text, its shape ledger."""
    name = options.model
    model = load_model(name) if options.text else None
    config: ModelConfig
    if model:
        config = model.config
    elif name in PRESETS and not Path(name).is_dir():
        config = PRESETS[name]
    else:
        config = load_config(name)
    for field, value in asdict(config).items():
        print(f"{field:22}{value!s:>16}")
    print()
    for part, count in flops.parameters_by_part(config).items():
        print(f"{'parameters, ' + part:22}{count:>16,}")
    print(f"{'parameters, all':22}{flops.num_parameters(config):>16,}\n")
    T = config.block_size
    per_token = flops.flops_per_token(config, T)
    print(f"FLOPs to train on a token, at T = {T}: {per_token:,}")
    memory = flops.memory(config, options.batch_size, T)
    print(f"memory to train in float32, batch {options.batch_size}: {memory.total / 2**30:.2f} GiB")
    cache = flops.cache_bytes_per_token(config, "bfloat16")
    print(f"cache in bfloat16, a token of one text: {cache:,} bytes")
    if model:
        given = options.tokenizer
        tokenizer = load_encoding(given) if given else load_model_tokenizer(name, model)
        with trace(model) as tape, torch.no_grad():
            model(torch.tensor([tokenizer.encode_ordinary(options.text)]))
        print(f"\n{tape.ledger()}")
