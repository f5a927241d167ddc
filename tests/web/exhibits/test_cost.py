"""The exhibit of chapter 18: the three limits of a step, on paper."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpt2_edu import GPT2Config, flops
from gpt2_edu.machine.data_sheets import DEVICES, find_device

pytestmark = pytest.mark.browser
NAMES = ("crane", "gpt2", "gpt2-xl")
DRY = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
MODELS = {name: replace(GPT2Config.preset(name), **DRY) for name in NAMES}
REQUESTS = {"write": [16, 37], "train": [60, 100]}


SIZES = {
    name: [c.n_layer, c.n_embd, c.n_head, c.vocab_size, c.block_size] for name, c in MODELS.items()
}
SETTINGS = {
    "sizes": SIZES,
    "devices": {
        d.name: {"peak": dict(d.peak), "memory": d.memory_bytes_per_second} for d in DEVICES
    },
    "requests": REQUESTS,
}


@pytest.fixture
def cost(exhibit):
    return lambda **more: exhibit("cost", **SETTINGS, **more)


def table(shown) -> dict[str, list[float]]:
    """The work, the rate and the seconds of each limit, in full."""
    return {name: [float(cell) for cell in cells] for name, cells in shown.table().items()}


def slide(shown, name: str, keys: list[str]) -> None:
    shown.element.get_by_role("slider", name=name).focus()
    for key in keys:
        shown.page.keyboard.press(key)
    shown.ready()


CASES = [
    ("crane", "float32", 16, 128),
    ("gpt2", "float16", 1, 16),
    ("gpt2", "tf32", 8, 512),
    ("gpt2-xl", "bfloat16", 32, 1024),
]


def test_the_numbers_are_those_of_flops(cost):
    gpu = find_device("A100-SXM4-80GB")
    shown = cost(query={"device": gpu.name})
    for size, precision, batch, T in CASES:
        config = MODELS[size]
        written = batch * flops.flops_per_token(config, 2 * T, training=False)
        trained = batch * T * flops.flops_per_token(config, T)
        expected = {
            "write": (written, flops.bytes_read_per_step(config, batch, T, precision)),
            "train": (trained, 2 * flops.memory(config, batch, T, precision).total),
        }
        shown.set(size=size, type=precision, batch=batch, T=T)
        for job, (work, traffic) in expected.items():
            found = table(shown.set(job=job))
            outside, inside = REQUESTS[job]
            count = outside + config.n_layer * inside
            peak, bandwidth = gpu.peak[precision], gpu.memory_bytes_per_second
            seconds = pytest.approx(traffic / bandwidth)
            assert found["requests"] == pytest.approx([count, 2e5, 5e-6 * count])
            assert found["memory traffic"] == [traffic, bandwidth, seconds]
            assert found["arithmetic"] == [work, peak, pytest.approx(work / peak)]


def test_what_must_fit_into_the_memory(cost):
    config = MODELS["gpt2-xl"]
    shown = cost(query={"job": "train", "batch": "8", "T": "1024", "type": "float32"})
    held = flops.memory(config, 8, 1024, "float32").total
    last = shown.ready().element.locator(".lines").inner_text().splitlines()[-1]
    assert last == f"{held / 1e9:.3g} GB at most in the device's memory at once"
    shown = cost(query={"job": "write", "batch": "8", "T": "1024", "type": "float16"})
    read = flops.bytes_read_per_step(config, 8, 1024, "float16")
    held = read + 2 * config.block_size * config.n_embd
    last = shown.ready().element.locator(".lines").inner_text().splitlines()[-1]
    assert last == f"{held / 1e9:.3g} GB must fit into the device's memory at once"


@pytest.mark.thorough
def test_more_flops_write_no_faster_and_more_bandwidth_does(cost):
    shown = cost()
    assert shown.sentence.startswith("Bound by memory traffic: a step takes")
    shown.element.get_by_label("device").select_option("L4")
    assert shown.sentence.endswith("Compared with before: FLOP/s × 1.9, tokens/s × 0.94.")
    bars = shown.element.locator(".bar").all_inner_texts()
    assert "was 9.97 ms" in bars[1] and "binds" in bars[1] and "binds" not in bars[0] + bars[2]
    slide(shown, "its FLOP/s", ["End"])
    assert shown.sentence.endswith("Compared with before: FLOP/s × 16, tokens/s × 1.")
    slide(shown, "its bytes/s", ["ArrowRight"])
    assert shown.sentence.startswith("Bound by requests")


def dots(shown) -> list[tuple[float, float]]:
    """FLOP for each byte and FLOP/s of the dots in the roof's drawing; the last is the step."""
    read = "all => all.map((c) => [c.getAttribute('cx'), c.getAttribute('cy')].map(Number))"
    places = shown.ready().element.locator(".plot circle").evaluate_all(read)
    return [(10 ** (5 * x / 286 - 1), 10 ** (17 - 8 * y / 166)) for x, y in places]


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "batch", "wait"), [("gpt2-xl", 4, 0.1), ("crane", 64, 5)])
def test_the_dots_stand_where_python_puts_them(cost, size, batch, wait):
    config, gpu = MODELS[size], find_device("A100-SXM4-80GB")
    query = {"size": size, "type": "bfloat16", "batch": str(batch), "wait": str(wait)}
    shown = cost(query={**query, "device": gpu.name})
    outside, inside = REQUESTS["write"]
    requests = (outside + inside * config.n_layer) * wait * 1e-6

    def expected(B):
        T = min(256, config.block_size)
        work = B * flops.flops_per_token(config, 2 * T, training=False)
        traffic = flops.bytes_read_per_step(config, B, T, "bfloat16")
        limits = requests, traffic / gpu.memory_bytes_per_second, work / gpu.peak["bfloat16"]
        return pytest.approx((work / traffic, work / max(limits)), rel=0.02)

    *ladder, step = dots(shown)
    assert len(ladder) == 11
    assert all(dot == expected(2**n) for n, dot in enumerate(ladder))
    assert step == expected(batch)


def test_the_dot_is_dragged_and_moved_by_keys(cost):
    shown = cost()
    box = shown.element.locator(".plot").bounding_box()
    circles = shown.element.locator(".plot circle")
    last, fifth = circles.last.bounding_box(), circles.nth(4).bounding_box()
    middle = [(one["x"] + one["width"] / 2, box["y"] + box["height"] / 2) for one in (last, fifth)]
    shown.drag(*middle)
    assert shown.query == "?batch=16"
    shown.tab_to(".plot")
    shown.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert shown.query == "?batch=32"
    assert shown.element.locator(".plot text").last.text_content() == "B = 32"
