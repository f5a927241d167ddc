"""Arguments that stop functions of PyTorch, for exercises in which a reader writes one of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from torch import Tensor


def refusing(name: str, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The same tensors, with which the functions called ``name`` raise RuntimeError.

    ``refusing("softmax", x)`` stops ``torch.softmax``, ``x.softmax`` and ``nn.Softmax`` alike.
    """
    return tuple(tensor.as_subclass(_kind(name)) for tensor in tensors)


@cache
def _kind(name: str) -> type[Tensor]:
    class Refusing(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, *given: Any) -> Any:
            if getattr(func, "__name__", "") == name:
                raise RuntimeError(f"`{name}` is not allowed here: write it yourself")
            return super().__torch_function__(func, *given)

    return Refusing
