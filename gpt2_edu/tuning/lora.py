"""LoRA: beside each frozen matrix a correction of low rank (Hu et al. 2022).

    W x  becomes  W x + (α/r) · B A x       W (out, in), A (r, in), B (out, r)

Only A and B are trained: r · (in + out) weights in place of in · out. B is 0 at first, so that the
model begins as it was. ``merge`` adds (α/r) · B A to W and leaves a plain model. Adapters are saved
and loaded by peft_files.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.nn import functional as F

from ..config import MAX_SIZE, check_int, check_positive
from ..language_model import LanguageModel
from ..machine.messages import join_some, nearest, short_repr
from ..quantize import is_plain
from .adapted import Adapted, adapted, add_table

M = TypeVar("M", bound=LanguageModel)


@dataclass(frozen=True, kw_only=True)
class LoraConfig:
    """What an adapter changes."""

    rank: int = 4  # r
    alpha: float = 8.0  # α: the correction counts α/r times
    targets: tuple[str, ...] = ()  # maps of the blocks, such as c_attn or q_proj; () is all of them
    train_tables: bool = False  # the token embeddings as a whole, and with them the head

    def __post_init__(self) -> None:
        check_int("rank", self.rank, 1, MAX_SIZE)
        check_positive("alpha", self.alpha)
        names: Any = self.targets
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"targets must be a tuple of names, got {short_repr(names)}")

    @property
    def scale(self) -> float:
        """α/r."""
        return self.alpha / self.rank


class LoraLinear(Adapted, nn.Linear):
    """A linear map, (…, in) → (…, out), with the A and B of each adapter beside its weight."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self.lora_A, self.lora_B = nn.ParameterDict(), nn.ParameterDict()
        self.configs: dict[str, LoraConfig] = {}

    def add(self, name: str, config: LoraConfig) -> None:
        """Add an adapter that changes nothing yet."""
        A = self.weight.new_empty(config.rank, self.in_features)
        B = self.weight.new_zeros(self.out_features, config.rank)
        nn.init.kaiming_uniform_(A, a=math.sqrt(5))  # as nn.Linear begins: within ±1/√in
        self.lora_A[name], self.lora_B[name] = nn.Parameter(A), nn.Parameter(B)
        self.configs[name] = config

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        if (name := self.in_use) is None or name not in self.configs:
            return y
        A, B, scale = self.lora_A[name], self.lora_B[name], self.configs[name].scale
        return y + scale * F.linear(F.linear(x, A), B)

    def merged(self) -> Tensor:
        if (name := self.in_use) is None or name not in self.configs:
            return self.weight
        A, B, scale = self.lora_A[name], self.lora_B[name], self.configs[name].scale
        return self.weight + scale * B @ A


# ---- Adapters of a model -----------------------------------------------------------------------


def add_lora(model: M, config: LoraConfig, name: str = "default") -> M:
    """Freeze a model, and add an adapter to it that learns and is in use. Returns the model.

    Raises TypeError or ValueError, and changes nothing, for a quantised model, for targets that it
    does not have, and for a name that is taken.
    """
    model.can_learn()
    if not name.isidentifier() or name in adapters(model):
        raise ValueError(f"an adapter needs a new name, of letters and digits; got {name!r}")
    maps = targeted(model, config)
    model.requires_grad_(False)
    config = replace(config, targets=tuple(sorted({at.rpartition(".")[2] for at in maps})))
    for at, linear in maps.items():
        if not isinstance(linear, LoraLinear):
            linear = LoraLinear(linear)
            parent, _, child = at.rpartition(".")
            setattr(model.get_submodule(parent), child, linear)
        linear.add(name, config)
    if config.train_tables:
        add_table(model, name)
    use_adapter(model, name)
    return model


def targeted(model: LanguageModel, config: LoraConfig) -> dict[str, nn.Linear]:
    """The linear maps of the blocks that a config names. Raises ValueError if it has none."""
    maps = {
        at: module
        for at, module in model.named_modules()
        if isinstance(module, nn.Linear) and at.startswith("transformer.h.")
    }
    known = sorted({at.rpartition(".")[2] for at in maps})
    if not known or (unknown := [name for name in config.targets if name not in known]):
        named = join_some(unknown) if known else "linear map in its blocks"
        raise ValueError(f"this model has no {named}. It has: {join_some(known) or 'none'}")
    wanted = config.targets or known
    maps = {at: module for at, module in maps.items() if at.rpartition(".")[2] in wanted}
    if bad := [at for at, m in maps.items() if not is_plain(m, nn.Linear, LoraLinear)]:
        raise TypeError(f"LoRA would lose what these do of their own: {join_some(bad)}")
    return maps


def adapters(model: nn.Module) -> dict[str, LoraConfig]:
    """The adapters of a model by their names."""
    configs = (getattr(module, "configs", {}) for module in adapted(model).values())
    return {name: config for some in configs for name, config in some.items()}


def use_adapter(model: nn.Module, name: str | None) -> None:
    """Use one adapter, or none. Raises ValueError for a name that the model does not have."""
    if name is not None and name not in adapters(model):
        raise ValueError(f"this model has no adapter {name!r}. {nearest(name, adapters(model))}")
    for module in adapted(model).values():
        module.in_use = name


@contextmanager
def disabled(model: nn.Module) -> Iterator[None]:
    """Inside, the model computes what it did before it was tuned."""
    used = {module: module.in_use for module in adapted(model).values()}
    try:
        for module in used:
            module.in_use = None
        yield
    finally:
        for module, name in used.items():
            module.in_use = name


def merge(model: M) -> M:
    """A plain copy with the weights that the adapter in use leaves: W + (α/r) · B A."""
    changed = {f"{at}.weight": module.merged() for at, module in adapted(model).items()}
    state, plain = model.state_dict() | changed, type(model).blank(model.config)
    copied = {at: state[at].detach().clone() for at in plain.state_dict()}
    plain.load_state_dict(copied, assign=True)
    return plain.train(model.training)
