"""Labs that run a model of yours on a text: heads, patching, sampling, bugs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import ipywidgets as widgets
import torch
from torch import Tensor, nn

from ..analysis.bugs import BUGS, broken, find
from ..analysis.heads import noted_heads
from ..analysis.interventions import without
from ..analysis.scoring import device_of
from ..exhibits import Attention, Bars, Tokens
from ..generation import generate, last_logits, window_of
from ..machine.display import Exhibit
from ..model import GPT2
from ..sampling import next_probabilities
from ..tape import Tape, trace
from ..tokenizer import Encoding
from .lab import LONGEST, SLOW, Lab, ids_of, text_field


class ModelLab(Lab):
    """A lab that runs a model; of any kind, if it notes the tensors that are shown.

    encoding: the model's tokenizer. text: the initial text. Other arguments are those of ``Live``.
    """

    exhibit: ClassVar[str]

    def __init__(
        self,
        model: nn.Module,
        encoding: Encoding,
        *,
        text: str = "In the marsh, the crane",
        **live: Any,
    ) -> None:
        super().__init__(self.exhibit, text=text, **live)
        self.model, self.encoding, self.text = model, encoding, text

    def run(self, ids: list[int], edits: dict[str, Any] | None = None) -> tuple[Tensor, Tape]:
        """The probabilities (V,) of the next token, and the tape of the pass."""
        with trace(self.model, edits=edits or {}) as tape, torch.no_grad():
            output = self.model(torch.tensor([ids], device=device_of(self.model)))
        return next_probabilities(last_logits(output))[0].cpu(), tape


class Heads(ModelLab):
    """Chapter 6: attention maps of a layer's heads, and what cutting heads does to the next token.

    The model notes its heads and attention weights.
    """

    exhibit = "heads"

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
        before, _ = self.run(ids)
        after, tape = self.run(ids, self.cutting(cut))
        caption = "What comes next. Before: with all heads."
        yield Bars.of(after, self.encoding, before=before, caption=caption)
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

    def cutting(self, cut: tuple[str, ...]) -> dict[str, Any]:
        """Edits that zero the outputs of these heads, each named "block.head"."""
        places = (name.split(".") for name in cut)
        return without(self.model, heads=[(int(layer), int(head)) for layer, head in places])


class Sampling(ModelLab):
    """Chapter 15: the next token's distribution and sampled continuations, for given knobs."""

    exhibit = "sampling"

    def controls(self) -> Mapping[str, Any]:
        most = min(200, window_of(self.model))
        small = {"step": 0.05, **SLOW}
        return {
            "prompt": text_field(self.text, "prompt"),
            "temperature": widgets.FloatSlider(1, min=0, max=3, step=0.1, description="τ", **SLOW),
            "top_k": widgets.IntSlider(0, min=0, max=50, description="k (0: all)", **SLOW),
            "top_p": widgets.FloatSlider(1.0, min=0.05, max=1, description="p", **small),
            "min_p": widgets.FloatSlider(0.0, min=0, max=1, description="min-p", **small),
            "new_tokens": widgets.IntSlider(30, min=1, max=most, description="tokens", **SLOW),
            "texts": widgets.IntSlider(3, min=1, max=8, description="texts", **SLOW),
            "seed": widgets.BoundedIntText(0, min=0, max=2**31, description="seed", **SLOW),
        }

    def show(
        self, *, prompt: str, top_k: int, new_tokens: int, texts: int, seed: int, **knobs: Any
    ) -> Iterator[Exhibit | str]:
        knobs["top_k"] = top_k or None
        ids = ids_of(prompt, self.encoding)
        window = window_of(self.model)
        if len(ids) + new_tokens > window:
            raise ValueError(
                f"{len(ids) - 1} tokens and {new_tokens} new ones do not fit into the model's "
                f"window of {window}: shorten the prompt, or ask for fewer."
            )
        idx = torch.tensor([ids], device=device_of(self.model))
        with torch.no_grad():
            logits = last_logits(self.model(idx))
        probabilities = next_probabilities(logits, **knobs)[0].cpu()
        kept = int((probabilities > 0).sum())
        yield Bars.of(
            probabilities,
            self.encoding,
            before=next_probabilities(logits)[0].cpu(),
            caption=f"What comes next: {kept} tokens can be drawn. Before: τ = 1, all tokens.",
        )
        end = self.encoding.eot_token
        knobs["generator"] = torch.Generator(idx.device).manual_seed(seed)
        written = generate(self.model, idx.expand(texts, -1), new_tokens, eos_id=end, **knobs)
        for row in written[:, 1:].tolist():
            text = row[: row.index(end)] if end in row else row
            yield self.encoding.decode(text)


class Patching(ModelLab):
    """Chapter 17: patches the first text's vector at a stage and token into a run of the second.

    The model notes its residual stream. texts: the initial pair. Positions are counted from the
    end, so that the texts can have different lengths.
    """

    exhibit = "flow"

    def __init__(self, *given: Any, texts: tuple[str, str], **live: Any) -> None:
        super().__init__(*given, **live)
        self.texts = texts

    def controls(self) -> Mapping[str, Any]:
        _, tape = self.run([self.encoding.eot_token])
        noted = [name.removeprefix("transformer.") for name in tape]
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
        window = window_of(self.model)
        for row in ids:
            if not back <= len(row) <= window:
                raise ValueError(
                    f"a text of {len(row)} tokens has no token −{back}, or does not fit into the "
                    f"model's window of {window}."
                )
        (_, given), (before, _) = map(self.run, ids)
        ((path, stream),) = given.ending(stage).items()
        vector = stream[0, -back]

        def put(x: Tensor) -> Tensor:
            return x.select_scatter(vector[None], 1, x.size(1) - back)

        after, _ = self.run(ids[1], {path: put})
        caption = f"What comes next in the second text, before and with the first one's {stage}."
        yield Bars.of(after, self.encoding, before=before, caption=caption)
        names = [Tokens(row, self.encoding).labels[-back] for row in ids]
        yield f"{stage} at {names[0]} of the first text stands at {names[1]} of the second."


class Museum(ModelLab):
    """Chapter 19: what a bug does to a copy of a GPT2: loss, next token, one block's attention."""

    exhibit = "museum"
    model: GPT2

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
                self.run_with(name, ids, layer) for name in ("no bug", bug)
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

    def run_with(self, bug: str, ids: list[int], layer: int) -> tuple[Tensor, float, Tensor]:
        """Probabilities (V,) of the next token, the loss on the text, and the weights (H, T, T)."""
        idx = torch.tensor([ids], device=device_of(self.model))
        with broken(self.model, bug) as (copy, tape), torch.no_grad():
            logits, _ = copy(idx)
        loss = torch.nn.functional.cross_entropy(logits[0, :-1], idx[0, 1:])
        weights = tape[f"transformer.h.{layer}.attn.weights"][0]
        return next_probabilities(logits[:, -1])[0].cpu(), float(loss), weights.cpu()
