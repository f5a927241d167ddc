"""``gpt2-edu generate``: continue a text."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

import torch

from ..generation import stream
from ..machine.device import named_device, pick_precision
from ..machine.options import option
from ..machine.outside import printable, shown
from ..model import GPT2
from ..packed import pack
from ..tokenizer import load_tokenizer, stream_text, tokenizer_name
from ..training.checkpoint import model_folder
from . import command, standard_input

MOST_SAMPLES = 10_000  # at once; a text's cache alone takes megabytes


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """What to continue, with which model, and how to draw."""

    prompt: str = option('the text to continue; "-" reads it from standard input')
    model: str = option(
        "gpt2 … gpt2-xl, crane, a run folder, or one with config.json and weights", "gpt2"
    )
    tokenizer: str | None = option(
        "the tokenizer that the model was trained with; if not given, the one of its size", None
    )
    max_new_tokens: int = option("the most tokens to add; the prompt does not count", 100)
    samples: int = option("how many continuations", 1)
    temperature: float = option("below 1 is safer, above 1 wilder, 0 takes the likeliest", 1.0)
    top_k: int | None = option("draw from the k likeliest tokens only", 50)
    top_p: float | None = option("draw from the likeliest tokens that together reach p", None)
    seed: int | None = option("the same seed, the same text on the same machine", None)
    stop: bool = option("stop at <|endoftext|>", True)
    overflow: Literal["raise", "crop"] = option(
        "past the model's window: refuse, or forget the oldest tokens", "raise"
    )
    cache: bool = option("keep keys and values; without it each token costs a full pass", True)
    compile: bool = option("compile the step on a CUDA device: slow at first, then faster", False)
    device: str = option("auto, cpu, cuda, cuda:1, mps …", "auto")
    precision: Literal["auto", "float32", "bf16", "fp16"] = option(
        "type of the weights; auto: the fastest of the device", "auto"
    )


@command(
    'gpt2-edu generate "A crane"',
    'gpt2-edu generate "By the river, the crane" --model crane',
    'gpt2-edu generate "A crane" --model runs/first --seed 42',
    "gpt2-edu generate - --samples 5 --top-p 0.9 < prompt.txt",
    positional="prompt",
)
def generate(options: GenerateOptions) -> None:
    """Continue a text. One sample is shown as it comes."""
    if options.samples < 1:
        raise ValueError(f"--samples must be at least 1, got {options.samples}")
    if options.samples > MOST_SAMPLES:
        raise ValueError(f"--samples must be at most {MOST_SAMPLES:,}, got {options.samples}")
    if options.seed is not None and not 0 <= options.seed < 2**63:
        raise ValueError(f"--seed must lie in 0 … 2^63 - 1, got {shown(options.seed)}")
    device = named_device(options.device)
    text = standard_input() if options.prompt == "-" else options.prompt
    model = GPT2.from_pretrained(model_folder(options.model))
    tokenizer = load_tokenizer(options.tokenizer or tokenizer_name(model.config.vocab_size))
    ids = tokenizer.encode_ordinary(text) or [tokenizer.eot_token]  # an empty prompt: a new text
    if model.config.vocab_size != tokenizer.n_vocab:
        raise ValueError(
            f"the model {options.model!r} has {model.config.vocab_size:,} tokens, the tokenizer "
            f"{tokenizer.name!r} {tokenizer.n_vocab:,}: name the model's own with --tokenizer"
        )
    fast = pack(model.to(device), pick_precision(options.precision, device))
    generator = None
    if options.seed is not None:
        generator = torch.Generator(device).manual_seed(options.seed)
    eos_id = tokenizer.eot_token if options.stop else None
    columns = stream(
        fast,
        torch.tensor([ids] * options.samples, device=device),
        options.max_new_tokens,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        eos_id=eos_id,
        generator=generator,
        use_cache=options.cache,
        overflow=options.overflow,
        compile=options.compile,
    )
    if options.samples == 1:
        pieces = stream_text(tokenizer, (i for i in map(int, columns) if i != eos_id))
        show(text + next(pieces))  # stream has checked its arguments by now
        for piece in pieces:
            show(piece)
        print()
        return
    drawn = [column.tolist() for column in columns]  # one list for each step
    for sample in range(options.samples):
        new = [ids[sample] for ids in drawn if ids[sample] != eos_id]
        show(f"--- {sample + 1}\n{text}{tokenizer.decode(new)}\n")


def show(text: str) -> None:
    """Print a text that a model made; a terminal does not get signs that it would obey."""
    print(printable(text) if sys.stdout.isatty() else text, end="", flush=True)
