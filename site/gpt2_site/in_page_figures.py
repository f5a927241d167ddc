"""Rows of the tables on GPT-2 in a page, from the newest measurement of benchmarks/in_page.py."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any

from gpt2_site.gpu_figures import newest

NUMBERS = dict(enumerate("no one two three four five six seven eight nine ten".split()))
NAMES = {
    "ours": "WebAssembly",
    "ours, plain JavaScript": "plain JavaScript",
    "ours, float16 weights": "WebAssembly, float16 weights",
    "ours, int8 weights": "WebAssembly, int8 weights",
    "ours, int4 weights": "WebAssembly, int4 weights",
    "onnxruntime-web": "onnxruntime-web",
}


@cache
def report() -> dict[str, Any]:
    return newest("in_page")


@cache
def medians() -> dict[tuple[str, str], float]:
    return {(row["task"], row["contender"]): row["median"] for row in report()["rows"]}


def power(value: float) -> str:
    """One digit, with a power of ten where it is small: "1·10⁻⁵"."""
    if value > 1e-3:
        return f"{value:.1g}"
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}·10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _rows(model: str, tasks: dict[str, tuple[float, str]]) -> str:
    """A row for each contender: its times, then how far its numbers are off."""
    rows = []
    for contender, name in NAMES.items():
        if (f"{model}: ready", contender) in medians():
            cells = [
                f"{medians()[f'{model}: {task}', contender] * factor:{form}}"
                for task, (factor, form) in tasks.items()
            ]
            off = report()["differences"][f"{model}, {contender}"]
            texts = f"{off['the same']} of {off['greedy texts of 20 tokens']}"
            rows.append(f"| {' | '.join([name, *cells, power(off['logits']), texts])} |")
    return "\n".join(rows)


def small() -> str:
    """Crane World's model."""
    return _rows(
        "Crane",
        {
            "ready": (1e3, ".0f"),
            "first answer, cold": (1e3, ".0f"),
            "writing, recorded": (1, ",.0f"),
        },
    )


def large() -> str:
    """A model in the sizes of OpenAI's smallest."""
    return _rows(
        "124M",
        {
            "ready": (1, ".1f"),
            "first answer, cold": (1e3, ".0f"),
            "a token, CPU time": (1e3, ".0f"),
            "peak memory": (1e-6, ",.0f"),
        },
    )


def about() -> str:
    """When, where and with what it was measured."""
    machine, settings = report()["machine"], report()["settings"]
    return (
        f"Measured on {date.fromisoformat(report()['date'][:10]):%Y-%m-%d} with Chromium "
        f"{settings['chromium'].split('.')[0]} on {machine['cores']} shared cores "
        f"({machine['cpu']}), onnxruntime-web {settings['onnxruntime-web']}, one thread each."
    )


def waited() -> str:
    """How long a reader waits for right stories, from benchmarks/page_training.py --learn."""
    found = newest("page_training_learn")
    rows = {row["task"]: row for row in found["rows"]}
    spans = [
        f"{min(values):.0f} to {max(values):.0f} seconds"
        for values in (rows[task]["values"] for task in ("first right story", "10 of 20 right"))
    ]
    over = rows["loss above the truth at the end"]["median"]
    runs = len(rows["first right story"]["values"])
    return (
        f"In {NUMBERS[runs]} runs on {found['machine']['cores']} cores of an "
        f"{found['machine']['cpu']}, the first right story came after {spans[0]}, and half of 20 "
        f"were right after {spans[1]}. At the end the loss was {over:.3f} nats above the truth."
    )


def pace() -> str:
    """The training beside others, from benchmarks/page_training.py: ratios of the larger model."""
    rows = newest("page_training")["rows"]
    last = [row for row in rows if row["task"] == rows[-1]["task"]]
    rate = {row["contender"]: row["median"] for row in last}
    one, two = rate["ours"], rate["ours, two workers"]
    return (
        f"On one core it trains at {one / rate['PyTorch, one thread']:.2f} times the speed of "
        f"PyTorch and {one / rate['TensorFlow.js, WASM']:.0f} times that of TensorFlow.js, both "
        f"on one thread; with a second worker it is {two / one:.1f} times as fast."
    )
