"""``gpt2-edu doctor``: what this machine has for training and generating, and what is missing."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch

from ..fast import onednn_knows
from ..hub import PUBLISHED, WEIGHTS
from ..machine.data_sheets import device_peak
from ..machine.device import cpp_compiler, pick_device, pick_precision, why_no_cuda
from . import command, how_to_repair

NEEDED = ("torch", "tiktoken", "regex", "numpy", "safetensors", "huggingface_hub", "tqdm")
OPTIONAL = {
    "datasets": "prepare can then read named datasets",
    "tensorboard": "training can then write for TensorBoard",
    "transformers": "parity_table can then compare a model with Hugging Face's",
    "matplotlib": "exhibits can then draw",
}


class Finding(NamedTuple):
    """One line of the report: what was found; without it the word for that, and advice."""

    what: str
    found: str | None
    missing: str = "no"
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Nothing to choose."""


@command("gpt2-edu doctor")
def doctor(options: DoctorOptions) -> None:
    """Print versions, device, fast paths and caches, and what to do about what is missing."""
    advice = []
    for what, found, missing, better in findings():
        print(wrapped(f"{what:26}{found or missing}", " " * 26))
        if better and not found:
            advice.append(wrapped(f"- {what}: {better}", "  "))
    print("\nWhat could be better:\n" + "\n".join(advice) if advice else "\nNothing is missing.")


def wrapped(line: str, indent: str) -> str:
    """A line as wide as the terminal; commands and paths stay whole."""
    width = shutil.get_terminal_size().columns
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def findings() -> Iterator[Finding]:
    """All lines of the report, in the order in which they are printed."""
    yield Finding("python", f"{platform.python_version()}, {sys.executable}")
    yield Finding("system", f"{platform.system()} {platform.machine()}")
    for package in NEEDED:
        yield Finding(package, installed(package), "missing", how_to_repair(package))
    for package, use in OPTIONAL.items():
        advice = f"pip install {package}: {use}"
        yield Finding(package, installed(package), "not installed", advice)
    yield from _device()
    yield from _fast_paths()
    yield from _caches()


def installed(package: str) -> str | None:
    """The version of an installed package, or None; also where its files are gone."""
    try:
        return version(package) if find_spec(package) else None
    except PackageNotFoundError:
        return None


def _device() -> Iterator[Finding]:
    device = pick_device()
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        name = torch.cuda.get_device_name(device)
        yield Finding("device", f"{device}, {name}, CUDA {torch.version.cuda}")
        yield Finding("devices", str(torch.cuda.device_count()))
        yield Finding("device memory", f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free")
    else:
        advice = ""
        if device.type == "cpu" and shutil.which("nvidia-smi"):
            advice = f"there is an NVIDIA driver, but {why_no_cuda()}"
        yield Finding("device", None, device.type, advice)
    yield Finding("threads", f"{torch.get_num_threads()}, of {os.cpu_count()} processors")
    chosen = str(pick_precision("auto", device)).removeprefix("torch.")
    peak = device_peak(device, chosen)
    rate = f"{peak / 1e12:.0f} TFLOP/s by its data sheet" if peak else "peak rate not in our table"
    yield Finding("precision", f"{chosen}; {rate}")


def _fast_paths() -> Iterator[Finding]:
    lacking = "this processor or this build of torch lacks oneDNN's kernels for it"
    for dtype in (torch.float32, torch.bfloat16):
        what = f"packed weights, {str(dtype).removeprefix('torch.')}"
        found = "yes, by oneDNN" if onednn_knows(dtype) else None
        yield Finding(what, found, advice=lacking)
    compiler = cpp_compiler()
    found = compiler and f"yes, with {compiler}"
    advice = "torch.compile needs a C++ compiler, such as g++"
    yield Finding("compile for the CPU", found, advice=advice)
    if torch.cuda.is_available():
        triton = "yes, with Triton" if find_spec("triton") else None
        yield Finding("compile for the GPU", triton, advice="pip install triton")
    several = "yes" if torch.distributed.is_available() else None
    yield Finding("torchrun", several, "no: this build of torch lacks distributed")


def _caches() -> Iterator[Finding]:
    from huggingface_hub import constants, try_to_load_from_cache

    yield Finding("cache of weights", str(Path(constants.HF_HUB_CACHE)))
    here = [
        name
        for name, of in PUBLISHED.items()
        if isinstance(try_to_load_from_cache(of.repo, WEIGHTS, revision=of.commit), str)
    ]
    advice = 'gpt2-edu generate "A crane" fetches those of gpt2, 548 MB'
    yield Finding("OpenAI's weights in it", ", ".join(here), "none", advice)
    switched_off = ", switched off by HF_HUB_OFFLINE" if constants.HF_HUB_OFFLINE else ""
    yield Finding("hub", constants.ENDPOINT + switched_off)
