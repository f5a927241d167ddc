"""Damaged checkpoints: what a page makes of each must be what Python makes of it.

The page must load the model that Python loads from the same bytes, or refuse it in one plain
sentence within a second, and the model that it held before must still answer. Where the two differ
on purpose, STRICTER and LOOSER say why.
"""

from __future__ import annotations

import base64
import json
import random
import re
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.gpt2_weights import config_to_hugging_face, to_hugging_face
from tests.fuzz.mutate import damaged as damaged_bytes
from tests.fuzz.mutate import edited
from tests.fuzz.tally import Tally
from tests.node import ask

SIZES = GPT2Config(vocab_size=11, block_size=5, n_layer=2, n_head=3, n_embd=6)
IDS = [3, 1, 4, 1]
AT_A_TIME = 500

STRICTER = {  # what the page refuses and Python loads, by the page's words
    r" holds -?(NaN|Infinity) at place": "weights that are not finite give no text",
    r" is there with and without ": "Python takes one of two tensors of the same name",
    r" has the type F(64|8_E\w+), not ": "a GPT-2 in float64 or float8 is not worth the code",
    r" has the unknown type ": "types that no buffer of a GPT-2 has",
    r"GPT-2 has (true|false)": "Python takes 1 for true",
    r"layer_norm_epsilon must lie between 0 and 1": "Python takes any above 0",
    r"config.json is not JSON": "Python reads NaN and Infinity, which JSON has not",
    r" is described wrongly": "Python takes a list for an object, and any number of axes",
}
LOOSER = {  # what Python refuses and the page loads, by Python's words
    r"(embd|attn|resid)_pdrop (is a probability|must be)": "dropout is for training",
    r"initializer_range must be|int too large": "so is the initializer",
    r"must be an int, got \d+\.0": "JavaScript reads 6.0 as 6",
    r"floating point|number out of range": "and so in the header",
    r"duplicate field": "JSON.parse takes the last",
    r"expected a string|expected a map": "metadata are not read",
    r"hex escape": "half a character in a name that is not read",
    r"recursion (limit|depth) exceeded": "depth is no harm to JSON.parse",
    r"codec can't decode": "a browser reads bytes that are no UTF-8 as \ufffd",
}
RAW = re.compile(
    r"undefined|\[object|\bnull\b.*propert|Cannot |Invalid |not iterable|\n| at \w+ \(|"
    r"not a function|allocation|call stack|JSON\.parse|Unexpected|out of (range|bounds)"
)
Case = tuple[str, bytes, bytes]  # its seed, config.json, model.safetensors


def checkpoint(draw: random.Random) -> tuple[bytes, bytes]:
    """A config and weights in one of Hugging Face's forms: three types, two prefixes, old files."""
    torch.manual_seed(draw.randrange(99))
    model = GPT2(SIZES)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    dtype = draw.choice((torch.float32, torch.float16, torch.bfloat16))
    tensors = {k: v.detach().to(dtype) for k, v in to_hugging_face(model.state_dict()).items()}
    if draw.random() < 0.5:
        tensors = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    prefix = "" if "wte.weight" in tensors else "transformer."
    if draw.random() < 0.5:
        tensors["lm_head.weight"] = tensors[f"{prefix}wte.weight"].clone()
    if draw.random() < 0.5:
        tensors[f"{prefix}h.0.attn.bias"] = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
    if draw.random() < 0.1:
        numbers = tensors[draw.choice(list(tensors))].view(-1)
        numbers[draw.randrange(len(numbers))] = draw.choice((float("nan"), float("inf"), 1e-40))
    return json.dumps(config_to_hugging_face(SIZES)).encode(), save(tensors, {"format": "pt"})


def damaged(seed: int) -> Case:
    """One checkpoint, damaged in one way or in several."""
    draw = random.Random(seed)
    config, weights = checkpoint(draw)
    if draw.random() < 0.3:
        config = edited(draw, config) if draw.random() < 0.8 else damaged_bytes(draw, config)
    if draw.random() < 0.5:
        end = 8 + struct.unpack("<Q", weights[:8])[0]
        header = edited(draw, weights[8:end]) + b" " * draw.choice((0, 0, 2))
        weights = struct.pack("<Q", len(header)) + header + weights[end:]
    if draw.random() < 0.1:
        length = draw.choice((0, 1, len(weights), 2**32, 2**53, 2**64 - 1))
        weights = struct.pack("<Q", length) + weights[8:]
    if draw.random() < 0.2:
        weights = damaged_bytes(draw, weights)
    return str(seed), config, weights


def in_python(case: Case, folder: Path) -> torch.Tensor | str:
    """The logits, or why it was refused."""
    _, config, weights = case
    try:
        sizes = json.loads(config)
        if max(sizes[key] for key in ("n_layer", "vocab_size", "n_positions", "n_embd")) > 5000:
            return "sizes that Python would try to build"
    except (ValueError, TypeError, KeyError, RecursionError):
        pass  # Python says so itself
    (folder / "config.json").write_bytes(config)
    (folder / "model.safetensors").write_bytes(weights)
    try:
        with torch.no_grad():
            return GPT2.from_pretrained(folder)(torch.tensor([IDS]))[0].flatten()
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


def in_the_page(cases: list[Case]) -> list[dict[str, Any]]:
    """For each case {logits} or {error}, with the milliseconds and whether the old model lives."""
    encoded = [
        {
            "config": config.decode("utf-8", "replace"),
            "weights": base64.b64encode(weights).decode(),
        }
        for config, weights in [checkpoint(random.Random(0)), *(case[1:] for case in cases)]
    ]
    return ask("run_bad_files.mjs", {"cases": encoded, "ids": IDS}, timeout=600)


def is_plain(error: str) -> bool:
    """One short sentence of ours, not a program's words."""
    return 10 < len(error) < 400 and not RAW.search(error)


def problem(page: dict[str, Any], python: torch.Tensor | str) -> str:
    """In what the page fails, or differs from Python without a reason; "" if in nothing."""
    error = page.get("error")
    if error is None and isinstance(python, str):
        known = any(re.search(words, python) for words in LOOSER)
        return "" if known else f"the page loads it, Python says {python!r}"
    if error is None:
        assert isinstance(python, torch.Tensor)
        logits = torch.tensor([float("nan") if x is None else x for x in page["logits"]])
        finite = python.isfinite().all() and logits.isfinite().all()
        same = logits.shape == python.shape and (
            not finite or torch.allclose(logits, python, rtol=1e-3, atol=1e-3)
        )
        return "" if same else f"{page['logits'][:3]} are not {python[:3]}"
    if not page["kept"]:
        return "the model from before is not what it was"
    known = any(re.search(words, error) for words in STRICTER)
    if not is_plain(error) or not (known or isinstance(python, str)):
        return f"the page says {error!r}, Python {str(python)[:99]!r}"
    return ""


def problems(cases: list[Case], tally: Tally | None = None) -> Iterator[str]:
    """What is wrong with what the page makes of these cases."""
    with tempfile.TemporaryDirectory() as name:
        for case, page in zip(cases, in_the_page(cases), strict=True):
            wrong = problem(page, in_python(case, Path(name)))
            if tally:
                right = "clear" if "error" in page else "right"
                slow = page["milliseconds"] > 1000
                tally.count("wrong" if wrong else "hung" if slow else right, f"{case[0]}: {wrong}")
            if wrong:
                yield f"{case[0]}: {wrong}"


def fuzz(tries: int, seed: int = 0) -> Tally:
    """So many damaged checkpoints."""
    tally = Tally()
    torch.set_num_threads(1)
    first = seed * 1_000_000
    for at in range(first, first + tries, AT_A_TIME):
        seeds = range(at, min(at + AT_A_TIME, first + tries))
        list(problems([damaged(each) for each in seeds], tally))
    return tally
