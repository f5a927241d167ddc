"""Sphinx extension: ``to-scale``, models side by side with each matrix in its true area.

The shapes are those of the package's own model, made without memory, and their sum is what
``flops`` counts; web/scale builds and draws them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from html import escape
from math import prod
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gpt2_edu import GPT2, GPT2Config, flops
from gpt2_edu.machine import display
from gpt2_edu.machine.device import shapes_only
from gpt2_site.one_pass import PLAIN

# GPT-3 differs from GPT-2 in what its attention sees, but has the same matrices.
# Brown et al. 2020, section 2.1, table 2.1.
MODELS = {
    "the crane": GPT2Config.preset("crane"),
    "GPT-2 124M": GPT2Config.preset("gpt2"),
    "GPT-2 XL": GPT2Config.preset("gpt2-xl"),
    "GPT-3": GPT2Config(n_layer=96, n_head=96, n_embd=12288, block_size=2048),
}
PATCH = 32  # rows and columns of a matrix that are shown with their numbers
PITCH = 105 * 68  # square metres of a football pitch
YEAR = 365.25 * 24 * 3600  # seconds


@cache
def shapes(config: GPT2Config) -> dict[str, tuple[int, ...]]:
    """The parameters of a model with a single block, by name."""
    with shapes_only():
        model = GPT2(replace(config, n_layer=1))
    return {
        name.removeprefix("transformer.").removesuffix(".weight"): tuple(parameter.shape)
        for name, parameter in model.named_parameters()
    }


def settings() -> dict[str, Any]:
    """What the picture is told."""
    first = "Press play: from a single number to 175 billion. Drag the picture to turn it."
    models = [drawn(name, config) | {"says": told(name, config)} for name, config in MODELS.items()]
    line = "A floor is a block. Areas are true; its height is drawn, a tenth of the model’s width."
    return {
        "first": first,
        "line": line,
        "models": models,
        "values": values(),
        "table": table(),
    }


def values() -> list[list[int]]:
    """A corner of a matrix of the crane, in ten-thousandths: c_attn of its last block."""
    last = GPT2.from_pretrained("crane").transformer.h[-1]
    return (10_000 * last.attn.c_attn.weight.detach()[:PATCH, :PATCH]).round().int().tolist()


def drawn(name: str, config: GPT2Config) -> dict[str, Any]:
    """A model's tables, the matrices of one of its blocks, and how many numbers are in vectors."""
    found = shapes(config)
    inside = {key.removeprefix("h.0."): s for key, s in found.items() if key.startswith("h.0.")}
    outside = {key: s for key, s in found.items() if not key.startswith("h.0.")}
    return {
        "name": name,
        "blocks": config.n_layer,
        "width": config.n_embd,
        "numbers": flops.num_parameters(config),
        "tables": matrices(outside),
        "block": matrices(inside),
        "vectors": [vectors(inside), vectors(outside)],
    }


def matrices(found: dict[str, tuple[int, ...]]) -> list[tuple[str, int, int]]:
    return [(name, *shape) for name, shape in found.items() if len(shape) == 2]


def vectors(found: dict[str, tuple[int, ...]]) -> int:
    """How many numbers biases and LayerNorms hold."""
    return sum(prod(shape) for shape in found.values() if len(shape) == 1)


def told(name: str, config: GPT2Config) -> str:
    """A model's size in a sentence."""
    many = flops.num_parameters(config)
    times = many / flops.num_parameters(MODELS["the crane"])
    than = f", {times:,.0f} times the crane’s" if times > 1 else ""
    return (
        f"{name[0].upper()}{name[1:]}: {many:,} numbers in {config.n_layer} blocks{than}. "
        f"With one on each square millimetre, {area(many)}."
    )


def area(many: int) -> str:
    """How large so many square millimetres are."""
    metres = many / 1e6
    if metres < 1:
        return f"a square of {metres**0.5 * 100:.0f} cm"
    pitches = f", some {metres / PITCH:.0f} football pitches" if metres > PITCH else ""
    return f"a square of {metres**0.5:.0f} m{pitches}"


def table() -> dict[str, Any]:
    """The picture's numbers as a table."""
    columns = ["blocks", "width", "numbers", "in float16", "FLOPs a token", "to read, one a second"]
    return {
        "caption": "Four models, to scale",
        "columns": ["model", *columns],
        "rows": [[name, *row(config)] for name, config in MODELS.items()],
    }


def row(config: GPT2Config) -> list[str]:
    many = flops.num_parameters(config)
    stored = flops.generation_memory(config, 1, 1, "float16").weights
    work = flops.flops_per_token(config, config.block_size, training=False)
    return [
        str(config.n_layer),
        f"{config.n_embd:,}",
        f"{many:,}",
        short(stored, {1e9: "GB", 1e6: "MB"}),
        short(work, {1e12: "trillion", 1e9: "billion", 1e6: "million"}),
        f"{many / YEAR:,.0f} years" if many > YEAR else f"{many / 86400:.0f} days",
    ]


def short(value: float, units: dict[float, str]) -> str:
    unit = next(unit for unit in units if value >= unit)
    return f"{float(f'{value / unit:.3g}'):g} {units[unit]}"


class ToScale(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        told = escape(json.dumps(settings(), ensure_ascii=False))
        html = f'<gpt2-scale class="g2-live" data-settings="{told}">{printed()}</gpt2-scale>'
        return [nodes.raw("", html, format="html")]


def printed() -> str:
    """What stands in the picture's place without a script."""
    return f'<div class="scroll printed">{display.table(**table(), attributes=PLAIN)}</div>'


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("to-scale", ToScale)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
