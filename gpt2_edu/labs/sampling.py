"""Chapter 15: sample several continuations from any model, with adjustable knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tiktoken
import torch

from ..exhibits import Bars
from ..generation import generate
from ..machine.display import Exhibit
from ..model import GPT2
from ..sampling import next_probabilities
from .lab import Lab


class Sampling(Lab):
    """The next token's distribution and sampled continuations, for given knobs.

    model: any GPT2. encoding: its tokenizer. Other arguments are those of ``Live``.
    """

    def __init__(self, model: GPT2, encoding: tiktoken.Encoding, **live: Any) -> None:
        super().__init__("sampling", **live)
        self.model, self.encoding = model, encoding
        self.text = live.get("text", "In the marsh, the crane")

    def controls(self) -> Mapping[str, Any]:
        import ipywidgets as widgets

        slow = {"continuous_update": False}
        most = min(200, self.model.config.block_size)
        return {
            "prompt": widgets.Text(self.text, description="prompt", **slow),
            "temperature": widgets.FloatSlider(
                1.0, min=0, max=3, step=0.1, description="τ", **slow
            ),
            "top_k": widgets.IntSlider(0, min=0, max=50, description="k (0: all)", **slow),
            "top_p": widgets.FloatSlider(1.0, min=0.05, max=1, step=0.05, description="p", **slow),
            "min_p": widgets.FloatSlider(0.0, min=0, max=1, step=0.05, description="min-p", **slow),
            "new_tokens": widgets.IntSlider(30, min=1, max=most, description="tokens", **slow),
            "texts": widgets.IntSlider(3, min=1, max=8, description="texts", **slow),
            "seed": widgets.BoundedIntText(0, min=0, max=2**31, description="seed", **slow),
        }

    def show(
        self,
        *,
        prompt: str,
        temperature: float,
        top_k: int,
        top_p: float,
        min_p: float,
        new_tokens: int,
        texts: int,
        seed: int,
    ) -> Iterator[Exhibit | str]:
        knobs: dict[str, Any] = {
            "temperature": temperature,
            "top_k": top_k or None,
            "top_p": top_p,
            "min_p": min_p,
        }
        ids = self.encoding.encode_ordinary(prompt)
        most = self.model.config.block_size - new_tokens
        if len(ids) + 1 > most:
            raise ValueError(
                f"{len(ids)} tokens and {new_tokens} new ones do not fit into the model's window "
                f"of {self.model.config.block_size}: shorten the prompt, or ask for fewer."
            )
        end = self.encoding.eot_token
        idx = torch.tensor([[end, *ids]], device=self.model.device)
        with torch.no_grad():
            logits = self.model(idx)[0][:, -1]
        probabilities = next_probabilities(logits, **knobs)[0].cpu()
        plain = next_probabilities(logits)[0].cpu()
        kept = int((probabilities > 0).sum())
        yield Bars.of(
            probabilities,
            self.encoding,
            before=Bars.of(plain, self.encoding, rows=64).now,
            caption=f"What comes next: {kept} tokens can be drawn. Before: τ = 1, all tokens.",
        )
        generator = torch.Generator(self.model.device).manual_seed(seed)
        written = generate(
            self.model,
            idx.expand(texts, -1),
            new_tokens,
            eos_id=end,
            generator=generator,
            **knobs,
        )
        for row in written[:, 1:].tolist():
            text = row[: row.index(end)] if end in row else row
            yield self.encoding.decode(text)
