"""Is this the same model as Hugging Face's, and if not, which module is the first to differ?

``parity_table`` runs both on the same ids and compares every module twice: in the model, where it
inherits the errors of the modules before it, and alone, where it is given the reference's input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..config import GPT2Config
from ..model import GPT2
from ..weights import CONFIG, locate, read_config

MARGIN = 8  # how many times the reference's own rounding error a difference may be
EPS = torch.finfo(torch.float32).eps  # 2⁻²³

Row = tuple[str, float, float, float, float, str]


@dataclass(frozen=True)
class Parity:
    """One module's largest absolute differences from the reference, and what rounding explains."""

    module: str
    scale: float  # the largest absolute value that the reference's module returns
    alone: float
    alone_tolerance: float
    within: float
    within_tolerance: float

    @property
    def same_alone(self) -> bool:
        return self.alone <= self.alone_tolerance  # not a number is not the same

    @property
    def same_within(self) -> bool:
        return self.within <= self.within_tolerance


@dataclass(frozen=True)
class ParityTable:
    """What ``parity_table`` returns: a row for each module, in the order of the computation.

    As text and as HTML it shows only what no processor changes: the verdict, and the order of
    magnitude of a difference, as a part of the module's largest value. ``rows()`` has the numbers.
    """

    entries: tuple[Parity, ...]

    @property
    def ok(self) -> bool:
        """Whether all differences are such as rounding makes."""
        return self.first_difference is None

    @property
    def first_difference(self) -> str | None:
        """The first module that differs: the one to look at."""
        failing = (e.module for e in self.entries if not (e.same_alone and e.same_within))
        return next(failing, None)

    def verdict(self, entry: Parity) -> str:
        """ "same", "differs", or "inherited": right alone, but what reaches it is wrong."""
        if entry.same_alone and entry.same_within:
            return "same"
        if entry.same_alone and entry.module != self.first_difference:
            return "inherited"
        return "differs"

    def rows(self) -> list[Row]:
        """(module, difference alone, its tolerance, within the model, its tolerance, verdict)."""
        return [
            (
                e.module,
                e.alone,
                e.alone_tolerance,
                e.within,
                e.within_tolerance,
                self.verdict(e),
            )
            for e in self.entries
        ]

    def _cells(self) -> Iterator[tuple[str, str, str, str]]:
        for e in self.entries:
            alone, within = magnitude(e.alone, e.scale), magnitude(e.within, e.scale)
            yield e.module, alone, within, self.verdict(e)

    def __repr__(self) -> str:
        width = max(len(e.module) for e in self.entries)
        lines = [
            f"{m:{width}}  {alone:10}  {within:10}  {v}" for m, alone, within, v in self._cells()
        ]
        end = "no module differs" if self.ok else f"the first to differ: {self.first_difference}"
        head = f"{'module':{width}}  {'alone':10}  {'in model':10}  verdict"
        return "\n".join([head, *lines, end])

    def _repr_html_(self) -> str:
        columns = ("module", "alone", "in the model", "verdict")
        head = "".join(f'<th scope="col">{name}</th>' for name in columns)
        body = "".join(
            f'<tr><th scope="row"><code>{escape(module)}</code></th><td>{escape(alone)}</td>'
            f"<td>{escape(within)}</td><td>{verdict}</td></tr>"
            for module, alone, within, verdict in self._cells()
        )
        return (
            '<div class="g2 g2-parity"><table><caption>Differences from the reference, relative '
            f"to each module’s largest value</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )


def magnitude(difference: float, scale: float) -> str:
    """A relative difference as a power of ten; all that float32 can make of nothing is one class.

    Rounding leaves about 10⁻⁷ to 10⁻⁶, another number on each processor. Both are "< 10⁻⁵".
    """
    relative = difference / scale if scale else difference
    if not math.isfinite(relative):
        return "not finite"
    if relative < 1e-5:
        return "< 10⁻⁵"
    return "10" + str(math.floor(math.log10(relative))).translate(
        str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    )


def module_names(n_layer: int) -> list[str]:
    """The modules to compare, by the names that both models give them, in order."""
    names = ["transformer.wte", "transformer.wpe", "transformer.drop"]
    for i in range(n_layer):
        block = f"transformer.h.{i}"
        names += [f"{block}.ln_1", f"{block}.attn", f"{block}.ln_2", f"{block}.mlp", block]
    return [*names, "transformer.ln_f", "lm_head"]


@torch.no_grad()
def parity_table(model: GPT2, reference_folder: str | PathLike[str]) -> ParityTable:
    """Compare a model, module by module, with ``transformers`` on the weights of a folder.

    Both run in float32 on the same two sequences of random ids. ``reference_folder`` is what
    ``GPT2.from_pretrained`` takes.

    Two right programs differ, for a sum of n products in another order has another rounding
    error, about √n · 2⁻²⁴ of its size, and softmax and depth magnify it. How much, depends on
    the weights, so it is not guessed: the reference runs once more in float64, and how far its
    own float32 results are from that is what rounding does to this module here; it counts as at
    least 2⁻²³ of the module's largest value. A difference of up to ``MARGIN`` = 8 times this is
    called the same. Right models were seen to need up to 2.1, with 1 to 48 blocks, C from 21 to
    768, and SSE4, AVX2 or AVX-512. GELU by erf makes hundreds. ε outside of the root makes 1,000
    in GPT-2's first block, but less than 8 where the stream has grown to a standard deviation of
    10: there nothing could tell it from rounding. In float64 the reference needs twice the memory
    of the model.

    Raises ModuleNotFoundError without transformers, and ValueError if the model is not in
    float32 or the folder's sizes are others.
    """
    folder = locate(reference_folder)
    theirs = read_config(folder / CONFIG)
    _check_comparable(model, theirs, folder)
    device = model.get_parameter("transformer.wte.weight").device
    reference = _load_reference(folder).to(device)
    names = module_names(theirs.n_layer)
    generator = torch.Generator().manual_seed(0)
    T = min(theirs.block_size, 32)
    idx = torch.randint(theirs.vocab_size, (2, T), generator=generator).to(device)

    was_training = model.training
    model.eval()
    try:
        with _listening(model, names) as ours:
            model(idx)
        with _listening(reference, names) as rounded:
            reference(idx, use_cache=False)
        alone = {name: model.get_submodule(name)(rounded[name].input) for name in names}
    finally:
        model.train(was_training)

    reference.cpu().double()  # not every device has float64
    with _listening(reference, names) as exact:
        reference(idx.cpu(), use_cache=False)
    exact_alone = {name: _replay(reference.get_submodule(name), rounded[name]) for name in names}

    entries = []
    for name in names:
        theirs32 = rounded[name].output
        scale = theirs32.abs().max().item()
        alone_tolerance, within_tolerance = (
            MARGIN * max(_distance(theirs32, truth), EPS * scale)
            for truth in (exact_alone[name], exact[name].output)
        )
        entries.append(
            Parity(
                name,
                scale,
                alone=_distance(alone[name], theirs32),
                alone_tolerance=alone_tolerance,
                within=_distance(ours[name].output, theirs32),
                within_tolerance=within_tolerance,
            )
        )
    return ParityTable(tuple(entries))


def _check_comparable(model: GPT2, theirs: GPT2Config, folder: Path) -> None:
    dtype = model.get_parameter("transformer.wte.weight").dtype
    if dtype != torch.float32:
        raise ValueError(
            f"parity is compared in float32, but this model is in {dtype}: call .float()"
        )
    sizes = ("vocab_size", "block_size", "n_layer", "n_head", "n_embd")
    if other := [n for n in sizes if getattr(theirs, n) != getattr(model.config, n)]:
        listed = ", ".join(f"{n}={getattr(theirs, n)}" for n in other)
        raise ValueError(
            f"{folder} holds a model of other sizes: {listed}; this one has "
            + ", ".join(str(getattr(model.config, n)) for n in other)
        )


@dataclass(frozen=True)
class Call:
    """What a module was given and what it returned."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    @property
    def input(self) -> Tensor:
        return self.args[0] if self.args else self.kwargs["hidden_states"]

    @property
    def output(self) -> Tensor:
        """The tensor; the attention of transformers returns its weights beside it."""
        return self.result[0] if isinstance(self.result, tuple) else self.result


@contextmanager
def _listening(model: nn.Module, names: list[str]) -> Iterator[dict[str, Call]]:
    """Note the calls of the named modules."""
    calls: dict[str, Call] = {}
    handles = []
    for name in names:

        def hook(module: nn.Module, args: Any, kwargs: Any, output: Any, name: str = name) -> None:
            calls[name] = Call(args, kwargs, output)

        handles.append(model.get_submodule(name).register_forward_hook(hook, with_kwargs=True))
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _replay(module: nn.Module, call: Call) -> Tensor:
    """What the module, now in float64, makes of the same input."""

    def double(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return value.cpu().double() if value.is_floating_point() else value.cpu()

    kwargs = {name: double(value) for name, value in call.kwargs.items()}
    return Call((), {}, module(*map(double, call.args), **kwargs)).output


def _distance(one: Tensor, other: Tensor) -> float:
    return (one.cpu().double() - other.cpu().double()).abs().max().item()


def _load_reference(folder: Path) -> Any:
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "parity_table compares with the library transformers, which is not installed: "
            "pip install transformers"
        ) from error
    logging = transformers.utils.logging
    shows_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return transformers.GPT2LMHeadModel.from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float32
        ).eval()
    finally:
        if shows_bars:
            logging.enable_progress_bar()
