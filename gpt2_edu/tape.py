"""The shape comment that runs: ``note`` names a tensor, ``trace`` listens.

    q = note("q", q, "B H T D")

With no tape running, ``note`` hands its tensor back and a compiled graph holds no trace of it.
Inside ``with trace(model) as t:`` the same line records the tensor, checks its axes, and lets an
experiment replace its value.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .machine.display import Exhibit, text_table
from .machine.messages import did_you_mean

Edit = Tensor | Callable[[Tensor], Tensor]
LedgerRow = tuple[str, str, tuple[int, ...]]

_running: Tape | None = None  # the tape that listens now; one at a time


def _unknown(path: str, known: Iterable[str]) -> str:
    hint = did_you_mean(path, known, most=3, cutoff=0.5)
    return f"no tensor was noted as {path!r}. {hint}".rstrip()


def note(name: str, tensor: Tensor, axes: str) -> Tensor:
    """Name a tensor and its axes, and return it, or what a running experiment puts in its place.

    ``axes`` holds one letter for each dimension, as in ``"B H T D"``. Within one forward pass a
    letter stands for one size; a mismatch raises ValueError with the tensor's name, the letter
    and both sizes.
    """
    return tensor if _running is None else _running._note(name, tensor, axes)


def tracing() -> bool:
    """Whether a tape is running. Attention asks, to know if someone will look at its weights."""
    return _running is not None


@dataclass(frozen=True)
class Ledger(Exhibit):
    """A table of tensors in the order in which they came to be: name, axes, shape."""

    entries: tuple[LedgerRow, ...]

    @classmethod
    def example(cls) -> Ledger:
        return cls((("tok_emb", "B T C", (2, 5, 12)), ("pos_emb", "T C", (5, 12))))

    def rows(self) -> list[LedgerRow]:
        return list(self.entries)

    def __add__(self, later: Ledger) -> Ledger:
        """The rows of both. A name that stands in both keeps its place and takes the later row."""
        rows = {row[0]: row for row in self.entries} | {row[0]: row for row in later.entries}
        return Ledger(tuple(rows.values()))

    def __repr__(self) -> str:
        width = max((len(row[0]) for row in self.entries), default=0)
        return "\n".join(f"{n:{width}}  {a:8}  {s}" for n, a, s in self.entries)

    def html(self) -> str:
        rows = ((name, axes, " × ".join(map(str, shape))) for name, axes, shape in self.entries)
        return text_table("ledger", "Shape ledger", ("tensor", "axes", "shape"), rows)


def _kind(value: object) -> str:
    """A tensor's shape, type and device in words, or the name of what is no tensor."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"a tensor of shape {tuple(value.shape)}, {value.dtype}, on {value.device}"


class Tape:
    """What ``trace`` yields: every noted tensor of the last forward pass, by its full path.

    ``t.names`` lists the paths, ``t["transformer.h.3.attn.q"]`` is the detached tensor,
    ``t.grad(path)`` its gradient (with ``grads=True``, after ``backward``), and ``t.ledger()``
    the table of names, axes and shapes.
    """

    def __init__(self, root: nn.Module | None, edits: Mapping[str, Edit], grads: bool) -> None:
        self._root, self._edits, self._grads = root, dict(edits), grads
        self._thread = threading.get_ident()
        self._path: list[str] = []  # the modules that we are inside of, outermost first
        self._clear()

    def _clear(self) -> None:
        self._values: dict[str, Tensor] = {}
        self._live: dict[str, Tensor] = {}  # still attached to the graph, for their gradients
        self._rows: dict[str, LedgerRow] = {}
        self._sizes: dict[str, tuple[int, str]] = {}  # letter → its size and who said so first
        self._used: set[str] = set()

    def _note(self, name: str, tensor: Tensor, axes: str) -> Tensor:
        outside = self._root is not None and not self._path
        if outside or threading.get_ident() != self._thread:
            return tensor
        path = f"{self._path[-1]}.{name}" if self._path and self._path[-1] else name
        self._check_axes(path, tensor, axes)
        if path in self._edits:
            edit = self._edits[path]
            edited = edit(tensor) if callable(edit) else edit
            if _kind(edited) != _kind(tensor):
                raise ValueError(
                    f"the edit of {path!r} ({axes}) must give {_kind(tensor)}, "
                    f"but gave {_kind(edited)}"
                )
            tensor = edited
            self._used.add(path)
        if self._grads and tensor.requires_grad:
            tensor.retain_grad()
            self._live[path] = tensor
        self._values[path] = tensor.detach()
        self._rows[path] = (path, axes, tuple(tensor.shape))
        return tensor

    def _check_axes(self, path: str, tensor: Tensor, axes: str) -> None:
        letters = axes.split()
        if len(letters) != tensor.ndim:
            raise ValueError(
                f"{path!r} is noted with {len(letters)} axes ({axes}), "
                f"but the tensor has {tensor.ndim}: shape {tuple(tensor.shape)}"
            )
        for letter, size in zip(letters, tensor.shape, strict=True):
            expected, first = self._sizes.setdefault(letter, (size, path))
            if size != expected:
                raise ValueError(
                    f"axis {letter} of {path!r} is {size}, but {letter} is {expected} "
                    f"since {first!r}. {path!r} has shape {tuple(tensor.shape)}, noted as {axes}"
                )

    @property
    def names(self) -> list[str]:
        return list(self._values)

    def __contains__(self, path: object) -> bool:
        return path in self._values

    def __getitem__(self, path: str) -> Tensor:
        if path not in self._values:
            raise KeyError(_unknown(path, self._values))
        return self._values[path]

    def grad(self, path: str) -> Tensor:
        """The gradient that reached this tensor in ``backward``."""
        if path not in self._values:
            raise KeyError(_unknown(path, self._values))
        live = self._live.get(path)
        if live is None or live.grad is None:
            raise ValueError(
                f"{path!r} has no gradient. Record with trace(model, grads=True), with gradients "
                "switched on, and call backward() on the loss."
            )
        return live.grad

    def ledger(self) -> Ledger:
        return Ledger(tuple(self._rows.values()))


@contextmanager
def trace(
    model: nn.Module | None = None,
    *,
    edits: Mapping[str, Edit] | None = None,
    grads: bool = False,
) -> Iterator[Tape]:
    """Record, check and edit everything that is noted inside the ``with`` block.

    With a model, each tensor is recorded under the path of the module that noted it, the tape
    holds the model's last forward pass, and other models are not recorded. Without one, names are
    recorded as they are noted. ``edits`` maps a path to a tensor or to a function of the tensor;
    the rest of the pass goes on from the edited value. A compiled model runs uncompiled in here.
    On leaving, even by an exception, everything is as before. Raises ValueError for an edit that
    changes shape, type or device, or that met no tensor, and RuntimeError if a tape is running
    already.
    """
    global _running
    if _running is not None:
        raise RuntimeError("a tape is already running: leave its `with` block first")
    root = getattr(model, "_orig_mod", model)  # torch.compile(model) wraps the module
    tape = Tape(root, edits or {}, grads)
    handles = []

    def enter(path: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: object) -> None:
            if threading.get_ident() != tape._thread:
                return  # another thread's pass leaves this tape alone
            if module is root:  # a new pass
                tape._path.clear()
                tape._clear()
            tape._path.append(path)

        return hook

    def leave(module: nn.Module, args: object, output: object) -> None:
        if threading.get_ident() == tape._thread:
            tape._path.pop()

    for path, module in root.named_modules() if root is not None else ():
        handles.append(module.register_forward_pre_hook(enter(path)))
        # always_call: a pass that ends in an exception leaves its modules too.
        handles.append(module.register_forward_hook(leave, always_call=True))
    _running = tape
    try:
        # The compiler takes seconds to import, and without it nothing can have been compiled.
        compiler_loaded = "torch._dynamo" in sys.modules
        with torch.compiler.set_stance("force_eager") if compiler_loaded else nullcontext():
            yield tape
        missed = [path for path in tape._edits if path not in tape._used]
        if missed:
            raise ValueError("an edit changed nothing: " + _unknown(missed[0], tape._values))
    finally:
        _running = None
        for handle in handles:
            handle.remove()
