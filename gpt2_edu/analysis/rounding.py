"""A model with rounded weights or activations, to measure what fewer bits cost.

Everything is computed in float32: the weights are those that rounding leaves. ``quantize`` stores
them as integers. Sources: Dettmers et al. 2022 (outliers), Lin et al. 2023 (AWQ), Frantar et al.
2023 (GPTQ).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy

import torch
from torch import Tensor, nn

from ..language_model import eval_mode
from ..model import GPT2
from ..quantize import round_to
from ..tape import trace
from .scoring import pad_right

PARTS = {  # by the names of their tensors
    "all": ".",
    "wte": r"\.wte\.",  # and so the head
    "wpe": r"\.wpe\.",
    "attention": r"\.attn\.",
    "mlp": r"\.mlp\.",
    "maps": r"\.(attn|mlp)\.",
    "all but wte": r"\.(attn|mlp|wpe)\.",
    "block 0": r"\.h\.0\.",
    "block 1": r"\.h\.1\.",
    "block 2": r"\.h\.2\.",
}


def by_scale(weight: Tensor, per: str) -> Tensor:
    """A weight (out, in) with a row for each scale; ``per`` is "tensor", "row" or "group 32"."""
    width = {"tensor": weight.numel(), "row": weight.size(-1), "group 32": 32}[per]
    return weight.reshape(-1, width)


def rounded(weight: Tensor, bits: int, per: str) -> Tensor:
    """Each weight becomes the nearest multiple of its scale."""
    return round_to(by_scale(weight, per), bits).view_as(weight)


def clipped(weight: Tensor, bits: int, per: str) -> Tensor:
    """The same with the scale that leaves the least squared error, up to the largest weight's.

    A smaller scale is finer for most weights, and cuts the largest off.
    """
    rows = by_scale(weight, per)
    largest = rows.abs().amax(dim=1, keepdim=True)
    tries = torch.stack(
        [round_to(rows.clamp(-s * largest, s * largest), bits) for s in torch.linspace(0.4, 1, 13)]
    )  # (tries, rows, width)
    best = (tries - rows).square().sum(dim=-1).argmin(dim=0)
    return tries[best, torch.arange(len(rows))].view_as(weight)


@torch.no_grad()
def with_weights(model: GPT2, change: Callable[[Tensor], Tensor], part: str = "all") -> GPT2:
    """A copy in which the matrices of a part are changed. Norms and biases stay."""
    model = deepcopy(model)
    for name, weight in model.named_parameters():
        if weight.ndim == 2 and re.search(PARTS[part], name):
            weight.copy_(change(weight))
    return model


@contextmanager
def rounded_inputs(model: GPT2, bits: int, per: str) -> Iterator[None]:
    """Inside, the input of every linear map is rounded, with a scale per "tensor" or "token"."""

    def hook(module: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        (x,) = inputs
        rows = x.reshape(1, -1) if per == "tensor" else x.flatten(0, -2)
        return (round_to(rows, bits).view_as(x),)

    maps = [module for module in model.modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(hook) for module in maps]
    try:
        yield
    finally:
        for one in hooks:
            one.remove()


@torch.no_grad()
def with_outlier(model: GPT2, factor: float, column: int = 5) -> GPT2:
    """A copy that computes the same, where a column of what every block reads is ``factor`` larger.

    LayerNorm's scale and bias are multiplied there, and the weights that read the column divided.
    """
    model = deepcopy(model)
    for block in model.transformer.h:
        for norm, reader in ((block.ln_1, block.attn.c_attn), (block.ln_2, block.mlp.c_fc)):
            norm.weight[column] *= factor
            norm.bias[column] *= factor
            reader.weight[:, column] /= factor
    return model


# ---- GPTQ ---------------------------------------------------------------------------------------


@torch.no_grad()
def gptq(weight: Tensor, inputs: Tensor, bits: int, per: str = "row") -> Tensor:
    """Round a map (out, in) so that its outputs for these inputs (n, in) change little.

    One column after the other is rounded to the nearest. The columns to its right make up for the
    error as well as they can, which the correlations of the inputs tell (Frantar et al. 2023,
    section 3). ``per`` is "row" or "group 32".
    """
    w, x = weight.double().clone(), inputs.double()
    correlations = x.T @ x  # (in, in)
    correlations.diagonal().add_(0.01 * correlations.diagonal().mean())  # so that it has an inverse
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(correlations))
    spread = torch.linalg.cholesky(inverse, upper=True)  # row j: where an error of column j goes
    width, most = by_scale(weight, per).size(1), 2 ** (bits - 1) - 1
    for j in range(w.size(1)):
        if j % width == 0:
            scale = w[:, j : j + width].abs().amax(dim=1) / most
        kept = (w[:, j] / scale).round().clamp(-most, most) * scale
        error = (w[:, j] - kept) / spread[j, j]
        w[:, j:] -= error[:, None] * spread[j, j:]  # and w[:, j] is kept
    return w.to(weight.dtype)


# The maps of a block, and what they read, by their names in a tape.
READS = {
    "attn.c_attn": "ln_1",
    "attn.c_proj": "attn.merged",
    "mlp.c_fc": "ln_2",
    "mlp.c_proj": "mlp.act",
}


@torch.no_grad()
def with_gptq(model: GPT2, texts: Sequence[Sequence[int]], bits: int, per: str = "row") -> GPT2:
    """A copy whose blocks' maps are rounded by GPTQ, each for what it reads in these texts.

    A map sees what the rounded maps before it compute.
    """
    model = deepcopy(model)
    ids = pad_right(texts)
    inside = torch.arange(ids.size(1)) < torch.tensor([[len(text)] for text in texts])  # (B, T)
    for i, block in enumerate(model.transformer.h):
        for name, read in READS.items():
            with eval_mode(model), trace(model) as tape:
                model(ids)
            weight = block.get_submodule(name).weight
            weight.copy_(gptq(weight, tape[f"transformer.h.{i}.{read}"][inside], bits, per))
    return model
