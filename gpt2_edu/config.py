"""The numbers that define a GPT-2, the four sizes that OpenAI published, and a small one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .machine.device import available_memory
from .machine.messages import nearest
from .machine.outside import shown

LARGEST = 2**31 - 1  # of a size; what is larger is a mistake, or does harm
MOST_LAYERS = 1_000


@dataclass(frozen=True, kw_only=True)
class GPT2Config:
    """Sizes of a GPT-2. The defaults are the 124-million-parameter model.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", table 2,
    for the sizes. OpenAI published no dropout rates for GPT-2; 0.1 is that of the first GPT
    (Radford et al. 2018) and of Hugging Face's config.
    """

    vocab_size: int = 50257  # V: how many different tokens exist
    block_size: int = 1024  # the most tokens the model can see at once
    n_layer: int = 12  # N: blocks, one after the other
    n_head: int = 12  # H: attention heads in each block
    n_embd: int = 768  # C: width of every token's vector
    embd_pdrop: float = 0.1  # dropout after the embeddings are summed
    attn_pdrop: float = 0.1  # dropout on the attention weights
    resid_pdrop: float = 0.1  # dropout on what a block adds to the residual stream
    layer_norm_epsilon: float = 1e-5  # keeps LayerNorm from dividing by zero
    initializer_range: float = 0.02  # standard deviation of the weights before training

    def __post_init__(self) -> None:
        for name in ("vocab_size", "block_size", "n_layer", "n_head", "n_embd"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an int, got {shown(value)}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {shown(value)}")
            most = MOST_LAYERS if name == "n_layer" else LARGEST
            if value > most:
                raise ValueError(f"{name} must be at most {most:,}, got {shown(value)}")
        rates = ("embd_pdrop", "attn_pdrop", "resid_pdrop")
        for name in (*rates, "layer_norm_epsilon", "initializer_range"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise TypeError(f"{name} must be a float, got {shown(value)}")
        for name in rates:
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(
                    f"{name} is a probability in [0, 1), got {shown(getattr(self, name))}"
                )
        for name in ("layer_norm_epsilon", "initializer_range"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be above 0 and finite, got {shown(getattr(self, name))}"
                )
        if self.n_embd % self.n_head:
            raise ValueError(
                f"n_embd={self.n_embd} is not divisible by n_head={self.n_head}, so the heads "
                "cannot share the width evenly. Choose n_embd as a multiple of n_head."
            )

    def check_room(self) -> None:
        """Raise ValueError if a model of these sizes does not fit into what memory is free."""
        N, C = self.n_layer, self.n_embd
        count = (self.vocab_size + self.block_size) * C + N * (12 * C * C + 13 * C) + 2 * C
        needed, device = count * torch.get_default_dtype().itemsize, torch.empty(0).device
        free = available_memory(device)
        if free is not None and needed > free:
            raise ValueError(
                f"this model has {count:,} parameters: {needed / 2**30:,.1f} GiB, and the "
                f"{device.type} has {free / 2**30:,.1f} GiB free. Choose smaller sizes."
            )

    @property
    def head_size(self) -> int:
        """D = C / H: the width of one head."""
        return self.n_embd // self.n_head

    @classmethod
    def preset(cls, name: str) -> GPT2Config:
        """A published size, "gpt2", "gpt2-medium", "gpt2-large" or "gpt2-xl", or ours, "crane"."""
        if name not in PRESETS:
            raise ValueError(f"unknown preset {shown(name)}. {nearest(name, PRESETS)}")
        return PRESETS[name]

    def check_ids(
        self, idx: Tensor, targets: Tensor | None = None, padding: Tensor | None = None
    ) -> None:
        """Say clearly what is wrong with a batch, before an indexing kernel says it unclearly."""
        for name, ids in (("idx", idx), ("targets", targets)):
            if ids is None and name == "targets":
                continue
            if not isinstance(ids, Tensor) or ids.dtype != torch.int64:
                got = ids.dtype if isinstance(ids, Tensor) else type(ids).__name__
                raise TypeError(f"{name} must be a tensor of int64 token ids, got {got}")
            if ids.ndim != 2:
                raise ValueError(
                    f"{name} must have shape (B, T), got {tuple(ids.shape)}. "
                    "For one sequence use torch.tensor([ids]), which has shape (1, T)."
                )
        T, limit = idx.size(1), self.block_size
        if idx.numel() == 0:
            raise ValueError("idx holds no tokens: start from at least one, such as <|endoftext|>")
        if T > limit:
            raise ValueError(
                f"idx has T={T} tokens, but this model sees at most block_size={limit}"
            )
        if targets is not None and targets.shape != idx.shape:
            raise ValueError(
                f"targets must have idx's shape {tuple(idx.shape)}, got {tuple(targets.shape)}"
            )
        if padding is not None and not isinstance(padding, Tensor):
            raise TypeError(f"padding must be a tensor of int64, got {type(padding).__name__}")
        if padding is not None and (padding.shape != idx.shape[:1] or padding.dtype != torch.int64):
            raise ValueError(
                f"padding must be int64 of shape ({idx.size(0)},), the tokens to skip on the left "
                f"of each text; got {padding.dtype} of shape {tuple(padding.shape)}"
            )
        if not torch.compiler.is_compiling() and idx.device.type != "meta":
            self._check_range(idx, targets, padding)

    def _check_range(self, idx: Tensor, targets: Tensor | None, padding: Tensor | None) -> None:
        """Every id is in the vocabulary, at least one target counts, each text has a token."""
        V = self.vocab_size
        counted = None if targets is None else targets[targets != -100]
        if counted is not None and counted.numel() == 0:
            raise ValueError("every target is -100, so there is nothing to take the mean of")
        if padding is not None and (padding.min() < 0 or padding.max() >= idx.size(1)):
            bad = int(padding[(padding < 0) | (padding >= idx.size(1))][0])
            raise ValueError(f"padding holds {bad}, but it must lie in 0 … {idx.size(1) - 1}")
        for name, ids in (("idx", idx), ("targets", counted)):
            if ids is not None and (ids.min() < 0 or ids.max() >= V):
                bad = int(ids[(ids < 0) | (ids >= V)][0])
                raise ValueError(
                    f"{name} holds the id {bad}, outside the vocabulary 0 … {V - 1}. "
                    "Does the tokenizer belong to this model?"
                )


PRESETS: dict[str, GPT2Config] = {
    "gpt2": GPT2Config(),
    "gpt2-medium": GPT2Config(n_layer=24, n_head=16, n_embd=1024),
    "gpt2-large": GPT2Config(n_layer=36, n_head=20, n_embd=1280),
    "gpt2-xl": GPT2Config(n_layer=48, n_head=25, n_embd=1600),
    # The model of Crane World. 0.02 suits OpenAI's widths, being about 0.6/√C; a narrow model that
    # begins so small takes far longer to learn where to look.
    "crane": GPT2Config(
        vocab_size=1024,
        block_size=128,
        n_layer=3,
        n_head=4,
        n_embd=128,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        initializer_range=0.1,
    ),
}
