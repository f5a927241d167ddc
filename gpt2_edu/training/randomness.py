"""The random generators that dropout draws from: seeded, stored in checkpoints, restored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import numpy as np
import torch


def seed_all(*numbers: int) -> None:
    """Seed torch's generators on all devices. The one for the CPU takes 32 bits."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1)[0]))


def random_state(device: torch.device) -> dict[str, str]:
    """The states of torch's generators for the CPU and for this device, in hexadecimal."""
    states = {"torch": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return {name: state.numpy().tobytes().hex() for name, state in states.items()}


def set_random_state(state: Mapping[str, str], device: torch.device) -> None:
    """Restore what ``random_state`` returned, as far as it has a state for this kind of device."""
    restore: dict[str, Callable[[torch.Tensor], None]] = {"torch": torch.set_rng_state}
    if device.type == "cuda":
        restore["cuda"] = lambda of_device: torch.cuda.set_rng_state(of_device, device)
    elif device.type == "mps":
        restore["mps"] = torch.mps.set_rng_state
    for name in restore.keys() & state.keys():
        restore[name](torch.frombuffer(bytearray.fromhex(state[name]), dtype=torch.uint8))


def kept_random_state(device: torch.device) -> AbstractContextManager[None]:
    """After the block, torch's generators are in the state that they had before."""
    return torch.random.fork_rng([device] if device.type == "cuda" else [])
