"""Shape comments that are checked: ``note`` names a tensor, ``trace`` records it.

    q = note("q", q, "B H T D")

Outside of ``trace``, ``note`` returns its tensor and adds nothing to a compiled graph. Inside
``with trace(model) as t:`` the same line records the tensor, checks its axes, and can replace its
value.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks

from .machine.display import Exhibit, text_table
from .machine.messages import did_you_mean, short_repr

Edit = Tensor | Callable[[Tensor], Tensor]
LedgerRow = tuple[str, str, tuple[int, ...]]

_running: Tape | None = None  # the tape that records now; one at a time


def _unknown(path: str, known: Iterable[str]) -> str:
    hint = did_you_mean(path, known, most=3, cutoff=0.5)
    return f"no tensor was noted as {path!r}. {hint}".rstrip()


def note(name: str, tensor: Tensor, axes: str) -> Tensor:
    """Name a tensor and its axes; returns the tensor, or what an edit of ``trace`` replaces it by.

    ``axes`` has a letter for each dimension, as in ``"B H T D"``; dots at the beginning, as in
    ``"... T D"``, stand for any number of dimensions. Within one forward pass a letter has one
    size: while a tape records, a mismatch raises ValueError with the tensor's name, the letter and
    both sizes.
    """
    return tensor if _running is None else _running._note(name, tensor, axes)


def tracing() -> bool:
    """Whether a tape is recording, so that attention has to compute its tables."""
    return _running is not None


@dataclass(frozen=True)
class Ledger(Exhibit):
    """A table of tensors in the order in which they were noted: name, axes, shape."""

    entries: tuple[LedgerRow, ...]

    def rows(self) -> list[LedgerRow]:
        return list(self.entries)

    def __add__(self, later: Ledger) -> Ledger:
        """The rows of both. A name in both keeps its position and gets the later row."""
        rows = {row[0]: row for row in self.entries} | {row[0]: row for row in later.entries}
        return Ledger(tuple(rows.values()))

    def __repr__(self) -> str:
        width = max((len(row[0]) for row in self.entries), default=0)
        return "\n".join(f"{n:{width}}  {a:8}  {s}" for n, a, s in self.entries)

    def html(self) -> str:
        rows = ((name, axes, " × ".join(map(str, shape))) for name, axes, shape in self.entries)
        return text_table("ledger", "Shape ledger", ("tensor", "axes", "shape"), rows)


def kind_of(value: object) -> str:
    """A tensor's shape, type and device, or the type of another object."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"a tensor of shape {tuple(value.shape)}, {value.dtype}, on {value.device}"


class Tape(dict[str, Tensor]):
    """What ``trace`` yields: the noted tensors of the last forward pass, by path, detached.

    In the order of the pass: ``t["transformer.h.3.attn.q"]`` is a tensor, ``t.names`` the list of
    all paths, ``t.grad(path)`` a gradient (with ``grads=True``, after ``backward``), and
    ``t.ledger()`` the table of names, axes and shapes, which is also what a tape shows of itself.
    ``t.ending("attn.q")`` finds the tensors of all blocks, whatever the modules around them are
    called.
    """

    def __init__(self, root: nn.Module | None, edits: Mapping[str, Edit], grads: bool) -> None:
        super().__init__()
        self._root, self._edits, self._grads = root, dict(edits), grads
        named = () if root is None else root.named_modules()
        self._path_of = {module: path for path, module in named}
        self._inside: list[nn.Module] = []  # the modules whose forward is running, outermost first
        self._used: set[str] = set()  # the edits that were applied
        self._thread = threading.get_ident()
        self._begin()

    def _begin(self) -> None:
        self.clear()
        self._live: dict[str, Tensor] = {}  # still attached to the graph, for their gradients
        self._rows: dict[str, LedgerRow] = {}
        self._sizes: dict[str, tuple[int, str]] = {}  # letter → its size and who noted it first

    # Two hooks that torch calls before and after the forward of any module, in any thread.

    def _enter(self, module: nn.Module, args: object) -> None:
        if module not in self._path_of or threading.get_ident() != self._thread:
            return
        if module is self._root:  # a new pass, perhaps with other modules
            self._path_of = {inner: path for path, inner in module.named_modules()}
            self._inside.clear()
            self._begin()
        elif not self._inside:
            return  # a part of the model, called by itself
        self._inside.append(module)

    def _leave(self, module: nn.Module, args: object, output: object) -> None:
        if self._inside[-1:] == [module] and threading.get_ident() == self._thread:
            self._inside.pop()

    def _note(self, name: str, tensor: Tensor, axes: str) -> Tensor:
        outside = self._root is not None and not self._inside
        if outside or threading.get_ident() != self._thread:
            return tensor
        prefix = self._path_of[self._inside[-1]] if self._inside else ""
        path = f"{prefix}.{name}" if prefix else name
        self._check_axes(path, tensor, axes)
        if path in self._edits:
            edit = self._edits[path]
            edited = edit(tensor) if callable(edit) else edit
            wanted, given = kind_of(tensor), kind_of(edited)
            if given != wanted:
                raise ValueError(f"the edit of {path!r} ({axes}) must give {wanted}, got {given}")
            tensor = edited
            self._used.add(path)
        if self._grads and tensor.requires_grad:
            tensor.retain_grad()
            self._live[path] = tensor
        self[path] = tensor.detach()
        self._rows[path] = (path, axes, tuple(tensor.shape))
        return tensor

    def _check_axes(self, path: str, tensor: Tensor, axes: str) -> None:
        open_ended = axes.startswith("...")
        letters = axes.split()[open_ended:]
        before = tensor.ndim - len(letters)  # dimensions that the dots stand for
        if before < 0 or (before and not open_ended):
            raise ValueError(
                f"{path!r} is noted with {len(letters)} axes ({axes}), "
                f"but the tensor has {tensor.ndim}: shape {tuple(tensor.shape)}"
            )
        for letter, size in zip(letters, tensor.shape[before:], strict=True):
            expected, first = self._sizes.setdefault(letter, (size, path))
            if size != expected:
                raise ValueError(
                    f"axis {letter} of {path!r} is {size}, but {letter} is {expected} "
                    f"since {first!r}. {path!r} has shape {tuple(tensor.shape)}, noted as {axes}"
                )

    @property
    def names(self) -> list[str]:
        return list(self)

    def ending(self, name: str) -> dict[str, Tensor]:
        """The tensors called ``name`` in every module, by path, in the order of the pass.

        ``t.ending("attn.q")`` has ``h.0.attn.q``, ``h.1.attn.q`` … of any model that notes them.
        """
        found = {path: t for path, t in self.items() if f".{path}".endswith(f".{name}")}
        if not found:
            raise ValueError(_unknown(name, self))
        return found

    def __missing__(self, path: str) -> NoReturn:
        raise KeyError(_unknown(path, self))

    def __repr__(self) -> str:
        return repr(self.ledger())

    def grad(self, path: str) -> Tensor:
        """The gradient that reached this tensor in ``backward``."""
        if path not in self:
            raise KeyError(_unknown(path, self))
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
    model: nn.Module | None = None, *, edits: Mapping[str, Edit] | None = None, grads: bool = False
) -> Iterator[Tape]:
    """Record, check and edit everything that is noted inside the ``with`` block.

    With a model, each tensor is recorded under the path of the module that notes it, the tape
    has the model's last forward pass, and other models, copies included, are not recorded. Without
    one, tensors are recorded under the names that they are noted with. ``edits`` maps a path to a
    tensor, or to a function of the tensor; the pass continues from the edited value. A compiled
    model runs uncompiled in here. Raises ValueError for an edit that changes shape, type or device,
    or that was never applied, and RuntimeError if a tape is already recording.
    """
    global _running
    if _running is not None:
        raise RuntimeError("a tape is already running: leave its `with` block first")
    if not isinstance(model, nn.Module | None):
        raise TypeError(f"trace takes a model, got {short_repr(model)}")
    root = getattr(model, "_orig_mod", model)  # torch.compile(model) wraps the module
    tape = Tape(root, edits or {}, grads)
    with ExitStack() as stack:
        if root is not None:
            stack.enter_context(hooks.register_module_forward_pre_hook(tape._enter))
            # always_call: also when a forward ends in an exception.
            left = hooks.register_module_forward_hook(tape._leave, always_call=True)
            stack.enter_context(left)
        # The compiler takes seconds to import, and without it nothing can have been compiled.
        if "torch._dynamo" in sys.modules:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
            # That a compiled model's wrapper calls such hooks as well, as torch warns, is harmless.
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", "Using `torch.compile", UserWarning)
        _running = tape
        try:
            yield tape
        finally:
            _running = None
    if missed := [path for path in tape._edits if path not in tape._used]:
        raise ValueError("an edit changed nothing: " + _unknown(missed[0], tape))
