"""The random generators that a run draws from: seed them, store their states, restore them."""

from __future__ import annotations

import random
from collections.abc import Mapping
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
    legacy = np.random.get_state(legacy=False)
    assert isinstance(legacy, dict)
    state: dict[str, Any] = {
        "python": [version, list(numbers), gauss],
        "numpy": legacy | {"state": legacy["state"] | {"key": legacy["state"]["key"].tolist()}},
        "torch": _hex(torch.get_rng_state()),
    }
    if device.type == "cuda":
        state["cuda"] = _hex(torch.cuda.get_rng_state(device))
    elif device.type == "mps":
        state["mps"] = _hex(torch.mps.get_rng_state())
    return state


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Restore what ``random_state`` returned."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    inner = state["numpy"]["state"]
    key = np.array(inner["key"], dtype=np.uint32)
    np.random.set_state(state["numpy"] | {"state": inner | {"key": key}})
    torch.set_rng_state(_bytes(state["torch"]))
    if device.type in state:  # not if the run was saved on another kind of device
        module = torch.cuda if device.type == "cuda" else torch.mps
        module.set_rng_state(_bytes(state[device.type]))


def _hex(state: Tensor) -> str:
    return state.numpy().tobytes().hex()


def _bytes(text: str) -> Tensor:
    return torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8)
