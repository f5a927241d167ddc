"""A copy of a model for inference: weights cast once, laid out as the processor reads them best.

Decoding one token multiplies every weight with one number and adds it up: the time goes into
reading the weights. Half the bytes is half the time, so the copy is in bfloat16 where one asks
for it. And on a CPU the order of the numbers matters: oneDNN's kernels read a matrix in blocks of
their own, about half again as fast as row by row. They can rearrange it for each product or,
as here, once.
"""

from __future__ import annotations

from os import PathLike

import torch
from torch import nn

from .machine.device import shapes_only
from .machine.onednn import PackedLinear, onednn_knows
from .machine.outside import shown
from .model import GPT2
from .weights import require_finite


class PackedGPT2(GPT2):
    """What ``pack`` returns: a GPT2 to read from, not to train or save."""

    source_parameters: int

    @classmethod
    def from_pretrained(cls, name_or_path: str | PathLike[str]) -> PackedGPT2:
        """The weights of ``GPT2.from_pretrained``, packed."""
        return pack(GPT2.from_pretrained(name_or_path))

    def num_parameters(self) -> int:
        return self.source_parameters

    def save_pretrained(self, path: str | PathLike[str]) -> None:
        raise ValueError("a packed model cannot be saved: save the model that it was packed from")


def pack(model: GPT2, dtype: torch.dtype | None = None) -> PackedGPT2:
    """A frozen copy in eval mode on the model's device, in ``dtype`` or else the model's own.

    In half precision a text may differ with and without a cache, even at temperature 0: products
    of one token and of many are rounded in another order, and one unlike token changes the rest.
    It is used as any GPT2 is; ``generate(pack(model, torch.bfloat16), …)`` is the fast way.
    Where this build of torch has no oneDNN kernel for the type, the weights are cast only. Later
    changes of the model do not reach the copy. Raises TypeError for a type that is not a float, and
    ValueError if a weight is not finite, or too large for the type.
    """
    if not isinstance(model, GPT2) or isinstance(model, PackedGPT2):
        raise TypeError(f"pack takes a GPT2 that is not packed, got a {type(model).__name__}")
    dtype = model.dtype if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a torch.dtype of floats, got {shown(dtype)}")
    with shapes_only():  # the weights are those of the model
        fast = PackedGPT2(model.config)
    fast.source_parameters = model.num_parameters()
    state = {
        key: value.detach().to(dtype, copy=True)
        for key, value in model.state_dict().items()
        if key != "lm_head.weight"
    }
    require_finite(state, f"the weights in {dtype}")
    state["lm_head.weight"] = state["transformer.wte.weight"]
    fast.load_state_dict(state, assign=True)
    fast.tie_weights()  # assigning untied them
    if model.device.type == "cpu" and onednn_knows(dtype):
        for module in list(fast.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(module, name, PackedLinear(child))
    return fast.eval().requires_grad_(False)
