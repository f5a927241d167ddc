"""Faster generation, asked for by name: packed weights, a compiled forward pass.

    from gpt2_edu import fast, generate

    generate(fast.pack(model, torch.bfloat16), idx, 100)  # on a CPU
    generate(model, idx, 100, predict=fast.Compiled(model, len(idx)))  # on a GPU

Both run the model's own forward pass: packed weights are other modules inside it, and what is
compiled is the pass as it is written. Nothing here is ever used without being asked for.
"""

from __future__ import annotations

import copy
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor, nn

from .cache import KVCache
from .generation import Cached
from .language_model import LanguageModel
from .machine.device import require_compiler
from .machine.messages import join_some, short_repr
from .quantize import Integers, is_plain
from .weights import not_finite

M = TypeVar("M", bound=nn.Module)


# ---- Packed weights ----------------------------------------------------------------------------
# To decode a token, every weight is read, multiplied with one number and added up: the time goes
# into reading. Half the bytes is half the time; and oneDNN, torch's library of matrix products on a
# CPU, reads a matrix in blocks of its own half again as fast on some processors, on others not.


FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def pack(model: M, dtype: torch.dtype | None = None) -> M:
    """A frozen copy of a model for inference: weights in ``dtype``, laid out for oneDNN on a CPU.

    Every ``nn.Linear`` becomes a ``PackedLinear``, except one that is a subclass or has hooks: it
    is cast only, and so is everything where torch has no oneDNN kernel for the type. Packed weights
    are no parameters: count, save and train the model itself. In half precision a text may differ
    with and without a cache, because sums of one row and of many are rounded in another order.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"pack takes a model, got {short_repr(model)}")
    if any(isinstance(module, PackedLinear | Integers) for module in model.modules()):
        raise TypeError("pack takes a model that is neither packed nor quantised already")
    if dtype is None:
        dtype = next((weight.dtype for weight in model.parameters()), None)
    if dtype not in FLOATS:
        raise TypeError(
            f"pack takes a model whose weights are {join_some(FLOATS)}, or one of these "
            f"as dtype, got {short_repr(dtype)}"
        )
    packed = copy.deepcopy(model).to(dtype).requires_grad_(False)
    if bad := not_finite(dict(packed.named_parameters())):
        raise ValueError(f"these weights are not all finite in {dtype}: {join_some(bad)}")
    if next(packed.parameters()).device.type == "cpu" and onednn_knows(dtype):
        for parent in list(packed.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, nn.Linear) and is_plain(child):
                    setattr(parent, name, PackedLinear(child))
        for module in packed.modules():  # refuse before a part of the model has changed
            module._apply = module.load_state_dict = refuse  # type: ignore[method-assign]
    return packed.eval()


def onednn_knows(dtype: torch.dtype) -> bool:
    """Whether this processor and this build of torch have oneDNN kernels for the type."""
    if not torch.backends.mkldnn.is_available():
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    if dtype == torch.float16:
        return bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())
    return dtype == torch.float32


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """What a packed layer does instead of being moved, copied, loaded or saved."""
    raise ValueError(
        "packed weights can be neither moved, copied, loaded nor saved: do it with the model "
        "that they were packed from, and pack that"
    )


class PackedLinear(nn.Module):
    """``nn.Linear`` on a CPU with its weight in oneDNN's layout: (…, in) → (…, out).

    The layout belongs to this processor, so the layer can be neither moved, copied nor saved.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")

    @property
    def weight(self) -> Tensor:
        """The weight in its usual layout, for code that reads it: a copy."""
        return self.packed.to_dense()

    _save_to_state_dict = __deepcopy__ = __reduce_ex__ = refuse


# ---- The compiled forward pass -----------------------------------------------------------------
# Python needs microseconds to start a kernel, and the small kernels of one token run no longer than
# that. torch.compile joins them, and "reduce-overhead" records the whole step as a CUDA graph.


class FixedCache(KVCache):
    """A KVCache whose shapes never change: all max_len keys are seen, and a mask hides the rest.

    Its length is in a tensor, ``start``, so that one compiled step serves every length.
    """

    def __init__(self, *sizes: Any) -> None:
        self.start = torch.zeros(1, dtype=torch.int64)
        super().__init__(*sizes)
        self.start = self.start.to(self.k[0].device)
        for tensor in (*self.k, *self.v, self.start):
            torch._dynamo.mark_static_address(tensor)  # a CUDA graph reads them where they are

    @property
    def length(self) -> int:
        return int(self.start)

    @length.setter
    def length(self, length: int) -> None:
        self.start.fill_(length)

    def begin(self, model: nn.Module, idx: Tensor) -> tuple[Tensor, int]:
        if not torch.compiler.is_compiling():  # Compiled claims it before its step
            self.claim(model, idx)
        return self.positions(idx.size(1)), self.max_len

    def positions(self, T: int) -> Tensor:
        return self.start + torch.arange(T, device=self.start.device)

    def needs_mask(self, T: int) -> bool:
        return True

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if not torch.compiler.is_compiling():
            self.count(layer)
        positions = self.positions(k.size(2))
        self.k[layer].index_copy_(2, positions, k.detach().to(self.k[layer].dtype))
        self.v[layer].index_copy_(2, positions, v.detach().to(self.v[layer].dtype))
        return self.k[layer], self.v[layer]

    def end(self, T: int, blocks: int) -> None:
        if torch.compiler.is_compiling():
            self.start += T
        else:
            super().end(T, blocks)


class Compiled(Cached):
    """A predictor for ``generate(…, predict=Compiled(model, batch_size))``: a compiled step.

    The step, one token of each of ``batch_size`` texts, is compiled when it is first needed, which
    takes half a minute; the prompt is computed uncompiled. On a CUDA device the step is recorded
    as a CUDA graph. ``max_len`` tokens fit, by default the model's window; a longer text is
    recomputed, uncompiled. A Compiled serves one stream of texts at a time, and any number of them.
    """

    def __init__(
        self,
        model: LanguageModel,
        batch_size: int,
        max_len: int | None = None,
        padding: Tensor | None = None,
    ) -> None:
        device = model.device
        require_compiler(device)
        like = model.make_cache(1, 1)
        cache = FixedCache(model.config, batch_size, max_len, device, like.k[0].dtype)
        super().__init__(model, cache, padding)
        self.ids = torch.zeros(batch_size, dtype=torch.int64, device=device)
        mode = "reduce-overhead" if device.type == "cuda" else None
        self.step = torch.compile(self.one_token, mode=mode, fullgraph=True, dynamic=False)

    def one_token(self, ids: Tensor, code: str) -> Tensor:
        """Logits (B, V) after ids (B,)."""
        assert code  # which is read here, so that the compiler compiles again when it changes
        return super().predict(ids.unsqueeze(1))

    def predict(self, new: Tensor) -> Tensor:
        self.cache.claim(self.model, new)
        if new.size(1) > 1:
            return super().predict(new)
        self.ids.copy_(new[:, 0])
        with torch._dynamo.config.patch(skip_nnmodule_hook_guards=False, recompile_limit=64):
            logits: Tensor = self.step(self.ids, code_of(self.model))
        return logits.clone()  # a CUDA graph writes its next result to the same place


def code_of(model: nn.Module) -> str:
    """What changes when a class or a hook of a model does, which torch.compile does not notice."""
    modules = list(model.modules())
    classes = {type(module) for module in modules}
    hooks = [
        hook
        for module in modules
        for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values())
    ]
    return str(hash((frozenset((c, *map(id, vars(c).values())) for c in classes), *map(id, hooks))))
