"""An exercise's cases with other random numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from unittest import mock

import torch

from .exercise import Case


def redrawn(cases: Callable[[], list[Case]], draw: int) -> Callable[[], list[Case]]:
    """Cases with ``draw`` added to every seed that they set."""

    def redrawn_cases() -> list[Case]:
        with _offset_seeds(draw):
            return cases()

    return redrawn_cases


@contextlib.contextmanager
def _offset_seeds(draw: int) -> Iterator[None]:
    """Within the context, add ``draw`` to every seed that an exercise's cases set."""
    seed = torch.manual_seed

    class Generator(torch.Generator):
        def manual_seed(self, number: int) -> torch.Generator:
            return super().manual_seed(number + draw)

    with (
        mock.patch.object(torch, "Generator", Generator),
        mock.patch.object(torch, "manual_seed", lambda number: seed(number + draw)),
    ):
        yield
