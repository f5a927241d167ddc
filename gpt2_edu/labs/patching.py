"""Chapter 17: activation patching between two texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ipywidgets as widgets
import tiktoken
import torch
from torch import Tensor, nn

from ..analysis.scoring import device_of
from ..exhibits import Bars, Tokens
from ..generation import window_of
from ..machine.display import Exhibit
from ..sampling import next_probabilities
from ..tape import Tape, trace
from .lab import Lab, ids_of, text_field


class Patching(Lab):
    """Patches the first text's vector at a stage and token into a run of the second text.

    model: a GPT2, or any model that notes its residual stream and logits. encoding: its tokenizer.
    texts: the initial pair. Positions are counted from the end, so that the texts can have
    different lengths. Other arguments are those of ``Live``.
    """

    def __init__(
        self, model: nn.Module, encoding: tiktoken.Encoding, *, texts: tuple[str, str], **live: Any
    ) -> None:
        super().__init__("flow", **live)
        self.model, self.encoding, self.texts = model, encoding, texts

    def controls(self) -> Mapping[str, Any]:
        noted = [name.removeprefix("transformer.") for name in self.run([self.encoding.eot_token])]
        stages = [name for name in noted if name.endswith(("resid_mid", "resid_post"))]
        giver, taker = self.texts
        return {
            "giver": text_field(giver, "from"),
            "taker": text_field(taker, "into"),
            "stage": widgets.Dropdown(options=["embd", *stages], description="stage"),
            "back": widgets.IntSlider(1, min=1, max=16, description="token −"),
        }

    def show(self, *, giver: str, taker: str, stage: str, back: int) -> Iterator[Exhibit | str]:
        ids = [ids_of(text, self.encoding) for text in (giver, taker)]
        window = window_of(self.model) or 0
        for row in ids:
            if not back <= len(row) <= window:
                raise ValueError(
                    f"a text of {len(row)} tokens has no token −{back}, or does not fit into the "
                    f"model's window of {window}."
                )
        given, before = (self.run(row) for row in ids)
        ((path, stream),) = given.ending(stage).items()
        vector = stream[0, -back]

        def put(x: Tensor) -> Tensor:
            return x.select_scatter(vector[None], 1, x.size(1) - back)

        after = self.run(ids[1], {path: put})
        now, earlier = (next_probabilities(t["logits"][:, -1])[0].cpu() for t in (after, before))
        names = [Tokens(row, self.encoding).labels[-back] for row in ids]
        yield Bars.of(
            now,
            self.encoding,
            before=earlier,
            caption=f"What comes next in the second text, before and with the first one's {stage}.",
        )
        yield f"{stage} at {names[0]} of the first text stands at {names[1]} of the second."

    def run(self, ids: list[int], edits: dict[str, Any] | None = None) -> Tape:
        """The tape of one forward pass."""
        with trace(self.model, edits=edits or {}) as t, torch.no_grad():
            self.model(torch.tensor([ids], device=device_of(self.model)))
        return t
