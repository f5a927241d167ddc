"""``gpt2-edu doctor``: what this machine has for training and generating, and what is missing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

import torch
from huggingface_hub import constants, try_to_load_from_cache

from ..fast import onednn_knows
from ..hub import PUBLISHED, WEIGHTS
from ..machine.data_sheets import device_peak
from ..machine.device import cpp_compiler, pick_device, pick_precision
from . import command, how_to_repair

NEEDED = ("torch", "tiktoken", "regex", "numpy", "safetensors", "huggingface_hub", "tqdm")
OPTIONAL = {
    "datasets": "prepare can then read named datasets",
    "tensorboard": "training can then write for TensorBoard",
    "transformers": "parity_table can then compare a model with Hugging Face's",
    "matplotlib": "exhibits can then draw",
}


class Finding(NamedTuple):
    """One line of the report: what was found, or None and advice."""

    what: str
    found: str | None
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Nothing to choose."""


@command("gpt2-edu doctor")
def doctor(options: DoctorOptions) -> None:
    """Print versions, device, fast paths and caches, and what to do about what is missing."""
    everything = list(findings())
    for what, found, _ in everything:
        print(f"{what:26}{found or 'no'}")
    missing = [f"- {what}: {advice}" for what, found, advice in everything if advice and not found]
    print("\nWhat could be better:" if missing else "\nNothing is missing.", *missing, sep="\n")
    print("\nFor a bug report, add the output of: python -m torch.utils.collect_env")


def findings() -> Iterator[Finding]:
    """All lines of the report, in the order in which they are printed."""
    yield Finding("python", f"{sys.version.split()[0]}, {sys.executable}")
    for package in NEEDED:
        yield Finding(package, installed(package), how_to_repair(package))
    for package, use in OPTIONAL.items():
        yield Finding(package, installed(package), f"pip install {package}: {use}")
    device = pick_device()
    name = str(device)
    if device.type == "cuda":
        free, total = (size / 2**30 for size in torch.cuda.mem_get_info(device))
        name += f", {torch.cuda.get_device_name(device)}, {free:.1f} of {total:.1f} GiB free"
    yield Finding("device", name)
    if device.type == "cpu" and shutil.which("nvidia-smi"):
        advice = "torch does not find the NVIDIA GPU: python -c 'import torch; torch.cuda.init()'"
        yield Finding("CUDA", None, f"{advice} says why")
    yield Finding("threads", f"{torch.get_num_threads()}, of {os.cpu_count()} processors")
    dtype = str(pick_precision("auto", device)).removeprefix("torch.")
    peak = device_peak(device, dtype)
    yield Finding(
        "precision", f"{dtype}, {peak / 1e12:.0f} TFLOP/s by data sheet" if peak else dtype
    )
    for kind in (torch.float32, torch.bfloat16):
        what = f"packed weights, {str(kind).removeprefix('torch.')}"
        lacking = "this processor or this build of torch lacks oneDNN's kernels for it"
        yield Finding(what, "yes, by oneDNN" if onednn_knows(kind) else None, lacking)
    advice = "torch.compile needs a C++ compiler, such as g++"
    yield Finding("compile for the CPU", cpp_compiler(), advice)
    if torch.cuda.is_available():
        yield Finding("compile for the GPU", installed("triton"), "pip install triton")
    yield Finding("cache of weights", constants.HF_HUB_CACHE)
    here = [
        name
        for name, of in PUBLISHED.items()
        if isinstance(try_to_load_from_cache(of.repo, WEIGHTS, revision=of.commit), str)
    ]
    advice = 'gpt2-edu generate "A crane" fetches those of gpt2, 548 MB'
    yield Finding("OpenAI's weights in it", ", ".join(here), advice)
    off = ", switched off by HF_HUB_OFFLINE" if constants.HF_HUB_OFFLINE else ""
    yield Finding("hub", constants.ENDPOINT + off)


def installed(package: str) -> str | None:
    """The version of an installed package, or None; also where its files are gone."""
    try:
        return version(package) if find_spec(package) else None
    except PackageNotFoundError:
        return None
