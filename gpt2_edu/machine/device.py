"""Device, precision and compilation; free memory; modules without data."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import torch
from torch.overrides import TorchFunctionMode

from .messages import short_repr


def pick_device() -> torch.device:
    """The fastest device here: CUDA, then Apple's MPS, then the CPU.

    With ``GPT2_EDU_BOOK=1`` in the environment it is always the CPU, so that every reader can
    reproduce the book's stored numbers.
    """
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return torch.device("cpu")
    if torch.cuda.is_available() and not too_old(torch.device("cuda")):
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def named_device(name: str) -> torch.device:
    """The device of this name; "auto" is the fastest one here.

    Raises ValueError if the name is unknown or this machine lacks the device.
    """
    return pick_device() if name == "auto" else checked_device(name)


def checked_device(name: str | torch.device) -> torch.device:
    """The device of this name. Raises ValueError if it is unknown or this machine lacks it."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        said = f"unknown device {short_repr(name)}: use auto, cpu, cuda, cuda:1 or mps"
        raise ValueError(said) from error
    count = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": torch.mps.device_count()}
    here = count.get(device.type, 0)
    if device.type != "meta" and (device.index or 0) >= here:
        why = ""
        if here:
            why = f", which has {device.type}:0 … {here - 1}"
        elif device.type == "cuda" and torch.version.cuda is None:
            why = ": this torch was built without CUDA (https://pytorch.org/get-started/locally/)"
        said = f"device {short_repr(str(name))} is not on this machine{why}"
        raise ValueError(f"{said}. Use auto for the fastest that is")
    if device.type == "cuda" and (problem := too_old(device)):
        raise ValueError(problem)
    return device


def too_old(device: torch.device) -> str:
    """The problem if this build of torch has no kernels for a GPU, else ""."""
    built_for = [name[3:].rstrip("af") for name in torch.cuda.get_arch_list() if "sm_" in name]
    major, minor = torch.cuda.get_device_capability(device)
    if 10 * major + minor >= (oldest := min(map(int, built_for), default=0)):
        return ""
    return (
        f"the {torch.cuda.get_device_name(device)} has compute capability {major}.{minor}, and "
        f"this build of torch begins at {oldest / 10}: use device=cpu, or a torch for older devices"
    )


def pick_precision(precision: str, device: torch.device) -> torch.dtype:
    """The dtype of matrix products: float32, bfloat16 or float16.

    "auto" is bfloat16 where hardware has it: on CUDA since Ampere, on CPUs with AVX512-BF16 or
    AMX. Older CUDA devices get float16, all others float32, and so does the book, so that every
    reader gets its numbers. Raises ValueError for a precision that the device lacks.
    """
    kind = device.type
    known = {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    if precision not in ("auto", *known):
        raise ValueError(f"unknown precision {short_repr(precision)}: use auto, {', '.join(known)}")
    ampere = kind == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    if precision == "auto":
        on_chip = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        if os.environ.get("GPT2_EDU_BOOK") == "1":
            return torch.float32
        if ampere or (kind == "cpu" and on_chip):
            return torch.bfloat16
        return torch.float16 if kind == "cuda" else torch.float32
    if precision == "fp16" and kind != "cuda":
        raise ValueError(f"precision=fp16 is for CUDA, this is {kind}: use bf16 or float32")
    if precision == "bf16" and not (kind == "cpu" or ampere):
        raise ValueError(f"precision=bf16 is not fast on this {kind} device: use auto or float32")
    return known[precision]


def pick_compile(choice: str, device: torch.device) -> bool:
    """Whether to compile: on a CPU only with "on", where half a minute saves a sixth of the time.

    Raises ValueError for "on" if the compiler that it needs is not installed.
    """
    if choice == "on":
        require_compiler(device)
    return choice == "on" or (choice == "auto" and device.type == "cuda" and has_compiler(device))


def require_compiler(device: torch.device) -> None:
    """Raise ValueError if the compiler that torch.compile needs for a device is not installed."""
    if not has_compiler(device):
        needed = "the package triton" if device.type == "cuda" else "a C++ compiler such as g++"
        raise ValueError(f"compilation needs {needed}: install it, or do not compile")


def has_compiler(device: torch.device) -> bool:
    """Whether the compiler that torch.compile needs for a device is installed."""
    return (find_spec("triton") if device.type == "cuda" else cpp_compiler()) is not None


def cpp_compiler() -> str | None:
    """The path of the compiler that torch.compile can use for the CPU, or None."""
    names = (os.environ.get("CXX", "c++"), "g++", "clang++", "cl")
    return next(filter(None, map(shutil.which, names)), None)


def available_memory(device: torch.device) -> int | None:
    """Bytes of free memory on a device, or None where the system does not report them.

    On CUDA torch keeps what was freed for what comes next: that is free to this process too.
    """
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + kept
    table = Path("/proc/meminfo")
    if device.type != "cpu" or not table.is_file():
        return None
    lines = dict(line.split(":", 1) for line in table.read_text().splitlines())
    return int(lines["MemAvailable"].split()[0]) * 1024


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that caused it, says that memory ran out.

    cuBLAS and cuDNN allocate memory of their own, and say so in other words.
    """
    words = "can't allocate memory", "out of memory", "ALLOC_FAILED"
    return error is not None and (
        isinstance(error, MemoryError | torch.OutOfMemoryError)
        or (isinstance(error, RuntimeError) and any(said in str(error) for said in words))
        or is_out_of_memory(error.__cause__ or error.__context__)
    )


def peak_memory(device: torch.device) -> int | None:
    """The most bytes used so far, by torch on CUDA, by the process on a CPU; None elsewhere."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if device.type != "cpu" or find_spec("resource") is None:
        return None
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes, but bytes on a Mac
    return peak if sys.platform == "darwin" else peak * 1024


def keep_freed_memory() -> None:
    """Let the process keep the memory that it frees, on Linux with glibc; elsewhere do nothing.

    A training step frees buffers of megabytes and allocates them again in the next. By default
    glibc returns such buffers to the system each time, and every page costs a page fault when it
    is allocated again: a quarter of the time of a small model's step. The setting holds until the
    process ends. Source: the manual page mallopt(3).
    """
    if platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL(None)
    trim, mmap = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
    libc.mallopt(trim, 2**31 - 1)
    libc.mallopt(mmap, 2**30) or libc.mallopt(mmap, 2**25)  # the maximum in an older glibc


@contextmanager
def huge_pages() -> Iterator[None]:
    """Memory that is allocated inside is moved to pages of 2 MB, on Linux; elsewhere do nothing.

    A matrix-vector product reads a page of 4 KB in a fraction of a microsecond, and a fifth of its
    time goes into finding the next one. Where the system does not allow such pages, nothing
    happens. Source: the manual page madvise(2).
    """
    before = large_mappings()
    yield
    for start, stop in large_mappings() - before:
        for advice in (14, 25):  # MADV_HUGEPAGE, and MADV_COLLAPSE, which moves it at once
            address, size = ctypes.c_void_p(start), ctypes.c_size_t(stop - start)
            ctypes.CDLL(None).madvise(address, size, advice)


def large_mappings() -> set[tuple[int, int]]:
    """First and last address of this process's own memory, where 2 MB or more lie together.

    None where the system has no such list, as other systems than Linux.
    """
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return set()
    found = re.findall(r"^(\w+)-(\w+) rw-p 0+ 00:00 0(?: +\[heap\])? *$", maps, re.M)
    ranges = {(int(start, 16), int(stop, 16)) for start, stop in found}
    return {(start, stop) for start, stop in ranges if stop - start >= 2**21}


class _SkipInit(TorchFunctionMode):
    """Skip the functions of torch.nn.init."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@contextmanager
def shapes_only() -> Iterator[None]:
    """Modules created inside are on the meta device: they have shapes, but no data.

    Initialisation is skipped, since on the meta device torch would import its compiler for it,
    which takes a second.
    """
    with torch.device("meta"), _SkipInit():
        yield
