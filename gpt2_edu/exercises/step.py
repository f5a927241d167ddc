"""Putting my_gpt2.py together: the parts of the steps as one module, in a working order."""

from __future__ import annotations

import ast
import linecache
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from types import CodeType, FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from ..machine.messages import closest
from .exercise import Exercise, steps
from .source import NOT_WRITTEN, definitions


class Using:
    """A step's parts as one function, called with a case's arguments."""

    def __init__(
        self,
        step: Exercise,
        mine: ModuleType,
        apart: Callable[[], dict[str, Using]] = dict,
        whole: ModuleType | None = None,
        left: Iterable[str] = (),
    ) -> None:
        """``left`` are parts that the reader has not written; no mistake is in them.

        ``whole`` has the book's in their place. A call that asks for a written part, and needs one
        of those for it, uses that. ``apart()`` returns each part with the book's others.
        """
        self.step, self.mine, self.apart, self.whole, self.left = step, mine, apart, whole, left
        self.files = {f for module in (mine, whole) if module for f in vars(module)["__files__"]}

    def __call__(self, *args: Any) -> Any:
        state = torch.get_rng_state()
        try:
            return self._use(_returning(self.mine, self.step.parts), *args)
        except NotImplementedError as error:
            drawing = any(isinstance(given, torch.Generator) for given in args)
            if not str(error).startswith(NOT_WRITTEN) or self.whole is None or drawing:
                raise
            torch.set_rng_state(state)
            watched = _Watched(_returning(self.whole, self.step.parts), self.step.parts)
            try:
                found = self._use(watched, *args)
            except Exception:
                if watched.asked not in self.left:
                    raise
                raise error from None
            if watched.asked in self.left:
                raise
            return found

    def _use(self, mine: Any, *args: Any) -> Any:
        assert self.step.use is not None
        try:
            return self.step.use(mine, *args)
        except Nothing:
            return None

    def where(self, error: BaseException) -> str:
        """Where in the reader's code an error was raised, for the end of its message."""
        if isinstance(error, NameError) and error.name in ("mine", "my_gpt2"):
            return ": in your file the parts have their bare names, MLP and not mine.MLP"
        lines = [
            f" (in {frame.name}: {frame.line})"
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename in self.files
        ]
        line = lines[-1] if lines else ""
        return line + (self._meant(error, line) or lacking(self.step, error))

    def _meant(self, error: BaseException, line: str) -> str:
        """What a name that does not exist was to be, where the code around it tells."""
        if "before Module.__init__() call" in str(error):
            return ". Begin `__init__` with `super().__init__()`"
        frame = _last_frame(error, self.files)
        if frame is None or isinstance(error, UnboundLocalError):
            return ""
        name = getattr(error, "name", None)
        if isinstance(error, AttributeError) and name:
            if isinstance(error.obj, nn.Module) and name in frame.f_globals:
                return f". `{name}` does not belong to a class: leave out `self.`"
            return near(name, [other for other in dir(error.obj) if other[0] != "_"])
        if not isinstance(error, NameError) or not name:
            return ""
        if name == "inf" or f"{name}.inf" in line:  # np.inf, math.inf
            sign = "-" * bool(re.search(rf"-({name}\.)?inf", line))
            return f'. Write `{sign}torch.inf`, or `float("{sign}inf")`'
        if name in ("np", "numpy"):
            return _without_numpy(name, line)
        if text := re.search(rf"\b({'|'.join(TEXTS)}) ?= ?{name}\b", line):
            return f'. Put it in quotes: `{text[1]}="{name}"`'
        for owner, module in frame.f_locals.items():
            if isinstance(module, nn.Module):
                if name in _attributes(module):
                    return f". Did you mean `{owner}.{name}`?"
                made = getattr(type(module).__init__, "__code__", None)
                if owner == "self" and made and name in made.co_varnames[: made.co_argcount]:
                    return (
                        ". It is an argument of `__init__` alone. Keep it there, "
                        f"`self.{name} = {name}`, and write `self.{name}` here"
                    )
        known = ["True", "False", "None", *(g for g in frame.f_globals if g[0] != "_")]
        return near(name, [*frame.f_locals, *known])


def _without_numpy(name: str, line: str) -> str:
    """What to write for a function of NumPy, which the file does not import."""
    used = re.search(rf"\b{name}\.(\w+)", line)
    modules = {"a number": math, "a tensor": torch}
    ways = [
        f"`{module.__name__}.{used[1]}` for {what}"
        for what, module in modules.items()
        if used and hasattr(module, used[1])
    ]
    return f". The file does not import it: write {', '.join(ways)}" if ways else ""


TEXTS = "approximate", "errors", "device", "reduction"  # arguments that are texts


class _Watched:
    """A module, and which of these parts it was asked for last: what a case is about."""

    def __init__(self, module: SimpleNamespace, parts: Iterable[str]) -> None:
        self.module, self.parts, self.asked = module, parts, ""

    def __getattr__(self, name: str) -> Any:
        if name in self.parts:
            self.asked = name
        return getattr(self.module, name)


def _last_frame(error: BaseException, files: set[str]) -> FrameType | None:
    """The frame of the reader's function that raised an error."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [f for f in frames if f.f_code.co_filename in files and f.f_code.co_name[0] != "<"]
    return own[-1] if own else None


def _attributes(module: nn.Module) -> set[str]:
    """The names that a module's own class and `__init__` have given it."""
    inner = (name for name, _ in (*module.named_children(), *module.named_parameters()))
    return {*vars(module), *inner, *vars(type(module))}


def near(name: str, known: list[str]) -> str:
    """A question for a name that is spelled much like a known one, or empty."""
    close = closest(name, known, cutoff=0.8)
    return f". Did you mean `{close[0]}`?" if close else ""


class Nothing(Exception):
    """A part returned None, so that whatever is done with its result would fail."""


def _returning(mine: ModuleType, parts: Iterable[str]) -> SimpleNamespace:
    """The names of a module; of its parts, functions raise Nothing where they return None."""

    def watched(part: Any) -> Any:
        @wraps(part)
        def call(*args: Any, **more: Any) -> Any:
            found = part(*args, **more)
            if found is None:
                raise Nothing
            return found

        return call

    found = vars(mine)
    functions = {name: found[name] for name in parts if isinstance(found[name], FunctionType)}
    return SimpleNamespace(**found | {name: watched(part) for name, part in functions.items()})


def lacking(step: Exercise, error: BaseException) -> str:
    """For the end of an error message: why an unknown name is unknown here."""
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or not error.name:
        return ""
    parts = " or ".join(step.parts)
    return f". If another cell defines it, move it into {parts}: build takes nothing else"


def steps_until(name: str) -> list[Exercise]:
    """The steps up to and including this one."""
    found = list(steps().values())
    return found[: list(steps()).index(name) + 1]


def current(until: list[Exercise]) -> dict[str, Exercise]:
    """The parts that these steps leave in the file, each with the step that defined it last."""
    found: dict[str, Exercise] = {}
    for step in until:
        found |= dict.fromkeys(step.parts, step)
        for name in step.drops:
            del found[name]
    return found


def book_parts(name: str) -> dict[str, tuple[Exercise, str]]:
    """The book's parts up to a step: the step and the source of each."""
    return {
        part: (step, definitions(step.solution)[part])
        for part, step in current(steps_until(name)).items()
    }


@lru_cache(maxsize=256)
def names_in(source: str) -> frozenset[str]:
    """The names that occur in a source."""
    return frozenset(n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name))


def in_order(parts: dict[str, str]) -> list[str]:
    """The parts' names, each after the parts that its source uses, otherwise in the given order."""
    found: list[str] = []

    def put(name: str) -> None:
        named = names_in(parts[name])
        for other in parts:
            if other in named and other != name and other not in found:
                put(other)
        if name not in found:
            found.append(name)

    for name in parts:
        put(name)
    return found


def imports_of(until: Iterable[Exercise]) -> list[str]:
    """The import lines that these steps need: the standard library's, then the others, sorted."""
    lines = sorted(
        {line for step in until for line in step.imports},
        key=lambda line: (line.startswith("from"), line),
    )
    standard = [line for line in lines if line.split()[1] in sys.stdlib_module_names]
    rest = [line for line in lines if line not in standard]
    return [*standard, *([""] if standard and rest else []), *rest]


def make_module(
    until: list[Exercise], parts: dict[str, str], file: str = "<my_gpt2>", text: str | None = None
) -> ModuleType:
    """A module made of these parts, or of ``text``. Raises whatever their code raises."""
    module = ModuleType("my_gpt2")
    pieces = [text] if text else ["\n".join(imports_of(until)), *parts.values()]
    files = [file if text and not file.startswith("<") else f"{file}-{hash(p)}" for p in pieces]
    module.__file__ = files[0]
    vars(module)["__files__"] = files
    for piece, name in zip(pieces, files, strict=True):
        exec(_compiled(piece, name), vars(module))
    return module


@lru_cache(maxsize=256)
def _compiled(text: str, file: str) -> CodeType:
    """The code of a part. Most parts are the same in one module after another."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    return compile(text, file, "exec")


# ---- For the steps' files


def fill(module: nn.Module, like: nn.Module, names: dict[str, str] | None = None) -> nn.Module:
    """Copy the parameters of the package's module into a reader's, and return that.

    ``names`` maps prefixes of the package's names to the reader's. Raises ValueError with the names
    of parameters that are missing, unexpected, or of another shape.
    """
    wanted = {}
    for name, tensor in like.named_parameters(remove_duplicate=False):
        for theirs, mine in (names or {}).items():
            if name.startswith(theirs):
                name = mine + name.removeprefix(theirs)
                break
        wanted[name] = tensor
    found = dict(module.named_parameters(remove_duplicate=False))
    kind = type(module).__name__
    if missing := [name for name in wanted if name not in found]:
        has = _other_names(wanted, found) or f"; it has {', '.join(found) or 'none'}"
        hidden = _hidden(module, missing[0])
        raise ValueError(hidden or f"{kind} has no parameter {missing[0]}{has}")
    if more := [name for name in found if name not in wanted]:
        raise ValueError(
            _too_early(module, more[0], wanted)
            or f"{kind} has a parameter {more[0]}, which it should not have"
        )
    with torch.no_grad():
        for name, tensor in wanted.items():
            if found[name].shape != tensor.shape:
                shapes = f"{tuple(found[name].shape)}, not {tuple(tensor.shape)}"
                raise ValueError(f"{name} in {kind} has the shape {shapes}")
            found[name].copy_(tensor)
    return module


def _other_names(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:
    """For the end of an error message: what to call the parts, if only their names differ."""
    pairs: dict[str, str] = {}
    for (name, tensor), (other, mine) in zip(wanted.items(), found.items(), strict=False):
        right, own = name.split("."), other.split(".")
        if len(wanted) != len(found) or tensor.shape != mine.shape or len(right) != len(own):
            return ""
        pairs |= {a: b for a, b in zip(own, right, strict=True) if a != b}
    said = " and ".join(f"`{a}` should be called `{b}`" for a, b in pairs.items())
    return f". {said}" if said else ""


def _too_early(module: nn.Module, path: str, wanted: Iterable[str]) -> str:
    """What to say of a parameter that a later chapter brings into this class, or empty."""
    kind, part = type(module).__name__, path.partition(".")[0]
    asked = list(dict.fromkeys(name.partition(".")[0] for name in wanted))
    for step in steps().values():
        if kind in step.parts and f"self.{part} = " in step.solution and part not in asked:
            return (
                f"{part} comes into {kind} in chapter {step.chapter}. "
                f"This {kind} has only {' and '.join(asked)}"
            )
    return ""


def _hidden(module: nn.Module, path: str) -> str:
    """Why PyTorch does not see the parameter at this path, if a module has something there."""
    part: Any = module
    for name in path.split("."):
        kind, part = type(part).__name__, getattr(part, name, None)
        if isinstance(part, list | tuple):
            return (
                f"{name} in {kind} is a plain list, which hides its parameters. Use nn.ModuleList"
            )
        if isinstance(part, type):
            return f"{name} in {kind} is the class {part.__name__}. Call it to make a module"
        if isinstance(part, Tensor) and not isinstance(part, nn.Parameter):
            return (
                f"{name} in {kind} is a plain tensor, not a parameter. Put it into nn.Parameter(…)"
            )
    return ""


def random_tensor(seed: int, *shape: int) -> Tensor:
    """A tensor drawn from N(0, 1), the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def numbered(module: nn.Module, seed: int) -> nn.Module:
    """The module in eval mode with every parameter drawn at random, biases and norms too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return module.eval()
