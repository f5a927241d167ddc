"""Fewer bits: a model whose matrices hold integers, for inference.

    quantize(model)                      # 8 bits, a scale for each row
    quantize(model, bits=4, group=32)    # 4 bits, a scale for each 32 columns

A weight w is stored as the integer q nearest to w / s and read as q · s. The scale s is shared by a
row, or by a group of columns of a row: the largest weight among them becomes the largest integer,
127 in 8 bits and 7 in 4. So zero stays zero, and nothing is clipped. This is symmetric rounding to
the nearest (Dettmers et al. 2022, section 2).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .config import check_int
from .machine.files import read_json
from .machine.messages import join_some, short_repr
from .tape import kind_of
from .weights import not_finite

M = TypeVar("M", bound=nn.Module)


# ---- Rounding ----------------------------------------------------------------------------------


def round_to(weight: Tensor, bits: int, group: int | None = None) -> Tensor:
    """The weights (…, columns) that rounding leaves, in the type that they have.

    ``bits`` is 2 to 16. A scale is shared by a row, or by each ``group`` columns of a row. Raises
    TypeError or ValueError for other bits, for a group that does not divide the columns, and for
    weights that are not finite floats.
    """
    check_int("bits", bits, 2, 16)
    integers, scales = rounded(weight, bits, group)
    wide = torch.promote_types(weight.dtype, torch.float32)  # 16 bits are too many for bfloat16
    return restored(integers, scales.to(wide)).to(weight.dtype)


def rounded(weight: Tensor, bits: int, group: int | None) -> tuple[Tensor, Tensor]:
    """The integers (…, columns), as floats, and scales (…, columns / group) of these weights."""
    if not isinstance(weight, Tensor) or not weight.is_floating_point() or weight.ndim == 0:
        raise TypeError(f"weights must be floats in rows, got {kind_of(weight)}")
    check_group(group, {"the matrix": weight.size(-1)})
    if not_finite({"": weight}):
        raise ValueError("these weights are not all finite, so none of them is the largest")
    most, wide = 2 ** (bits - 1) - 1, torch.promote_types(weight.dtype, torch.float32)
    groups = weight.detach().to(wide).unflatten(-1, (-1, group or weight.size(-1)))
    scales = (groups.abs().amax(dim=-1) / most).to(weight.dtype)
    integers = (groups / scales.to(wide).unsqueeze(-1)).round().clamp(-most, most)
    return integers.nan_to_num(0.0).flatten(-2), scales  # 0 / 0 in a group of zeros


def restored(integers: Tensor, scales: Tensor) -> Tensor:
    """What integers (…, columns) stand for: each times the scale of its group."""
    groups = integers.to(scales.dtype).unflatten(-1, (scales.size(-1), -1))
    return (groups * scales.unsqueeze(-1)).flatten(-2)


def check_group(group: int | None, columns: Mapping[str, int]) -> None:
    """Raise unless the size of a group divides the columns of each named matrix."""
    if group is None:
        return
    check_int("group", group, 1)
    if bad := [f"{name} has {n:,}" for name, n in columns.items() if n % group]:
        raise ValueError(
            f"group must divide the columns of every matrix, got {group}: {join_some(bad, most=4)}"
        )


def two_in_a_byte(integers: Tensor) -> Tensor:
    """Integers of 4 bits, -8 … 7 (…, columns), as bytes (…, ⌈columns / 2⌉), the first one low."""
    even = F.pad(integers, (0, integers.size(-1) % 2)).add(8).to(torch.uint8)
    return even[..., ::2] | even[..., 1::2] << 4


def from_bytes(packed: Tensor, columns: int) -> Tensor:
    """The other way round: bytes (…, ⌈columns / 2⌉) to int8 (…, columns)."""
    both = torch.stack((packed & 15, packed >> 4), dim=-1).to(torch.int8) - 8
    return both.flatten(-2)[..., :columns]


def filled(weight: Tensor, bits: int, group: int | None) -> tuple[Tensor, Tensor]:
    """The integers and scales of these weights (rows, columns), as a layer stores them."""
    integers, scales = rounded(weight, bits, group)
    return two_in_a_byte(integers) if bits == 4 else integers.to(torch.int8), scales


def blank(weight: Tensor, bits: int, group: int | None) -> tuple[Tensor, Tensor]:
    """The same without data. To compute the shapes, torch would import its compiler, for 2 s."""
    rows, columns = weight.shape
    wide, kind = (-(-columns // 2), torch.uint8) if bits == 4 else (columns, torch.int8)
    stored = torch.empty(rows, wide, dtype=kind, device=weight.device)
    return stored, weight.detach().new_empty(rows, columns // (group or columns))


# ---- The layers --------------------------------------------------------------------------------


class Integers(nn.Module):
    """A matrix (rows, columns) of integers, with a scale for each group of columns in a row."""

    integers: Tensor  # (rows, columns) of int8; in 4 bits bytes, (rows, ⌈columns / 2⌉)
    scales: Tensor  # (rows, columns / group)

    def __init__(self, weight: Tensor, bits: int, group: int | None) -> None:
        super().__init__()
        self.shape, self.bits = weight.shape, bits
        stored, scales = (blank if weight.is_meta else filled)(weight, bits, group)
        self.register_buffer("integers", stored)
        self.register_buffer("scales", scales)

    @property
    def weight(self) -> Tensor:
        """What the integers stand for, (rows, columns): a copy in floats."""
        return self.restored(self.integers, self.scales)

    def restored(self, integers: Tensor, scales: Tensor) -> Tensor:
        """The same of some rows."""
        if self.bits == 4:
            integers = from_bytes(integers, self.shape[1])
        return restored(integers, scales)

    def extra_repr(self) -> str:
        groups = self.scales.size(1)
        return f"{tuple(self.shape)} in {self.bits} bits, {groups} scales a row"


def stored_names(module: nn.Module) -> tuple[str, ...]:
    """The names of the tensors that hold the matrix of a module."""
    return ("integers", "scales") if isinstance(module, Integers) else ("weight",)


class QuantizedLinear(Integers):
    """``nn.Linear`` with a matrix of integers: (…, in) → (…, out)."""

    def __init__(self, linear: nn.Linear, bits: int, group: int | None) -> None:
        super().__init__(linear.weight, bits, group)
        self.out_features, self.in_features = linear.out_features, linear.in_features
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class QuantizedEmbedding(Integers):
    """``nn.Embedding`` with a table of integers: (…) → (…, columns)."""

    def __init__(self, table: nn.Embedding, bits: int, group: int | None) -> None:
        super().__init__(table.weight, bits, group)

    def forward(self, idx: Tensor) -> Tensor:
        return self.restored(self.integers[idx], self.scales[idx])


# ---- Models ------------------------------------------------------------------------------------


class Rounding(NamedTuple):
    """How the matrices of a model are stored."""

    bits: int
    group: int | None = None  # columns that share a scale, or None for a row


def quantize(model: M, bits: int = 8, group: int | None = None) -> M:
    """A frozen copy of a GPT2 or Llama, for inference, whose linear maps and table hold integers.

    ``bits`` is 8 or 4, and ``group`` the number of columns that share a scale, by default a row.
    A tied table is the head's, too. Positions, norms and biases stay floats: in GPT-2 0.7 % of the
    parameters. The copy generates, is traced, moved, saved and loaded as the model is, but not
    trained. Raises TypeError or ValueError for what cannot be rounded so, before anything is made.
    """
    if not hasattr(model, "rounding"):
        raise TypeError(f"quantize takes a GPT2 or a Llama, got {short_repr(model)}")
    if any(isinstance(module, Integers) for module in model.modules()):
        raise TypeError("quantize takes a model of floats, and this one holds integers already")
    check_int("bits", bits, 2, 16)
    if bits not in (8, 4):
        raise ValueError(f"bits must be 8 or 4, got {bits}: round_to shows what others would leave")
    table: Any = model.wte
    maps = {name: m for name, m in model.named_modules() if isinstance(m, nn.Linear)}
    maps["transformer.wte"] = table
    bad = [name for name, m in maps.items() if not is_plain(m, nn.Linear, nn.Embedding)]
    if bad:
        raise TypeError(f"quantize would lose what these do of their own: {join_some(bad)}")
    check_group(group, {name: m.weight.size(1) for name, m in maps.items()})
    if bad := not_finite(dict(model.named_parameters())):
        raise ValueError(f"these weights are not all finite: {join_some(bad)}")

    made: dict[int, Any] = {
        id(m): QuantizedLinear(m, bits, group) for m in maps.values() if isinstance(m, nn.Linear)
    }
    made[id(table)] = QuantizedEmbedding(table, bits, group)
    original: Any = model
    copied: Any = copy.deepcopy(model, made)  # these are taken for copies made already
    if original.is_tied():
        copied.tie_weights()
    copied.requires_grad_(False).eval()
    copied.rounding = Rounding(bits, group)
    return copied


def is_plain(module: nn.Module, *kinds: type[nn.Module]) -> bool:
    """Whether a module computes what one of these classes does, with no hook to call."""
    hooks = module._forward_hooks or module._forward_pre_hooks
    return type(module) in kinds and not hooks and "forward" not in vars(module)


# ---- On disk -----------------------------------------------------------------------------------

KEY = "quantization_config"  # in a config.json, by Hugging Face's name
METHOD = "gpt2-edu"


def to_json(rounding: Rounding | None) -> dict[str, object]:
    """What config.json says besides the sizes of a model."""
    return {} if rounding is None else {KEY: {"quant_method": METHOD, **rounding._asdict()}}


def stored_rounding(path: Path) -> Rounding | None:
    """How the matrices beside a config.json are stored; None for floats.

    Raises ValueError for those of another library.
    """
    stored = read_json(path)
    found = stored.get(KEY) if isinstance(stored, dict) else None
    if found is None:
        return None
    if not isinstance(found, dict) or found.get("quant_method") != METHOD:
        raise ValueError(
            f"{path} describes quantised weights of another library, {short_repr(found)}: only "
            "those that quantize(model).save_pretrained wrote can be read"
        )
    bits: Any = found.get("bits")
    return Rounding(bits, found.get("group"))
