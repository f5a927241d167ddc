"""The exhibit of chapter 14: three optimisers in a valley, step for step those of torch.optim."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.browser
STEEPNESS = torch.diag(torch.tensor([10.0, 0.1], dtype=torch.float64))
OPTIMISERS = {
    "plain": lambda p, lr: torch.optim.SGD([p], lr=lr),
    "momentum": lambda p, lr: torch.optim.SGD([p], lr=lr, momentum=0.9),
    "adamw": lambda p, lr: torch.optim.AdamW([p], lr=lr, weight_decay=0),
}


def rate_of(step: int, lr: float) -> float:
    """Chapter 14's rate, of a hundred steps with ten of warm-up, down to a tenth."""
    if step < 10:
        return lr * (step + 1) / 10
    return lr / 10 + (lr - lr / 10) * (1 + math.cos(math.pi * (step - 9) / 90)) / 2


def path(
    method="adamw", rate=0.1, turn=0, schedule=False, clip=False, wild=False
) -> list[list[float]]:
    """How far from home in the steep and in the flat direction, step for step."""
    sin, cos = math.sin(math.radians(turn)), math.cos(math.radians(turn))
    numbers = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)  # of the directions
    p = nn.Parameter(numbers @ torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = OPTIMISERS[method](p, rate)
    found = [[1.0, -2.0]]
    for step in range(100):
        if schedule:
            optimizer.param_groups[0]["lr"] = rate_of(step, rate)
        optimizer.zero_grad()
        (p @ numbers @ STEEPNESS @ numbers.T @ p / 2).backward()
        if wild and step == 49:
            p.grad.copy_(numbers @ torch.tensor([0.0, 50.0], dtype=torch.float64))
        if clip:
            nn.utils.clip_grad_norm_([p], 1.0)
        optimizer.step()
        found.append((numbers.T @ p.detach()).tolist())
    return found


def numbers(shown) -> dict[int, list[float]]:
    """Step → steep, flat, from the table."""
    rows = shown.table().items()
    return {int(step): [float(x.replace("−", "-")) for x in cells[1:3]] for step, cells in rows}


def slide(shown, rate: float) -> None:
    shown.slide("learning rate", math.log10(rate))


@pytest.mark.thorough
@pytest.mark.parametrize("method", list(OPTIMISERS))
def test_paths_are_those_of_torch(exhibit, method):
    for settings in (
        {"rate": 0.3, "clip": True},
        {"rate": 0.03, "wild": True, "schedule": True, "turn": 20},
    ):
        query = {"method": method} | {name: str(x).lower() for name, x in settings.items()}
        shown = exhibit("valley", query=query)
        assert shown.element.locator("path.ghost").count() == 2, "the plain path is beside it"
        expected = path(method, **settings)
        for step, found in numbers(shown).items():
            assert found == pytest.approx(expected[step], abs=1e-3), (settings, step)


def test_no_rate_is_right_for_the_plain_step(exhibit):
    shown = exhibit("valley", query={"method": "plain"})
    for rate in (0.001, 0.01, 0.1, 0.19):
        slide(shown, rate)
        flat = path("plain", rate)[-1][1]
        assert f"the flat one at −{-flat:.2f}. " in shown.sentence
        assert "not home" in shown.sentence or "Neither" in shown.sentence
        told = shown.sentence.endswith("Above rate 0.2 the steep one leaps out.")
        assert told == (rate == 0.19)  # who has come near it is told
    slide(shown, 0.5)
    assert "The plain step at rate 0.501 leaps out" in shown.sentence
    slide(shown, 0.1)
    shown.element.get_by_role("button", name="AdamW").click()
    assert shown.sentence.endswith("Both are home.")
    assert "method" not in shown.query  # it begins with AdamW
