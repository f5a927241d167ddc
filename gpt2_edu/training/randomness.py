"""The random generators that a run draws from: seeded, stored in checkpoints, restored."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor


def seed_all(*numbers: int) -> None:
    """Seed Python's, NumPy's and torch's generators. Torch's for the CPU takes 32 bits."""
    seed = int(np.random.SeedSequence(numbers).generate_state(1)[0])
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def random_state(device: torch.device) -> dict[str, Any]:
    """The states of all random generators that a run can draw from, in JSON's types."""
    version, numbers, gauss = random.getstate()
    generator = np.random.get_state(legacy=False)
    generator["state"]["key"] = generator["state"]["key"].tolist()
    states = {"torch": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": generator,
        **{name: state.numpy().tobytes().hex() for name, state in states.items()},
    }


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Restore what ``random_state`` returned, as far as it has a state for this kind of device."""

    def tensor(name: str) -> Tensor:
        return torch.frombuffer(bytearray.fromhex(state[name]), dtype=torch.uint8)

    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(tensor("torch"))
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(tensor("cuda"), device)
    elif device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(tensor("mps"))


@contextmanager
def kept_random_state(device: torch.device) -> Iterator[None]:
    """After the block, every generator is in the state that it had before."""
    state = random_state(device)
    try:
        yield
    finally:
        set_random_state(state, device)
