"""Chapter 6: the heads of any model on any text, cut one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tiktoken
import torch
from torch import Tensor

from ..exhibits import Attention, Bars, Tokens
from ..generation import next_probabilities
from ..machine.display import Exhibit
from ..model import GPT2
from ..tape import trace
from .lab import Lab

LONGEST = 32  # tokens; a map of more cannot be read


class Heads(Lab):
    """Attention maps of all heads of a layer, and what the next token loses when heads are cut.

    model: any GPT2. encoding: its tokenizer. text: what it reads first. The rest is a ``Live``'s.
    """

    def __init__(self, model: GPT2, encoding: tiktoken.Encoding, *, text: str, **live: Any) -> None:
        super().__init__("heads", text=text, **live)
        self.model, self.encoding, self.text = model, encoding, text

    def controls(self) -> Mapping[str, Any]:
        import ipywidgets as widgets

        config = self.model.config
        heads = [f"{n}.{h}" for n in range(config.n_layer) for h in range(config.n_head)]
        return {
            "text": widgets.Text(self.text, description="text", continuous_update=False),
            "layer": widgets.IntSlider(0, min=0, max=config.n_layer - 1, description="block"),
            "cut": widgets.SelectMultiple(options=heads, rows=6, description="cut"),
        }

    def show(self, *, text: str, layer: int, cut: tuple[str, ...]) -> Iterator[Exhibit | str]:
        ids = [self.encoding.eot_token, *self.encoding.encode_ordinary(text)]
        if len(ids) > LONGEST:
            raise ValueError(f"{len(ids)} tokens are more than the {LONGEST} that a map can show.")
        idx = torch.tensor([ids], device=self.model.device)
        path = f"transformer.h.{layer}.attn.weights"
        with trace(self.model) as whole, torch.no_grad():
            self.model(idx)
        with trace(self.model, edits=self.cutting(cut)) as t, torch.no_grad():
            self.model(idx)
        after, before = (next_probabilities(tape["logits"][:, -1])[0].cpu() for tape in (t, whole))
        yield Bars.of(
            after,
            self.encoding,
            before=Bars.of(before, self.encoding, rows=64).now,
            caption="What comes next. Before: with all heads.",
        )
        first = int(before.argmax())
        lost = float(before[first].log() - after[first].log())
        name = Tokens([first], self.encoding).labels[0]
        yield f"Cut: {', '.join(cut) or 'none'}. {name} loses {lost:.2f} nats."
        yield Attention(
            t[path][0],
            Tokens(ids, self.encoding).labels,
            titles=[f"head {layer}.{h}" for h in range(self.model.config.n_head)],
            caption=f"Who looks where in block {layer}.",
        )

    def cutting(self, cut: tuple[str, ...]) -> dict[str, Any]:
        """Edits that put zeros in place of what these heads give, named as "block.head"."""
        by_layer: dict[int, list[int]] = {}
        for name in cut:
            n, h = map(int, name.split("."))
            by_layer.setdefault(n, []).append(h)

        def without(heads: list[int]) -> Any:
            def edit(x: Tensor) -> Tensor:
                x = x.clone()
                x[:, heads] = 0
                return x

            return edit

        return {f"transformer.h.{n}.attn.heads": without(heads) for n, heads in by_layer.items()}
