"""Compare a model with Hugging Face's module by module, to find the first that differs.

``parity_table`` runs both on the same ids and compares every module twice: within the model,
where it inherits errors of earlier modules, and alone, on the reference's input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import gpt2_weights
from ..config import GPT2Config
from ..language_model import eval_mode
from ..machine.display import Exhibit, text_table
from ..model import GPT2
from ..weights import CONFIG, locate, read_config

MARGIN = 8  # tolerance, in multiples of the reference's rounding error
EPS = torch.finfo(torch.float32).eps  # 2⁻²³
PERTURBATIONS = 8  # inputs at which rounding is measured; one could be accidentally small


@dataclass(frozen=True)
class Parity:
    """One module's largest absolute differences from the reference, with their tolerances."""

    module: str
    scale: float  # largest absolute value of the reference's output
    alone: float
    alone_tolerance: float
    within: float
    within_tolerance: float

    @property
    def same_alone(self) -> bool:
        return self.alone <= self.alone_tolerance  # False for NaN

    @property
    def same(self) -> bool:
        return self.same_alone and self.within <= self.within_tolerance


@dataclass(frozen=True)
class ParityTable(Exhibit):
    """One row per module, in the order of the computation.

    Text and HTML show the verdict and the order of magnitude of each difference, relative to the
    module's largest value, because these are the same on every processor. ``rows()`` returns the
    numbers.
    """

    entries: tuple[Parity, ...]
    positions: int  # how many were run; nothing is known of later ones

    @property
    def ok(self) -> bool:
        """Whether all differences are within rounding error, for the ids that were run."""
        return self.first_difference is None

    @property
    def first_difference(self) -> str | None:
        """The name of the first module that differs, or None."""
        return next((e.module for e in self.entries if not e.same), None)

    def verdict(self, entry: Parity) -> str:
        """ "same", "differs", or "inherited" (the same alone, but with a wrong input)."""
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
            alone, within = (order_of_magnitude(d, e.scale) for d in (e.alone, e.within))
            yield e.module, alone, within, self.verdict(e)

    def __repr__(self) -> str:
        width = max(len(e.module) for e in self.entries)
        rows = [("module", "alone", "in model", "verdict"), *self._cells()]
        lines = [f"{m:{width}}  {alone:10}  {within:10}  {v}" for m, alone, within, v in rows]
        end = f"the first to differ: {self.first_difference}"
        if self.ok:
            end = f"no module differs at positions 0 to {self.positions - 1}"
        return "\n".join([*lines, end])

    def html(self) -> str:
        caption = (
            f"Differences from the reference at positions 0 to {self.positions - 1}, "
            "relative to each module’s largest value"
        )
        columns = ("module", "alone", "in the model", "verdict")
        return text_table("parity", caption, columns, self._cells())


def order_of_magnitude(difference: float, scale: float) -> str:
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
    """The modules to compare, in order, by the name they have in both models."""
    names = ["transformer.wte", "transformer.wpe", "transformer.drop"]
    for i in range(n_layer):
        block = f"transformer.h.{i}"
        names += [f"{block}.ln_1", f"{block}.attn", f"{block}.ln_2", f"{block}.mlp", block]
    return [*names, "transformer.ln_f", "lm_head"]


@torch.no_grad()
def parity_table(
    model: GPT2, reference_folder: str | PathLike[str], idx: Tensor | None = None
) -> ParityTable:
    """Compare a model, module by module, with ``transformers`` on the weights of a folder.

    Both run in float32 on ``idx`` (B, T), by default two sequences of random ids over the whole
    window, but at most 128 positions. ``reference_folder`` is an argument of
    ``GPT2.from_pretrained``.

    Two correct implementations differ by rounding: a sum of n products in another order differs
    by about √n · 2⁻²⁴ of its size, and softmax and depth amplify that. The amount depends on the
    weights, so it is measured: the rounding error is the distance of the reference's float32
    outputs from its float64 outputs, at least 2⁻²³ of the module's largest value. It can be
    accidentally small, so the largest over a few perturbed inputs is used. A difference of up to
    ``MARGIN`` = 8 times this is "same". Correct models needed up to 2.1, with 1 to 48 blocks, C
    from 21 to 768, and SSE4, AVX2 or AVX-512. In the crane the erf GELU needs hundreds. A wrong ε
    shows only where the residual stream is small: 10⁻¹² for 10⁻⁵ needs 500 in the crane's first
    LayerNorm, but about 2 after its first block, where it is indistinguishable from rounding.
    OpenAI's weights were not tried. The reference and its float64 copy
    need three times the memory of the model.

    Raises ModuleNotFoundError without transformers, TypeError for a Llama, and ValueError if the
    model is not in float32 or has other sizes than the folder's.
    """
    folder = locate(reference_folder)
    config = read_config(folder / CONFIG, gpt2_weights)
    _check_comparable(model, config, folder)
    reference = _load_reference(folder).to(model.device)
    names = module_names(config.n_layer)
    if idx is None:
        shape, generator = (2, min(config.block_size, 128)), torch.Generator().manual_seed(0)
        idx = torch.randint(config.vocab_size, shape, generator=generator)
    idx = idx.to(model.device)

    with eval_mode(model):
        ours = _record(model, names, idx)
        theirs = _record(reference, names, idx)
        alone = {name: model.get_submodule(name)(theirs[name].input) for name in names}

    exact_reference = deepcopy(reference).cpu().double()  # not every device has float64
    alone_error, within_error = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for seed in range(PERTURBATIONS):
        calls = _record(reference, names, idx, seed)
        exact = _record(exact_reference, names, idx.cpu(), seed)
        for name in names:
            output = calls[name].output
            exact_alone = _replay(exact_reference.get_submodule(name), calls[name])
            alone_error[name] = max(alone_error[name], max_difference(output, exact_alone))
            within_error[name] = max(within_error[name], max_difference(output, exact[name].output))

    entries = []
    for name in names:
        output = theirs[name].output
        scale = output.abs().max().item()
        tolerances = [MARGIN * max(e[name], EPS * scale) for e in (alone_error, within_error)]
        differences = [max_difference(x, output) for x in (alone[name], ours[name].output)]
        pairs = zip(differences, tolerances, strict=True)
        entries.append(Parity(name, scale, *chain.from_iterable(pairs)))
    return ParityTable(tuple(entries), idx.shape[1])


def _check_comparable(model: GPT2, theirs: GPT2Config, folder: Path) -> None:
    if not isinstance(model, GPT2):
        raise TypeError(f"parity is compared of the modules of a GPT2, got {type(model).__name__}")
    if model.dtype != torch.float32:
        raise ValueError(
            f"parity is compared in float32, but this model is in {model.dtype}: call .float()"
        )
    sizes = ("vocab_size", "block_size", "n_layer", "n_head", "n_embd")
    of_theirs, of_ours = ([f"{n}={getattr(c, n)}" for n in sizes] for c in (theirs, model.config))
    if of_theirs != of_ours:
        raise ValueError(
            f"{folder} contains a model of other sizes: {', '.join(of_theirs)}; this one has "
            f"{', '.join(of_ours)}"
        )


class _Call(NamedTuple):
    """The arguments of a module's call, and its output tensor."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Tensor

    @property
    def input(self) -> Tensor:
        return self.args[0] if self.args else self.kwargs["hidden_states"]


def _tensor(result: Any) -> Tensor:
    """The output tensor of a result; attention in transformers also returns weights."""
    return result[0] if isinstance(result, tuple) else result


def _record(model: nn.Module, names: list[str], idx: Tensor, seed: int = 0) -> dict[str, _Call]:
    """Run a model and return the calls of the named modules.

    A seed other than 0 adds noise of about 10⁻⁵ of their size to the embeddings, the same noise in
    float32 and float64.
    """
    calls: dict[str, _Call] = {}

    def record(name: str, module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        calls[name] = _Call(args, kwargs, _tensor(result))

    def perturb(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        (embedded,) = args
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(embedded.shape, generator=generator) * embedded.abs().max().cpu()
        return (embedded + 1e-5 * noise.to(embedded.device),)

    with ExitStack() as hooks:
        for name in names:
            module = model.get_submodule(name)
            hook = module.register_forward_hook(partial(record, name), with_kwargs=True)
            hooks.enter_context(hook)
        if seed:
            dropout = model.get_submodule("transformer.drop")
            hooks.enter_context(dropout.register_forward_pre_hook(perturb))
        model(idx)
    return calls


def _replay(module: nn.Module, call: _Call) -> Tensor:
    """The output of a module in float64 for a recorded call's input."""

    def double(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return value.cpu().double() if value.is_floating_point() else value.cpu()

    kwargs = {name: double(value) for name, value in call.kwargs.items()}
    return _tensor(module(*map(double, call.args), **kwargs))


def max_difference(one: Tensor, other: Tensor) -> float:
    """The largest absolute difference of two tensors, in float64."""
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
    reference = transformers.GPT2LMHeadModel.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, use_cache=False
    )
    if shows_bars:
        logging.enable_progress_bar()
    return reference.eval()
