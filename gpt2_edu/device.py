"""Which device to run on."""

from __future__ import annotations

import os

import torch


def pick_device() -> torch.device:
    """The fastest device here: CUDA, then Apple's MPS, then the CPU.

    With ``GPT2_EDU_BOOK=1`` in the environment it is always the CPU: the book's stored numbers
    come from there, so that every reader can reproduce them.
    """
    if os.environ.get("GPT2_EDU_BOOK") == "1":
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
