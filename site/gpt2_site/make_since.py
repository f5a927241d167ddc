"""Train and round the models of the part "Since GPT-2", and store what came out: `make since`.

The file is gpt2_edu/assets/since_gpt2.json; what is measured, gpt2_edu/analysis/since.py says. One
core needs two hours. Each result is stored at once, and those in the file are not made again: to
make all, delete it first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.analysis.rounding import (
    PARTS,
    clipped,
    rounded,
    rounded_inputs,
    with_gptq,
    with_outlier,
    with_weights,
)
from gpt2_edu.analysis.since import (
    EDGES,
    FILE,
    SEEDS,
    Recipe,
    by_position,
    count_right,
    excess,
    held_out,
    measure,
    readings,
    train,
    written,
)
from gpt2_edu.analysis.variants import VARIANTS, variant
from gpt2_edu.cache import KVCache
from gpt2_edu.crane.surprisal import mean_and_error
from gpt2_edu.llama import Llama
from gpt2_edu.machine.files import write_text

SHORT = Recipe()
# Long enough that stories come out right, and in windows that hold a whole one.
LONG = Recipe(steps=6000, batch_size=8, T=112, lr=6e-3, n_head=2, whole=True)
TUNED = Recipe(steps=200, batch_size=2, T=EDGES[-1], lr=1e-3)
FEW = ("learned", "rope", "all")
PER = ("tensor", "row", "group 32")
SAMPLES = 1000  # stories that are judged


def main() -> None:
    torch.set_num_threads(1)  # sums in one order, so that the same machine gives the same numbers
    results = Results()
    version = torch.__version__.partition("+")[0]
    results.begin("made", command="make since", torch=version, seeds=SEEDS)
    results.begin("llama", "runs", "positions", **on_paper(SHORT, VARIANTS))
    results.begin("long", "runs", **on_paper(LONG, FEW))
    fewer_bits(results)
    for seed in range(5):  # whole rounds, wherever it is stopped
        for name in VARIANTS:
            run(results, name, seed)
        for name in FEW if seed > 1 else ():
            long_run(results, name, seed - 2)


class Results:
    """The content of a file, written whenever there is more of it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or FILE
        self.content: dict[str, Any] = {}
        if self.path.exists():
            self.content = json.loads(self.path.read_text(encoding="utf-8"))

    def begin(self, section: str, *lists: str, **facts: Any) -> None:
        """A section with its facts, and lists that rows are added to."""
        found = self.content.setdefault(section, {})
        found.update(facts)
        for name in lists:
            found.setdefault(name, [])

    def missing(self, place: str, **key: Any) -> dict[str, Any]:
        """The key, unless the list at "section.list" has it."""
        section, name = place.split(".")
        done = any(row.items() >= key.items() for row in self.content[section][name])
        return {} if done else key

    def add(self, place: str, row: dict[str, Any]) -> None:
        """Append a row to the list at "section.list"."""
        section, name = place.split(".")
        self.content[section][name].append(row)
        print(place, row, flush=True)
        self.write()

    def write(self) -> None:
        """A row to a line, floats to four digits."""
        text = json.dumps(self.content)
        short = json.loads(text, parse_float=lambda digits: float(f"{float(digits):.4g}"))
        text = json.dumps(short, separators=(",", ":"))
        write_text(self.path, re.sub(r"(?<=[\[,]){", "\n{", text) + "\n")


# ---- From GPT-2 to Llama ------------------------------------------------------------------------


def on_paper(recipe: Recipe, names: Iterable[str]) -> dict[str, Any]:
    """What needs no training."""
    models = {name: variant(name, recipe.config(recipe.T)) for name in names}
    return {
        "recipe": asdict(recipe),
        "steps": recipe.steps,
        "floor": torch.cat(list(held_out().surprisals)).mean().item(),
        "parameters": {
            name: sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
            for name, model in models.items()
        },
        "cache_bytes": {  # of a token, in bfloat16
            name: KVCache(model.config, 1, 1, dtype=torch.bfloat16).nbytes()
            for name, model in models.items()
        },
    }


def trained(name: str, seed: int, recipe: Recipe) -> GPT2 | Llama:
    """A variant after training. It has positions as far as it is read later."""
    torch.manual_seed(seed)
    model = variant(name, recipe.config(EDGES[-1]))
    train(model, recipe, seed)
    return model


def run(results: Results, name: str, seed: int) -> None:
    """Train and measure a variant, and read with it far beyond the window of its training."""
    model = cache(partial(trained, name, seed, SHORT))
    if key := results.missing("llama.runs", variant=name, seed=seed):
        results.add("llama.runs", key | measure(model(), SHORT.T))
    if name not in FEW:
        return
    plain: Any = variant(name, SHORT.config(EDGES[-1])).config
    scaled = {} if name == "learned" else readings(plain, SHORT.T)
    for reading, config in {"plain": plain, **scaled}.items():
        for steps in (0, TUNED.steps) if reading in ("plain", "linear 7") else (0,):
            if reading == "plain" and not steps:
                continue  # among the runs
            key = results.missing(
                "llama.positions", variant=name, seed=seed, reading=reading, steps=steps
            )
            if key:
                reader = deepcopy(model())
                reader.config = config
                if steps:
                    train(reader, TUNED, seed, warmup_steps=10)
                results.add("llama.positions", key | {"by_position": by_position(reader)})


def long_run(results: Results, name: str, seed: int) -> None:
    """Train a variant until it writes right stories."""
    if key := results.missing("long.runs", variant=name, seed=seed):
        results.add("long.runs", key | measure(trained(name, seed, LONG), LONG.T))


# ---- Fewer bits ---------------------------------------------------------------------------------


def fewer_bits(results: Results) -> None:
    """Round the weights of the shipped model, and what its maps read, in all ways."""
    intact = GPT2.from_pretrained("crane")
    before = excess(intact, held_out())
    encoding = load_tokenizer("crane")
    stories = map(crane.story, crane.random_seeds(100, SEEDS["calibration"]))
    calibration = [[encoding.eot_token, *encoding.encode_ordinary(story)] for story in stories]

    def loss(model: GPT2) -> dict[str, Any]:
        """Nats above the floor, and the standard error of the difference to the intact model."""
        after = excess(model, held_out())
        apart = [(a - b).tolist() for a, b in zip(after, before, strict=True)]
        return {"nats": torch.cat(after).mean().item(), "error": mean_and_error(apart)[1]}

    def cost(model: GPT2) -> dict[str, Any]:
        return loss(model) | {"right": count_right(written(model, SAMPLES)), "of": SAMPLES}

    def nearest(bits: int, per: str, part: str = "all", model: GPT2 = intact) -> GPT2:
        return with_weights(model, partial(rounded, bits=bits, per=per), part)

    results.begin("bits", "rows", "clipped", "gptq", "activations", "outliers")
    if not results.content["bits"].get("intact"):
        results.begin("bits", intact=cost(intact))
    if key := results.missing("bits.rows", bits=16, per="bfloat16", part="all"):
        results.add("bits.rows", key | cost(deepcopy(intact).bfloat16().float()))
    for bits, per in product((8, 6, 5, 4, 3, 2), PER):
        if key := results.missing("bits.rows", bits=bits, per=per, part="all"):
            results.add("bits.rows", key | cost(nearest(bits, per)))
    for part, bits in product(list(PARTS)[1:], (4, 3, 2)):
        if key := results.missing("bits.rows", bits=bits, per="row", part=part):
            results.add("bits.rows", key | cost(nearest(bits, "row", part)))
    for bits, per in product((4, 3, 2), PER[1:]):
        if key := results.missing("bits.clipped", bits=bits, per=per, part="all"):
            clip = partial(clipped, bits=bits, per=per)
            results.add("bits.clipped", key | cost(with_weights(intact, clip)))
        if key := results.missing("bits.rows", bits=bits, per=per, part="maps"):
            results.add("bits.rows", key | cost(nearest(bits, per, "maps")))
        if key := results.missing("bits.gptq", bits=bits, per=per, part="maps"):
            results.add("bits.gptq", key | cost(with_gptq(intact, calibration, bits, per)))

    # Activations: all weights have 8 bits per row.
    for bits, per in product((8, 6, 4), ("tensor", "token")):
        if key := results.missing("bits.activations", bits=bits, per=per):
            with rounded_inputs(model := nearest(8, "row"), bits, per):
                results.add("bits.activations", key | loss(model))
    for factor, per in product((1, 10, 100), ("none", "tensor", "token")):
        for back in (False, True) if factor > 1 and per != "none" else (False,):
            key = results.missing("bits.outliers", factor=factor, per=per, scaled_back=back)
            if key:
                planted = with_outlier(intact, factor)
                model = nearest(8, "row", model=with_outlier(planted, 1 / factor if back else 1))
                with nullcontext() if per == "none" else rounded_inputs(model, 8, per):
                    results.add("bits.outliers", key | loss(model))


if __name__ == "__main__":
    main()
