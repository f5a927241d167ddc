"""Chapter 15: sample several continuations from any model, with adjustable knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ipywidgets as widgets
import tiktoken
import torch

from ..exhibits import Bars
from ..generation import generate
from ..machine.display import Exhibit
from ..model import GPT2
from ..sampling import next_probabilities
from .lab import SLOW, Lab, ids_of, text_field


class Sampling(Lab):
    """The next token's distribution and sampled continuations, for given knobs.

    model: any GPT2. encoding: its tokenizer. Other arguments are those of ``Live``.
    """

    def __init__(self, model: GPT2, encoding: tiktoken.Encoding, **live: Any) -> None:
        super().__init__("sampling", **live)
        self.model, self.encoding = model, encoding
        self.text = live.get("text", "In the marsh, the crane")

    def controls(self) -> Mapping[str, Any]:
        most = min(200, self.model.config.block_size)
        return {
            "prompt": text_field(self.text, "prompt"),
            "temperature": widgets.FloatSlider(
                1.0, min=0, max=3, step=0.1, description="τ", **SLOW
            ),
            "top_k": widgets.IntSlider(0, min=0, max=50, description="k (0: all)", **SLOW),
            "top_p": widgets.FloatSlider(1.0, min=0.05, max=1, step=0.05, description="p", **SLOW),
            "min_p": widgets.FloatSlider(0.0, min=0, max=1, step=0.05, description="min-p", **SLOW),
            "new_tokens": widgets.IntSlider(30, min=1, max=most, description="tokens", **SLOW),
            "texts": widgets.IntSlider(3, min=1, max=8, description="texts", **SLOW),
            "seed": widgets.BoundedIntText(0, min=0, max=2**31, description="seed", **SLOW),
        }

    def show(
        self, *, prompt: str, top_k: int, new_tokens: int, texts: int, seed: int, **knobs: Any
    ) -> Iterator[Exhibit | str]:
        knobs["top_k"] = top_k or None
        ids = ids_of(prompt, self.encoding)
        window = self.model.config.block_size
        if len(ids) + new_tokens > window:
            raise ValueError(
                f"{len(ids) - 1} tokens and {new_tokens} new ones do not fit into the model's "
                f"window of {window}: shorten the prompt, or ask for fewer."
            )
        idx = torch.tensor([ids], device=self.model.device)
        with torch.no_grad():
            logits = self.model(idx)[0][:, -1]
        probabilities = next_probabilities(logits, **knobs)[0].cpu()
        kept = int((probabilities > 0).sum())
        yield Bars.of(
            probabilities,
            self.encoding,
            before=next_probabilities(logits)[0].cpu(),
            caption=f"What comes next: {kept} tokens can be drawn. Before: τ = 1, all tokens.",
        )
        end = self.encoding.eot_token
        generator = torch.Generator(self.model.device).manual_seed(seed)
        rows = idx.expand(texts, -1)
        written = generate(self.model, rows, new_tokens, eos_id=end, generator=generator, **knobs)
        for row in written[:, 1:].tolist():
            text = row[: row.index(end)] if end in row else row
            yield self.encoding.decode(text)
