"""Chapter 17: a vector of one text put into another, and what the model says then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tiktoken
import torch
from torch import Tensor

from ..exhibits import Bars, Tokens
from ..generation import next_probabilities
from ..machine.display import Exhibit
from ..model import GPT2
from ..tape import trace
from .lab import Lab


class Patching(Lab):
    """Runs two texts, and puts the first one's vector at a stage and a token into the second.

    model: any GPT2. encoding: its tokenizer. texts: what is compared first. Tokens are counted
    from the end, so that texts of different lengths can be compared. The rest is a ``Live``'s.
    """

    def __init__(
        self, model: GPT2, encoding: tiktoken.Encoding, *, texts: tuple[str, str], **live: Any
    ) -> None:
        super().__init__("inside", **live)
        self.model, self.encoding, self.texts = model, encoding, texts

    def controls(self) -> Mapping[str, Any]:
        import ipywidgets as widgets

        layers = range(self.model.config.n_layer)
        stages = [f"h.{n}.{name}" for n in layers for name in ("resid_mid", "resid_post")]
        giver, taker = self.texts
        return {
            "giver": widgets.Text(giver, description="from", continuous_update=False),
            "taker": widgets.Text(taker, description="into", continuous_update=False),
            "stage": widgets.Dropdown(options=["embd", *stages], description="stage"),
            "back": widgets.IntSlider(1, min=1, max=16, description="token −"),
        }

    def show(self, *, giver: str, taker: str, stage: str, back: int) -> Iterator[Exhibit | str]:
        path = stage if stage == "embd" else f"transformer.{stage}"
        ids = [[self.encoding.eot_token, *self.encoding.encode_ordinary(t)] for t in (giver, taker)]
        for row in ids:
            if not back <= len(row) <= self.model.config.block_size:
                raise ValueError(
                    f"a text of {len(row)} tokens has no token −{back}, or does not fit into the "
                    f"model's window of {self.model.config.block_size}."
                )
        given, before = (self.run(row) for row in ids)
        vector = given[path][0, -back]

        def put(x: Tensor) -> Tensor:
            x = x.clone()
            x[0, -back] = vector
            return x

        after = self.run(ids[1], {path: put})
        shares = [next_probabilities(t["logits"][:, -1])[0].cpu() for t in (after, before)]
        names = [Tokens(row, self.encoding).labels[-back] for row in ids]
        yield Bars.of(
            shares[0],
            self.encoding,
            before=Bars.of(shares[1], self.encoding, rows=64).now,
            caption=f"What comes next in the second text, before and with the first one's {stage}.",
        )
        yield f"{stage} at {names[0]} of the first text stands at {names[1]} of the second."

    def run(self, ids: list[int], edits: dict[str, Any] | None = None) -> Any:
        """The tape of one pass."""
        with trace(self.model, edits=edits or {}) as t, torch.no_grad():
            self.model(torch.tensor([ids], device=self.model.device))
        return t
