"""What a user asks of a language model besides its forward pass: load, save, count, move, cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from os import PathLike
from types import ModuleType
from typing import Any, ClassVar, Literal, Self, get_args
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from . import weights
from .cache import KVCache
from .machine.device import shapes_only
from .machine.messages import join_some
from .quantize import Integers, Rounding, quantize, stored_names, stored_rounding, to_json

AttentionChoice = Literal["auto", "explicit", "fused"]


class LanguageModel(nn.Module):
    """The base of GPT2 and Llama: ``model(idx, targets)`` returns logits (B, T, V) and the loss.

    Where token embeddings ``wte`` and the head ``lm_head`` share one weight, they still do after
    ``to``, ``to_empty`` or ``load_state_dict(…, assign=True)`` of the model.
    """

    transformer: Any  # with the token embeddings wte
    lm_head: nn.Linear
    config: Any
    config_type: ClassVar[type]
    layout: ModuleType  # on disk
    log_sum_exp: float  # the mean of log Σ exp(logits) of ``probe``, by transformers
    rounding: Rounding | None = None  # of the copy that ``quantize`` makes

    def __init__(self, config: Any) -> None:
        super().__init__()
        if not isinstance(config, self.config_type):
            raise TypeError(
                f"{type(self).__name__} is made from a {self.config_type.__name__}, got "
                f"{type(config).__name__}. Weights are loaded by "
                f"{type(self).__name__}.from_pretrained(…)"
            )
        self.config = config

    @property
    def wte(self) -> nn.Embedding:
        """The token embeddings, (V, C)."""
        return self.transformer.wte

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights; of a quantised model, that of its scales and results."""
        return next(self.parameters()).dtype

    def num_parameters(self) -> int:
        """Number of parameters, floats or integers. The tied table wte = lm_head counts once."""
        maps = {id(m.integers): m for m in self.modules() if isinstance(m, Integers)}
        floats = sum(parameter.numel() for parameter in self.parameters())
        return floats + sum(m.shape.numel() for m in maps.values())

    def nbytes(self) -> int:
        """Bytes of all weights, with the scales of a quantised model."""
        return sum(tensor.nbytes for tensor in (*self.parameters(), *self.buffers()))

    def make_cache(self, batch_size: int, max_len: int | None = None) -> KVCache:
        """An empty cache for this model, by default as long as its window."""
        # On a CPU, attention of one query is several times as fast in float32.
        on_cpu = self.device.type == "cpu"
        dtype = torch.promote_types(self.dtype, torch.float32) if on_cpu else self.dtype
        return KVCache(self.config, batch_size, max_len, self.device, dtype)

    def use_attention(self, attention: AttentionChoice) -> None:
        """Choose which attention runs in every block: "explicit", "fused", or the faster one."""
        if attention not in get_args(AttentionChoice):
            raise ValueError(f'attention must be "auto", "explicit" or "fused", got {attention!r}')
        for module in self.modules():
            if hasattr(module, "attention"):
                module.attention = attention  # type: ignore[assignment]

    # ---- Load and save

    @classmethod
    def from_pretrained(cls, name_or_path: str | PathLike[str]) -> Self:
        """The model in a folder or published under a name, in float32 and eval mode.

        ``name_or_path`` is a folder with config.json and model.safetensors, ours or Hugging
        Face's; or a run's, of which the checkpoint with the lowest validation loss is taken, or
        the last if there was no validation; or "crane", the small model of Crane World in this
        package; or "gpt2", "gpt2-medium", "gpt2-large" or "gpt2-xl", OpenAI's weights from the
        Hugging Face hub; or "owner/name" or "owner/name@revision", any other repository there. A
        folder with such a name comes first. Of a repository without a revision, or with a branch,
        the first call asks for the commit, and later ones load the same.
        """
        read = partial(weights.read_config, layout=cls.layout)
        folder = weights.locate(name_or_path, check=read)
        path = folder / weights.CONFIG
        config, rounding = read(path), stored_rounding(path)
        try:
            model = cls.blank(config, rounding)  # every weight comes from the file
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} does not describe a {cls.layout.FAMILY}: {error}") from error
        state = weights.read_weights(folder, model.state_dict(), cls.layout, model.is_tied())
        model.load_state_dict(state, assign=True)
        return model.eval()

    @classmethod
    def blank(cls, config: Any, rounding: Rounding | None = None) -> Self:
        """A model with shapes, but no data."""
        with shapes_only():
            model = cls(config)
            return model if rounding is None else quantize(model, *rounding)

    def save_pretrained(self, path: str | PathLike[str]) -> None:
        """Write config.json and model.safetensors so that ``transformers`` can load them too.

        Those of a quantised model hold its integers, which only this package reads.
        """
        state, more = self.checked_state_dict(), to_json(self.rounding)
        weights.save(self.config, state, path, self.layout, more)

    def published_state_dict(self) -> dict[str, Tensor]:
        """The state dict, for whoever computes the published model: ``transformers``, a page.

        Raises ValueError, naming the parts, for a model that computes something else.
        """
        if self.rounding is not None:
            raise ValueError(
                f"this model holds integers of {self.rounding.bits} bits, which the published "
                f"{self.layout.FAMILY} does not. Take the model that it was made from."
            )
        return self.checked_state_dict()

    def checked_state_dict(self) -> dict[str, Tensor]:
        """The state dict of a model that computes what its config says.

        Raises ValueError, naming the parts, for one that does not.
        """
        state, plain = self.state_dict(), self.blank(self.config, self.rounding)
        problems = replaced(self, plain)
        problems += weights.differences(state, plain.state_dict(), self.layout, plain.is_tied())
        if plain.is_tied() and not self.is_tied():  # a file holds one table for both
            problems.append("lm_head.weight is no longer tied to transformer.wte.weight")
        if not problems and not self.computes_as_published():
            problems = [f"{type(self).__module__}.{type(self).__qualname__} computes other logits"]
        if problems:
            raise ValueError(
                f"this model is not the {self.layout.FAMILY} of its config: "
                f"{join_some(problems)}. Nothing was written. Undo or merge the changes, or keep "
                "them beside the weights themselves: torch.save(model.state_dict(), path)."
            )
        return state

    @classmethod
    def probe(cls) -> Self:
        """A small model of this class, whose logits for ids 0 … 127 are known."""
        raise NotImplementedError

    @classmethod
    def computes_as_published(cls) -> bool:
        """Whether the class computes what the published one does; not so after an edit of it."""
        try:
            model = cls.probe().double()
        except ValueError:  # it has other parameters
            return False
        with torch.inference_mode():
            logits, _ = model(torch.arange(128, device="cpu").unsqueeze(0))
        return abs(logits.logsumexp(dim=-1).mean().item() - cls.log_sum_exp) < 1e-5

    # ---- A quantised model is for inference

    def train(self, mode: bool = True) -> Self:
        """As in torch. Raises ValueError for a quantised model: integers have no gradient."""
        return super().train(mode and self.can_learn())

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """As in torch. Raises ValueError for a quantised model."""
        return super().requires_grad_(requires_grad and self.can_learn())

    def can_learn(self) -> bool:
        """True. Raises ValueError for a quantised model."""
        if self.rounding is not None:
            raise ValueError(
                f"this model holds integers of {self.rounding.bits} bits, which have no gradient: "
                "train the model that it was made from, and quantize that"
            )
        return True

    # ---- One table, two roles

    def tie_weights(self) -> None:
        """Make lm_head's weight that of the token embeddings."""
        for name in stored_names(self.wte):
            setattr(self.lm_head, name, getattr(self.wte, name))

    def is_tied(self) -> bool:
        """Whether lm_head's weight is that of the token embeddings."""
        name = stored_names(self.wte)[0]
        return getattr(self.lm_head, name, None) is getattr(self.wte, name)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """What ``to``, ``to_empty`` and others call for each tensor, so for a tied one twice."""
        tied = self.is_tied()
        super()._apply(fn, recurse)
        if tied:
            self.tie_weights()
        return self

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """As in torch. Raises ValueError for integers, unless this is a quantised model."""
        if self.rounding is None and any(key.endswith(".integers") for key in state_dict):
            raise ValueError(
                "these are the integers of a quantised model, and this one holds floats: load the "
                "weights that it was made from"
            )
        tied = self.is_tied()
        result = super().load_state_dict(state_dict, strict, assign)
        if tied:
            self.tie_weights()
        return result


def replaced(model: nn.Module, plain: nn.Module) -> list[str]:
    """The modules whose class is not that in a plain model, or whose forward is their own."""
    kinds = {name: type(module) for name, module in plain.named_modules()}
    return [
        f"{name} has code of its own ({type(module).__name__})"
        for name, module in model.named_modules()
        if type(module) is not kinds.get(name, type(module)) or "forward" in vars(module)
    ]


def modules_of(model: nn.Module) -> list[nn.Module]:
    """Those of ``model.modules()``, five times as fast: they are looked at for every token."""
    found = [model]
    for module in found:
        found += [child for child in module._modules.values() if child is not None]
    return found


@contextmanager
def eval_mode(model: object) -> Iterator[None]:
    """Dropout is off inside; afterwards every module is in the mode that it was in.

    Of several threads inside with one model, the last one to leave restores its modes.
    """
    if not isinstance(model, nn.Module):
        yield
        return
    with _LOCK:
        inside, training = _EVALUATED.get(model, (0, []))
        training += [module for module in modules_of(model) if module.training]
        _EVALUATED[model] = inside + 1, training
        for module in training:
            module.training = False
    try:
        yield
    finally:
        with _LOCK:
            inside, training = _EVALUATED.pop(model)
            if inside > 1:
                _EVALUATED[model] = inside - 1, training
            else:
                for module in training:
                    module.training = True


_LOCK = threading.Lock()
# How many blocks a model is inside of, and which of its modules were training before the first.
_EVALUATED: WeakKeyDictionary[nn.Module, tuple[int, list[nn.Module]]] = WeakKeyDictionary()
