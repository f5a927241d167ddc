"""Chapter 6: attention heads of any model on any text, with ablation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ipywidgets as widgets
import tiktoken
import torch
from torch import Tensor, nn

from ..analysis.heads import noted_heads
from ..analysis.scoring import device_of
from ..exhibits import Attention, Bars, Tokens
from ..generation import last_logits
from ..machine.display import Exhibit
from ..sampling import next_probabilities
from ..tape import Tape, trace
from .lab import LONGEST, Lab, ids_of, text_field


class Heads(Lab):
    """Attention maps of a layer's heads, and the effect of ablating heads on the next token.

    model: a GPT2, or any model that notes its heads and attention weights. encoding: its tokenizer.
    text: the initial text. Other arguments are those of ``Live``.
    """

    def __init__(
        self, model: nn.Module, encoding: tiktoken.Encoding, *, text: str, **live: Any
    ) -> None:
        super().__init__("heads", text=text, **live)
        self.model, self.encoding, self.text = model, encoding, text

    def controls(self) -> Mapping[str, Any]:
        layers = noted_heads(self.model).values()
        heads = [f"{n}.{h}" for n, noted in enumerate(layers) for h in range(noted.size(1))]
        return {
            "text": text_field(self.text),
            "layer": widgets.IntSlider(0, min=0, max=len(layers) - 1, description="block"),
            "cut": widgets.SelectMultiple(options=heads, rows=6, description="cut"),
        }

    def show(self, *, text: str, layer: int, cut: tuple[str, ...]) -> Iterator[Exhibit | str]:
        ids = ids_of(text, self.encoding)
        if len(ids) > LONGEST:
            raise ValueError(f"{len(ids)} tokens are more than the {LONGEST} that a map can show.")
        before, _ = self.run(ids, {})
        after, tape = self.run(ids, self.cutting(cut))
        yield Bars.of(
            after,
            self.encoding,
            before=before,
            caption="What comes next. Before: with all heads.",
        )
        first = int(before.argmax())
        lost = float(before[first].log() - after[first].log())
        name = Tokens([first], self.encoding).labels[0]
        yield f"Cut: {', '.join(cut) or 'none'}. {name} loses {lost:.2f} nats."
        weights = list(tape.ending("attn.weights").values())[layer][0]
        yield Attention(
            weights,
            Tokens(ids, self.encoding).labels,
            titles=[f"head {layer}.{h}" for h in range(len(weights))],
            caption=f"Who looks where in block {layer}.",
        )

    def run(self, ids: list[int], edits: dict[str, Any]) -> tuple[Tensor, Tape]:
        """The probabilities (V,) of the next token, and the tape of the pass."""
        with trace(self.model, edits=edits) as tape, torch.no_grad():
            output = self.model(torch.tensor([ids], device=device_of(self.model)))
        return next_probabilities(last_logits(output))[0].cpu(), tape

    def cutting(self, cut: tuple[str, ...]) -> dict[str, Any]:
        """Edits that zero the outputs of these heads, each named "block.head"."""
        by_layer: dict[int, list[int]] = {}
        for name in cut:
            n, h = map(int, name.split("."))
            by_layer.setdefault(n, []).append(h)

        def without(heads: list[int]) -> Callable[[Tensor], Tensor]:
            return lambda x: x.index_fill(1, torch.tensor(heads, device=x.device), 0)

        paths = list(noted_heads(self.model))
        return {paths[n]: without(heads) for n, heads in by_layer.items()}
