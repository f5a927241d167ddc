"""The exhibit of learning from rewards, before a page wakes it."""

from __future__ import annotations

import json
from typing import Any

from gpt2_edu.exhibits import Rewarded


def curve(right: float, entropy: float) -> dict[str, Any]:
    """Of nine points, 20 steps apart, from a tenth of right stories to so many."""
    shares = [0.1 + i / 8 * (right - 0.1) for i in range(9)]
    return {
        "step": [20 * i for i in range(9)],
        "right": [round(100 * share) for share in shares],
        "plots": [[round(20 * share)] * 5 for share in shares],
        "distinct": [100] * 9,
        "length": [66.0] * 9,
        "entropy": [0.54 + i / 8 * (entropy - 0.54) for i in range(9)],
        "nats": [0.08 + i / 80 for i in range(9)],
        "reward": [0.1 * i for i in range(1, 9)],
        "kl": [i / 40 for i in range(1, 9)],
    }


def found() -> dict[str, Any]:
    """Results in the form in which ``make reward`` stores them."""
    ways: dict[str, Any] = {"reward": {}, "rein": {"rein": 0.05}, "shared": {"reward": "shared"}}
    ways |= {"cranes": {"reward": "cranes", "every": 10}, "grpo": {"divide": True}, "own": {}}
    ends = {"reward": (0.9, 0.2), "rein": (0.8, 0.3), "cranes": (0.0, 0.5)}
    runs = [
        {"variant": name, "seed": seed, "curve": curve(*ends.get(name, (0.7, 0.4)))}
        for seed in (0, 1)
        for name in ways
    ]
    for run in runs:
        if run["variant"] == "own":
            del run["curve"]["kl"], run["curve"]["reward"]
    return {"language": {"entropy": 0.4436}, "tuned": {"ways": ways, "runs": runs}}


def test_the_page_gets_the_first_run_of_each_reward_point_by_point():
    settings = json.loads(Rewarded(found=found()).settings)
    assert settings["entropy"] == 0.4436
    choices = [one["choice"] for one in settings["stored"]]
    keys = [(one["kind"], one["rein"]) for one in choices]
    assert keys == [("right", 0), ("right", 0.05), ("cranes", 0)]
    first, second, *_, last = settings["stored"][0]["points"]
    assert first == {
        "n": 0,
        "texts": 1280,
        "entropy": 0.54,
        "length": 66,
        "nats": 0.08,
        "right": 0.1,
        "plots": [0.02] * 5,
    }
    assert (second["n"], second["reward"], second["divergence"]) == (1280, 0.1, 0.025)
    assert (last["n"], last["right"], last["reward"], last["divergence"]) == (10240, 0.9, 0.8, 0.2)


def test_without_a_script_there_are_the_stored_curves():
    html = Rewarded(found=found()).html()
    assert html.startswith('<gpt2-reward class="g2-live"')
    assert "the language 0.44" in html and "right, β = 0.05" in html
    assert "every crane: 0 % right, entropy 0.50, 0.18 nats from the truth" in html


def test_the_stored_results_can_be_shown():
    settings = json.loads(Rewarded().settings)
    choices = [one["choice"] for one in settings["stored"]]
    assert {"kind": "right", "word": "", "rein": 0} in choices
    assert any(one["kind"] == "cranes" for one in choices)
    assert 0.4 < settings["entropy"] < 0.5
