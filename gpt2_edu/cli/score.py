"""``gpt2-edu score``: how likely a model finds a text."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..analysis.scoring import score as log_probs
from ..machine.device import named_device
from ..machine.options import option
from . import command, standard_input
from .generate import load


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Which text, and by which model."""

    text: str = option('the text; "-" reads it from standard input')
    model: str = option(
        "gpt2 … gpt2-xl, crane, a run folder, one with config.json and weights, or on the hub "
        "owner/name or owner/name@revision",
        "gpt2",
    )
    tokenizer: str | None = option(
        "another tokenizer than the model's own: a name, or a file of ranks", None
    )
    device: str = option("auto, cpu, cuda, cuda:1, mps …", "auto")


@command(
    'gpt2-edu score "By the river, the crane ate fish, and Ivo forgot the time." --model crane',
    "gpt2-edu score - --model runs/first < story.txt",
    positional="text",
)
def score(options: ScoreOptions) -> None:
    """Print the log-probability of each token of a text, after <|endoftext|>, and their sum."""
    device = named_device(options.device)
    text = standard_input() if options.text == "-" else options.text
    if not text:
        raise ValueError("there is no text to score")
    model, tokenizer = load(options.model, options.tokenizer)
    ids = tokenizer.encode_ordinary(text)
    scores = log_probs(model.to(device), [tokenizer.eot_token, *ids]).tolist()
    print(f"{'log p':>9}  {'p':>6}  token")
    for i, log_p in zip(ids, scores, strict=True):
        print(f"{log_p:>9.3f}  {math.exp(log_p):>6.4f}  {tokenizer.decode([i])!r}")
    total, n_bytes = sum(scores), len(text.encode())
    print(
        f"{total:.3f} nats in {len(ids)} tokens and {n_bytes} bytes: "
        f"perplexity {math.exp(-total / len(ids)):.3f}, "
        f"{-total / math.log(2) / n_bytes:.3f} bits per byte"
    )
