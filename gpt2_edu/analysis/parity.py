"""Is this the same model as Hugging Face's, and if not, which module is the first to differ?

``parity_table`` runs both on the same ids and compares every module twice: in the model, where it
inherits the errors of the modules before it, and alone, where it is given the reference's input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..config import GPT2Config
from ..machine.display import Exhibit, text_table
from ..model import GPT2, eval_mode
from ..weights import CONFIG, locate, read_config

MARGIN = 8  # how many times the reference's own rounding error a difference may be
EPS = torch.finfo(torch.float32).eps  # 2⁻²³
NUDGES = 8  # inputs at which rounding is measured: at a single one its errors may be small by luck


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
    def same(self) -> bool:
        return self.same_alone and self.within <= self.within_tolerance


@dataclass(frozen=True)
class ParityTable(Exhibit):
    """A row for each module, in the order of the computation.

    As text and as HTML it shows only what is the same on every processor: the verdict, and the
    order of magnitude of a difference, relative to the module's largest value. ``rows()`` has the
    numbers.
    """

    entries: tuple[Parity, ...]

    @classmethod
    def example(cls) -> ParityTable:
        same = Parity("transformer.wte", 1.0, 0.0, 1e-6, 0.0, 1e-6)
        wrong = Parity("transformer.h.0.mlp", 1.0, 1e-3, 1e-6, 1e-3, 1e-6)
        inherited = Parity("lm_head", 1.0, 0.0, 1e-6, 1e-2, 1e-6)
        return cls((same, wrong, inherited))

    @property
    def ok(self) -> bool:
        """Whether rounding explains all differences."""
        return self.first_difference is None

    @property
    def first_difference(self) -> str | None:
        """The first module that differs, or None: the one to look at."""
        return next((e.module for e in self.entries if not e.same), None)

    def verdict(self, entry: Parity) -> str:
        """ "same", "differs", or "inherited": right alone, but what reaches it is wrong."""
        if entry.same:
            return "same"
        if entry.same_alone and entry.module != self.first_difference:
            return "inherited"
        return "differs"

    def rows(self) -> list[tuple[str, float, float, float, float, str]]:
        """(module, difference alone, its tolerance, within the model, its tolerance, verdict)."""
        return [
            (e.module, e.alone, e.alone_tolerance, e.within, e.within_tolerance, self.verdict(e))
            for e in self.entries
        ]

    def _cells(self) -> Iterator[tuple[str, str, str, str]]:
        for e in self.entries:
            alone, within = magnitude(e.alone, e.scale), magnitude(e.within, e.scale)
            yield e.module, alone, within, self.verdict(e)

    def __repr__(self) -> str:
        width = max(len(e.module) for e in self.entries)
        rows = [("module", "alone", "in model", "verdict"), *self._cells()]
        lines = [f"{m:{width}}  {alone:10}  {within:10}  {v}" for m, alone, within, v in rows]
        end = "no module differs" if self.ok else f"the first to differ: {self.first_difference}"
        return "\n".join([*lines, end])

    def html(self) -> str:
        caption = "Differences from the reference, relative to each module’s largest value"
        columns = ("module", "alone", "in the model", "verdict")
        return text_table("parity", caption, columns, self._cells())


def magnitude(difference: float, scale: float) -> str:
    """A relative difference as a power of ten.

    Rounding leaves about 10⁻⁷ to 10⁻⁶, different on each processor: both are "< 10⁻⁵".
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

    Two right programs differ: a sum of n products in another order has another rounding error,
    about √n · 2⁻²⁴ of its size, and softmax and depth magnify it. How much depends on the weights,
    so it is measured: the reference runs once more in float64, and the distance of its own float32
    results from that is the rounding error, taken as at least 2⁻²³ of the module's largest value.
    As it may be small by luck, it is measured at a few neighbours of the input, too.
    A difference of up to ``MARGIN`` = 8 times this is called the same. Right models were seen to
    need up to 2.1, with 1 to 48 blocks, C from 21 to 768, and SSE4, AVX2 or AVX-512. GELU by erf
    makes hundreds. ε outside of the root makes 1,000 in GPT-2's first block, but less than 8 where
    the stream has grown to a standard deviation of 10: there it cannot be told from rounding. In
    float64 the reference needs twice the memory of the model.

    Raises ModuleNotFoundError without transformers, and ValueError if the model is not in
    float32 or the folder's sizes are others.
    """
    folder = locate(reference_folder)
    config = read_config(folder / CONFIG)
    _check_comparable(model, config, folder)
    reference = _load_reference(folder).to(model.device)
    names = module_names(config.n_layer)
    shape, generator = (2, min(config.block_size, 32)), torch.Generator().manual_seed(0)
    idx = torch.randint(config.vocab_size, shape, generator=generator).to(model.device)

    with eval_mode(model):
        ours = _record(model, names, idx)
        theirs = _record(reference, names, idx, use_cache=False)
        alone = {name: model.get_submodule(name)(theirs[name].input) for name in names}

    near = [theirs]
    for nudge in range(1, NUDGES):
        with _nudged(reference, nudge):
            near.append(_record(reference, names, idx, use_cache=False))

    reference.cpu().double()  # not every device has float64
    alone_error, within_error = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for nudge, rounded in enumerate(near):
        with _nudged(reference, nudge):
            exact = _record(reference, names, idx.cpu(), use_cache=False)
        for name in names:
            output = rounded[name].output
            exact_alone = _replay(reference.get_submodule(name), rounded[name])
            alone_error[name] = max(alone_error[name], _distance(output, exact_alone))
            within_error[name] = max(within_error[name], _distance(output, exact[name].output))

    entries = []
    for name in names:
        output = theirs[name].output
        scale = output.abs().max().item()
        alone_tolerance, within_tolerance = (
            MARGIN * max(error[name], EPS * scale) for error in (alone_error, within_error)
        )
        differs_alone, differs = (
            _distance(alone[name], output),
            _distance(ours[name].output, output),
        )
        entries.append(
            Parity(name, scale, differs_alone, alone_tolerance, differs, within_tolerance)
        )
    return ParityTable(tuple(entries))


def _check_comparable(model: GPT2, theirs: GPT2Config, folder: Path) -> None:
    if model.dtype != torch.float32:
        raise ValueError(
            f"parity is compared in float32, but this model is in {model.dtype}: call .float()"
        )
    sizes = ("vocab_size", "block_size", "n_layer", "n_head", "n_embd")
    if other := [n for n in sizes if getattr(theirs, n) != getattr(model.config, n)]:
        listed = ", ".join(f"{n}={getattr(theirs, n)}" for n in other)
        raise ValueError(
            f"{folder} holds a model of other sizes: {listed}; this one has "
            + ", ".join(str(getattr(model.config, n)) for n in other)
        )


class _Call(NamedTuple):
    """What a module was given, and the tensor that it returned."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Tensor

    @property
    def input(self) -> Tensor:
        return self.args[0] if self.args else self.kwargs["hidden_states"]


def _output(result: Any) -> Tensor:
    """A result's tensor; the attention of transformers returns its weights as well."""
    return result[0] if isinstance(result, tuple) else result


def _record(model: nn.Module, names: list[str], idx: Tensor, **options: Any) -> dict[str, _Call]:
    """Run a model; return the calls of the named modules."""
    calls: dict[str, _Call] = {}

    def hook(name: str, module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        calls[name] = _Call(args, kwargs, _output(result))

    with ExitStack() as hooks:
        for name in names:
            module = model.get_submodule(name)
            hooks.enter_context(module.register_forward_hook(partial(hook, name), with_kwargs=True))
        model(idx, **options)
    return calls


@contextmanager
def _nudged(reference: Any, nudge: int) -> Iterator[None]:
    """Inside, the embeddings differ by some 10⁻⁵ of their size, for each ``nudge`` in another way.

    The same in float32 and in float64; 0 changes nothing.
    """

    def hook(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        (embedded,) = args
        if not nudge:
            return args
        generator = torch.Generator().manual_seed(nudge)
        noise = torch.randn(embedded.shape, generator=generator) * embedded.abs().max().cpu()
        return (embedded + 1e-5 * noise.to(embedded.device),)

    with reference.transformer.drop.register_forward_pre_hook(hook):
        yield


def _replay(module: nn.Module, call: _Call) -> Tensor:
    """The output of a module that is now in float64, for the same input."""

    def double(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return value.cpu().double() if value.is_floating_point() else value.cpu()

    kwargs = {name: double(value) for name, value in call.kwargs.items()}
    return _output(module(*map(double, call.args), **kwargs))


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
