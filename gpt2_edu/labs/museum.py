"""Chapter 19: your own model with a bug of the museum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ipywidgets as widgets
import tiktoken
import torch
from torch import Tensor

from ..analysis.bugs import BUGS, broken, find
from ..exhibits import Attention, Bars, Tokens
from ..machine.display import Exhibit
from ..model import GPT2
from ..sampling import next_probabilities
from .lab import LONGEST, Lab, ids_of, text_field


class Museum(Lab):
    """The effect of a bug on a trained model: loss, next token, and one block's attention.

    model: any GPT2; the bug is applied to a copy. encoding: its tokenizer. text: the initial text.
    Other arguments are those of ``Live``.
    """

    def __init__(self, model: GPT2, encoding: tiktoken.Encoding, *, text: str, **live: Any) -> None:
        super().__init__("museum", text=text, **live)
        self.model, self.encoding, self.text = model, encoding, text

    def controls(self) -> Mapping[str, Any]:
        most = self.model.config.n_layer - 1
        return {
            "bug": widgets.Dropdown(options=["no bug", *BUGS], description="bug"),
            "text": text_field(self.text),
            "layer": widgets.IntSlider(0, min=0, max=most, description="block"),
        }

    def show(self, *, bug: str, text: str, layer: int) -> Iterator[Exhibit | str]:
        ids = ids_of(text, self.encoding)
        if not 2 <= len(ids) <= LONGEST:
            raise ValueError(f"a text has 1 to {LONGEST - 1} tokens, this one {len(ids) - 1}.")
        yield str(find(bug))
        try:
            (before, right, _), (after, wrong, weights) = (
                self.run(name, ids, layer) for name in ("no bug", bug)
            )
        except Exception as error:  # some bugs are found at once, and that is what one sees
            yield f"An error, at once: {error}"
            return
        yield f"loss on this text: {right:.3f} without it, {wrong:.3f} with it"
        caption = f"What comes next with “{bug}”. Before: without it."
        yield Bars.of(after, self.encoding, before=before, caption=caption)
        sums = weights.sum(dim=-1)
        if torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
            labels = Tokens(ids, self.encoding).labels
            yield Attention(weights, labels, caption=f"Who looks where in block {layer}.")
        else:
            smallest, largest = float(sums.min()), float(sums.max())
            yield f"The rows of attention sum to {smallest:.2f} to {largest:.2f}, not to 1."

    def run(self, bug: str, ids: list[int], layer: int) -> tuple[Tensor, float, Tensor]:
        """Probabilities (V,) of the next token, the loss on the text, and the weights (H, T, T)."""
        idx = torch.tensor([ids], device=self.model.device)
        with broken(self.model, bug) as (copy, tape), torch.no_grad():
            logits, _ = copy(idx)
        loss = torch.nn.functional.cross_entropy(logits[0, :-1], idx[0, 1:])
        weights = tape[f"transformer.h.{layer}.attn.weights"][0]
        return next_probabilities(logits[:, -1])[0].cpu(), float(loss), weights.cpu()
