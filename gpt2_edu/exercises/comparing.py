"""How an answer's value differs from the right one, in words and as two small tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

LARGEST = 8  # rows and columns of a table that is shown
NUMBER = int | float | np.integer | np.floating | np.bool_


class Labelled(dict[str, Any]):
    """What a check measures of a result, each by a name for readers, or by a statement of it."""


def difference(got: Any, wanted: Any, tolerance: float) -> str | None:
    """How a value differs from the wanted one, as the rest of "it …"; None if it does not."""
    try:
        found = first_difference(got, wanted, tolerance)
    except Exception:  # a sparse tensor, an integer of thousands of digits, an object of its own
        return f"gives {kind_of(got)} that cannot be compared with {kind_of(wanted)}"
    return found and found[0]


def first_difference(got: Any, wanted: Any, tolerance: float) -> tuple[str, Any, Any] | None:
    """The first difference in words, and the innermost tables or values that it lies in."""
    got = got.item() if isinstance(got, np.generic) else got
    if isinstance(wanted, Tensor):
        wrong = _tensor_difference(got, wanted, tolerance)
        return (wrong, got, wanted) if wrong else None
    got = _plain(got, wanted)
    if isinstance(wanted, Labelled) and isinstance(got, Labelled):
        return _labelled_difference(got, wanted, tolerance)
    if isinstance(wanted, Mapping | list | tuple):
        wrong = _form_difference(got, wanted)
        if wrong:
            return wrong, got, wanted
        for where, mine, right in _pairs(got, wanted):
            found = first_difference(mine, right, tolerance)
            if found:
                whole = _numbers(wanted) is not None and _numbers(got) is not None
                inner = (got, wanted) if whole else found[1:]
                return f"{found[0]} ({where})", *inner
        return None
    wrong = _value_difference(got, wanted, tolerance)
    return (wrong, got, wanted) if wrong else None


def _labelled_difference(
    got: Labelled, wanted: Labelled, tolerance: float
) -> tuple[str, Any, Any] | None:
    for label, right in wanted.items():
        mine = got[label]
        found = first_difference(mine, right, tolerance)
        if found and isinstance(right, bool):
            is_so, should = ("is", "should not be") if mine else ("is not", "should be")
            return f"{is_so} so that {label}, and it {should}", mine, right
        if found:
            return f"{found[0]} ({label})", *found[1:]
    return None


def _plain(got: Any, wanted: Any) -> Any:
    """A tensor or NumPy array as the number or list that is wanted."""
    if getattr(got, "ndim", None) == 0 and hasattr(got, "item"):
        return got.item()
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return got.item() if isinstance(got, Tensor) and got.numel() == 1 else got
    if isinstance(wanted, list | tuple) and hasattr(got, "tolist"):
        of_tensors = isinstance(got, Tensor) and wanted and isinstance(wanted[0], Tensor)
        return list(got) if of_tensors else got.tolist()
    return got


def _form_difference(
    got: Any, wanted: Mapping[Any, Any] | list[Any] | tuple[Any, ...]
) -> str | None:
    """A difference of two collections in their kind, their keys or their length."""
    if isinstance(wanted, Mapping):
        if not isinstance(got, Mapping):
            return f"gives {kind_of(got)}, not a dictionary"
        if missing := [key for key in wanted if key not in got]:
            return f"lacks {missing[0]!r}"
        if more := [key for key in got if key not in wanted]:
            return f"has the unexpected key {short(more[0])}"
    elif not isinstance(got, list | tuple):
        return f"gives {kind_of(got)}, not a {type(wanted).__name__}"
    elif len(got) != len(wanted):
        return f"has length {len(got)} instead of {len(wanted)}"
    return None


def _pairs(got: Any, wanted: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, Mapping):
        yield from ((f"at {key!r}", got[key], value) for key, value in wanted.items())
    else:
        pairs = zip(got, wanted, strict=True)
        yield from ((f"at index {i}", *pair) for i, pair in enumerate(pairs))


def _value_difference(got: Any, wanted: Any, tolerance: float) -> str | None:
    if isinstance(wanted, bool) or wanted is None:
        return None if got is wanted else f"gives {short(got)} where {wanted} is right"
    if isinstance(wanted, int | float):
        if not isinstance(got, int | float) or isinstance(got, bool):
            return f"gives {kind_of(got)}, not a number"
        same = math.isclose(got, wanted, rel_tol=tolerance, abs_tol=tolerance)
    elif isinstance(wanted, str) and isinstance(got, str):
        same = got == wanted
    else:
        same = type(got) is type(wanted) and got == wanted
    return None if same else f"gives {short(got)} where {short(wanted)} is right"


def _tensor_difference(got: Any, wanted: Tensor, tolerance: float) -> str | None:
    if wanted.ndim == 0 and isinstance(got, int | float) and not isinstance(got, bool):
        got = torch.tensor(got, dtype=wanted.dtype)
    if not isinstance(got, Tensor):
        for i, part in enumerate(got) if isinstance(got, tuple) else ():
            if _tensor_difference(part, wanted, tolerance) is None:
                return f"gives a tuple, of which only the value at place {i} is asked for"
        return f"gives {kind_of(got)}, not a tensor"
    if got.shape != wanted.shape:
        return f"gives the shape {tuple(got.shape)} where {tuple(wanted.shape)} is right"
    if got.dtype != wanted.dtype:
        return f"gives numbers of type {got.dtype} where {wanted.dtype} is right"
    got, wanted = got.detach(), wanted.detach()
    if got.is_floating_point() and got.isnan().any() and not wanted.isnan().any():
        where = got.isnan().nonzero()[0].tolist()
        return "contains NaN" + (f" at {where}" if where else "")
    apart = _apart(got, wanted, tolerance)
    if not apart.any():
        return None
    where = apart.nonzero()[0].tolist()
    mine, right = got[tuple(where)].item(), wanted[tuple(where)].item()
    place = f" at {where}" if where else ""
    return f"gives {short(mine)}{place} where {short(right)} is right"


def _apart(got: Tensor, wanted: Tensor, tolerance: float) -> Tensor:
    """Which entries differ, of two tensors of one shape."""
    if not got.is_floating_point():
        return got != wanted
    return ~torch.isclose(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


def kind_of(value: Any) -> str:
    """A value's type with its article, for a message."""
    if value is None:
        return "nothing"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def short(value: Any) -> str:
    """A value as a message shows it: at most 80 characters."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return f"{value:.6g}"
    try:
        text = repr(value)
    except Exception:
        return kind_of(value)
    return text if len(text) < 80 else text[:77] + "…"


def nearness(got: Any, wanted: Any, tolerance: float) -> float:
    """How near a value is to the wanted one: 1 if it is equal, 0 if they have nothing in common.

    Between them it is the share of equal entries, or parts, with something for the form.
    """
    if difference(got, wanted, tolerance) is None:
        return 1.0
    if isinstance(wanted, Tensor) and isinstance(got, Tensor):
        if got.shape != wanted.shape:
            return 0.1 if got.ndim == wanted.ndim else 0.0
        same = 1 - _apart(got.to(wanted.dtype), wanted, tolerance).double().mean().item()
        return 0.2 + 0.7 * same
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        parts = [nearness(got.get(key), part, tolerance) for key, part in wanted.items()]
    elif isinstance(wanted, list | tuple) and isinstance(got, list | tuple):
        parts = [nearness(*pair, tolerance) for pair in zip(got, wanted, strict=False)]
        if len(got) != len(wanted):
            return 0.1
    else:
        return 0.2 if type(got) is type(wanted) else 0.0
    return 0.2 + 0.7 * sum(parts) / max(len(parts), 1)


# ---- Numbers, as two tables and in words


def _numbers(value: Any) -> Tensor | None:
    """A tensor or a nested list of numbers as a tensor; None for anything else."""
    if isinstance(value, Tensor):
        whole = value.detach()
        return None if whole.is_sparse or whole.is_complex() or whole.is_meta else whole
    if not isinstance(value, list | tuple) or not value or not _all_numbers(value):
        return None
    try:
        return torch.tensor(value, dtype=torch.float64)
    except (ValueError, TypeError, RuntimeError, OverflowError):  # rows of several lengths, for one
        return None


def _all_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_all_numbers, value))
    return isinstance(value, NUMBER)


def is_telling(value: Any) -> bool:
    """Whether a value is so particular that two different mistakes hardly share it."""
    if isinstance(value, Mapping):
        return any(is_telling(part) for part in value.values())
    if isinstance(value, str):
        return len(value) > 20
    whole = _numbers([value] if isinstance(value, NUMBER) else value)
    if whole is None:
        return isinstance(value, list | tuple) and any(is_telling(part) for part in value)
    finite = whole.double().flatten()
    finite = finite[finite.isfinite()]
    odd = (20 * finite - (20 * finite).round()).abs() > 1e-3
    long = [len(f"{n:.0f}".strip("-0")) >= 5 for n in finite.tolist()]  # a count of parameters
    return bool(odd.any()) or any(long) or len(finite.unique()) >= 5


def side_by_side(got: Any, wanted: Any, tolerance: float) -> list[str]:
    """Two small tables of numbers beside each other, the wrong entries of the first marked.

    Of more than two axes the first table that differs is shown. Empty for what is no table, and for
    one with more than LARGEST rows or columns.
    """
    mine, right = _numbers(got), _numbers(wanted)
    if mine is None or right is None or not mine.numel() or not right.numel():
        return []
    if not mine.ndim or not right.ndim:
        return []
    wrong, title = None, "yours"
    if mine.shape == right.shape:
        wrong = _apart(mine, right.to(mine.dtype), tolerance)
        if not wrong.any():
            return []
        place = wrong.nonzero()[0].tolist()[: max(mine.ndim - 2, 0)]
        if math.prod(mine.shape[:-2]) > 1:
            title = f"yours, at {place}"
        mine, right, wrong = (whole[tuple(place)] for whole in (mine, right, wrong))
    if max(mine.ndim, right.ndim) > 2 or max(*mine.shape, *right.shape) > LARGEST:
        return []
    left, beside = [title, *_table(mine, wrong)], ["right", *_table(right, None)]
    width = max(len(line) for line in left)
    pairs = itertools.zip_longest(left, beside, fillvalue="")
    return [f"{a:{width}}    {b}".rstrip() for a, b in pairs]


def _table(table: Tensor, wrong: Tensor | None) -> list[str]:
    rows = table.reshape(-1, table.shape[-1]).tolist()
    marks = [[False] * len(row) for row in rows]
    if wrong is not None:
        marks = wrong.reshape(-1, wrong.shape[-1]).tolist()
    cells = [
        [f"{cell:.4g}" + ("*" if mark else " ") for cell, mark in zip(*pair, strict=True)]
        for pair in zip(rows, marks, strict=True)
    ]
    width = max(len(cell) for row in cells for cell in row)
    return [" ".join(f"{cell:>{width}}" for cell in row) for row in cells]


def in_words(got: Any, wanted: Any, tolerance: float) -> str | None:
    """A simple relation of wrong numbers to the right ones, in a sentence; None if there is none.

    Only for numbers that are not all equal, since those have such relations by chance.
    """
    a, b = _numbers(got), _numbers(wanted)
    if a is None or b is None or b.is_complex() or b.numel() < 2 or a.numel() != b.numel():
        return None
    a, b = a.double(), b.double()
    if not (a.isfinite().all() and b.isfinite().all()) or len(b.unique()) < 2:
        return None

    def same(x: Tensor, y: Tensor) -> bool:
        return x.shape == y.shape and not _apart(x, y, max(tolerance, 1e-6)).any()

    if a.shape != b.shape:
        if b.ndim >= 2 and same(a, b.mT):
            return "It is the right table with its last two axes swapped."
        if same(a.flatten(), b.flatten()):
            return "The numbers and their order are right, only the shape is not."
        return _swapped(a, b, same)
    if same(a, b):  # they differ in their type
        return None
    if b.ndim >= 2 and b.shape[-1] == b.shape[-2] and same(a, b.mT):
        return "It is the right table with its last two axes swapped, rows and columns."
    if same(a, -b):
        return "All of it is right except for the sign."
    return _sums(a, b, same) or _scaled(a, b, same) or _swapped(a, b, same) or _order(a, b, same)


def _swapped(a: Tensor, b: Tensor, same: Callable[[Tensor, Tensor], bool]) -> str | None:
    """Two axes, other than the last two, that have changed places."""
    for i, j in itertools.combinations(range(b.ndim), 2):
        if same(a, b.transpose(i, j)):
            return f"It is the right tensor with axes {i} and {j} swapped."
    return None


def _sums(a: Tensor, b: Tensor, same: Callable[[Tensor, Tensor], bool]) -> str | None:
    """Rows that should sum to 1 and do not."""
    sums, wanted = a.sum(dim=-1), b.sum(dim=-1)
    one = torch.ones_like(wanted)
    if (
        b.shape[-1] < 2
        or (b < 0).any()
        or (b == b.round()).all()
        or not same(wanted, one)
        or same(sums, one)
    ):
        return None
    if not (apart := _apart(sums, one, 1e-4)).any():
        return None
    where = apart.nonzero()[0].tolist()
    row = f"Row {where if len(where) > 1 else where[0]}" if where else "It"
    return f"{row} sums to {sums[tuple(where)].item():.4g}, and should sum to 1."


def _scaled(a: Tensor, b: Tensor, same: Callable[[Tensor, Tensor], bool]) -> str | None:
    """A factor or a summand that is common to all numbers."""
    largest = b.abs().argmax()
    factor = (a.flatten()[largest] / b.flatten()[largest]).item()
    if abs(factor - 1) > 1e-3 and factor and b.count_nonzero() > 1 and same(a, factor * b):
        return f"Every number is {factor:.4g} times the right one."
    more = (a - b).mean().item()
    if b.numel() > 2 and same(a, b + more):
        return f"Every number is {abs(more):.4g} too {'large' if more > 0 else 'small'}."
    return None


def _order(a: Tensor, b: Tensor, same: Callable[[Tensor, Tensor], bool]) -> str | None:
    if b.numel() > 2 and same(a.flatten().sort().values, b.flatten().sort().values):
        return "The numbers are right, but they are in another order."
    return None
