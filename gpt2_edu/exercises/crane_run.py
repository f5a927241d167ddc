"""The trained model of Crane World on a sentence, for showing a reader's part at work.

The ``after`` of a step gives the reader's parts what the model's tape recorded, and says what they
make of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..model import GPT2
from ..tape import Tape, trace
from ..tokenizer import load_tokenizer
from ..weights import BUNDLED

TEXT = "In the marsh, the crane"
MARSH, CRANE = 3, 6  # where they are; <|endoftext|> comes first


@dataclass(frozen=True)
class CraneRun:
    """The model, the ids of ``<|endoftext|>`` and a text, (1, T), and every tensor of that pass."""

    model: GPT2
    idx: Tensor
    tape: Tape

    @property
    def blocks(self) -> list[Any]:
        """The model's blocks."""
        return list(self.model.transformer.h)

    def noted(self, block: int, name: str) -> Tensor:
        """A tensor of a block, such as "attn.q"."""
        return self.tape[f"transformer.h.{block}.{name}"]

    def one_hot(self) -> Tensor:
        """Values for each head, (1, H, T, D), of which a mixture shows its own weights.

        Those of token t are 1 in column t and 0 elsewhere. (D is at least T here.)
        """
        q = self.noted(0, "attn.q")
        return torch.eye(*q.shape[-2:]).expand_as(q).contiguous()

    def next_words(self, stream: Tensor, count: int = 1) -> str:
        """What the model would predict after the text if it ended with this stream."""
        return likeliest(self.model.lm_head(self.model.transformer.ln_f(stream)), count)


def likeliest(logits: Tensor, count: int) -> str:
    """The likeliest next tokens after the last one, with their probabilities: "ate" (0.53)."""
    encoding = load_tokenizer("crane")
    found = zip(*(part.tolist() for part in logits[0, -1].softmax(dim=-1).topk(count)), strict=True)
    return ", ".join(f'"{encoding.decode([i]).strip()}" ({p:.2f})' for p, i in found)


@cache
def crane() -> GPT2:
    """The model, from the files in the package."""
    return GPT2.from_pretrained(BUNDLED["crane"])


@cache
def crane_run(text: str = TEXT) -> CraneRun:
    """The model's run on a text."""
    model, encoding = crane(), load_tokenizer("crane")
    idx = torch.tensor([[encoding.eot_token, *encoding.encode(text)]])
    with torch.no_grad(), trace(model) as tape:
        model(idx)
    return CraneRun(model, idx, tape)
