"""Hostile checkpoints: what the page makes of each must be what Python makes of it.

    python -m tests.campaigns.bad_files --cases 30000

Small checkpoints are damaged in every way that we could think of, by a seed. The page must load the
model that Python loads from the same bytes, or refuse it in one plain sentence within a second, and
a model that it held before must go on as it was. Where the two differ on purpose, STRICTER and
LOOSER say why. A difference that is neither stops the campaign with its case.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import math
import random
import re
import struct
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.weights import config_to_hugging_face, to_hugging_face
from tests.node import ask

SIZES = GPT2Config(vocab_size=11, block_size=5, n_layer=2, n_head=3, n_embd=6)
IDS = [3, 1, 4, 1]
SLOWEST = 1000  # milliseconds

# What the page refuses and Python loads, by the page's words.
STRICTER = {
    r" holds -?(NaN|Infinity) at place": "weights that are not finite give no text",
    r" is there with and without ": "Python takes one of two tensors of the same name",
    r" has the type F(64|8_E\w+), not ": "a GPT-2 in float64 or float8 is not worth the code",
    r" has the unknown type ": "types that no buffer of a GPT-2 has",
    r"GPT-2 has (true|false)": "Python takes 1 for true",
    r"layer_norm_epsilon must lie between 0 and 1": "Python takes any above 0",
    r"config.json is not JSON": "Python reads NaN and Infinity, which JSON has not",
    r" is described wrongly": "Python takes a list for an object, and any number of axes",
}
# What Python refuses and the page loads, by Python's words.
LOOSER = {
    r"(embd|attn|resid)_pdrop (is a probability|must be)": "dropout is for training",
    r"initializer_range must be": "so is the initializer",
    r"must be an int, got \d+\.0": "JavaScript reads 6.0 as 6",
    r"floating point|number out of range": "and so in the header",
    r"duplicate field": "JSON.parse takes the last",
    r"expected a string|expected a map": "metadata are not read",
    r"hex escape": "half a character in a name that is not read",
    r"recursion (limit|depth) exceeded": "depth is no harm to JSON.parse",
    r"codec can't decode": "a browser reads bytes that are no UTF-8 as \ufffd",
}

Case = tuple[str, bytes, bytes]  # what was done, config.json, model.safetensors


def checkpoint(seed: int) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """A config and tensors in one of Hugging Face's forms: three types, two prefixes, old files."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    model = GPT2(SIZES)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    dtype = (torch.float32, torch.float16, torch.bfloat16)[seed % 3]
    tensors = {k: v.detach().to(dtype) for k, v in to_hugging_face(model.state_dict()).items()}
    if draw.random() < 0.5:
        tensors = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    prefix = "" if "wte.weight" in tensors else "transformer."
    if draw.random() < 0.5:
        tensors["lm_head.weight"] = tensors[f"{prefix}wte.weight"].clone()
    if draw.random() < 0.5:
        for n in range(SIZES.n_layer):
            tensors[f"{prefix}h.{n}.attn.bias"] = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
            tensors[f"{prefix}h.{n}.attn.masked_bias"] = torch.tensor(-1e4)
    return config_to_hugging_face(SIZES), tensors


# ---- Values that nobody expects ------------------------------------------------------------------


class Raw(str):
    """JSON that json.dumps would not write."""


def dumps(value: object) -> bytes:
    """JSON with every Raw as it is."""
    found: list[str] = []

    def mark(part: Any) -> Any:
        if isinstance(part, Raw):
            found.append(part)
            return f"@raw{len(found) - 1}@"
        if isinstance(part, dict):
            return {key: mark(inner) for key, inner in part.items()}
        return [mark(inner) for inner in part] if isinstance(part, list) else part

    text = json.dumps(mark(value), ensure_ascii=False)
    return re.sub(r'"@raw(\d+)@"', lambda m: found[int(m[1])], text).encode("utf-8", "replace")


DEEP = Raw("[" * 5000 + "]" * 5000)
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 5, 6, 7, 11, 12, 1.5, 6.0, 1e-5, 1e300, -0.0),
    *(2**31, 2**32, 2**53, 2**63, 2**64, 10**30, -(2**31), 1000, 4096, 2**24, 2**24 + 1),
    *("", "6", "gpt2", "llama", "F32", "nan", "x" * 5000, "\n\t\x00", "é\u202e😀", "__proto__"),
    *([], [[]], [6], [1, 2, 3], [0] * 5000, {}, {"a": 1}, {"__proto__": {"length": 2}}),
    *map(Raw, ("NaN", "Infinity", "-Infinity", "1e400", "-0", "6.0", "1e1", "0e0", '"\\ud800"')),
    DEEP,
]
FILES: list[bytes] = [
    b"",
    b"\0",
    bytes(8),
    bytes(5000),
    b"\xff" * 5000,
    b"<!DOCTYPE html><html><head><title>404</title></head><body>Not found</body></html>",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 548105171\n",
    b"[1, 2, 3]",
    b'"gpt2"',
    b"null",
    b"{}",
    b'{"a":' * 100000,
    b"[" * 100000,
]


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("model.safetensors", bytes(300))
    return buffer.getvalue()


def pickled() -> bytes:
    buffer = io.BytesIO()
    torch.save({"wte.weight": torch.ones(3)}, buffer)
    return buffer.getvalue()


FILES += [archive(), pickled()]


# ---- Ways to damage a checkpoint -----------------------------------------------------------------


def flip(draw: random.Random, data: bytes, first: int, last: int) -> bytes:
    """A few bytes are others."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        changed[draw.randrange(first, last)] = draw.choice((0, 255, draw.randrange(256)))
    return bytes(changed)


def pack(header: bytes, data: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def damage_header(draw: random.Random, header: dict[str, Any], size: int) -> str:
    """Something in the list of tensors is not true; says what."""
    names = [name for name in header if name != "__metadata__"]
    name, other = draw.choice(names), draw.choice(names)
    entry = header[name]
    start, end = entry["data_offsets"]
    way = draw.randrange(16)
    if way == 0:
        entry["data_offsets"] = [draw.choice([*ODD, start, end]), draw.choice([*ODD, start, end])]
    elif way == 1:
        entry["data_offsets"] = draw.choice([*ODD, [end, start], [start], [start, end, end]])
    elif way == 2:
        by = draw.choice((-4, -2, -1, 1, 2, 4, size))
        entry["data_offsets"] = [start + by, end + by]
    elif way == 3:
        entry["data_offsets"] = header[other]["data_offsets"]
    elif way == 4:
        entry["shape"] = draw.choice(ODD)
    elif way == 5:
        entry["shape"] = draw.sample(entry["shape"], len(entry["shape"]))
    elif way == 6:
        extra = draw.choice([1, 0, -1, 2, 2**40, Raw("1.0"), "1", None])
        entry["shape"] = [*entry["shape"], extra] if draw.random() < 0.5 else [extra]
    elif way == 7:
        types = "BOOL U8 I8 F8_E5M2 F8_E4M3 F4 I16 U16 F16 BF16 I32 U32 F32 C64 F64 I64 U64 f32"
        entry["dtype"] = draw.choice([*types.split(), *ODD])
        if draw.random() < 0.5 and isinstance(entry["dtype"], str):
            bits = re.search(r"8|16|32|64", entry["dtype"])
            entry["shape"] = [(end - start) * 8 // int(bits[0])] if bits else entry["shape"]
    elif way == 8:
        del entry[draw.choice(list(entry))]
    elif way == 9:
        entry[draw.choice(["x", "dtype ", "__proto__", "constructor"])] = draw.choice(ODD)
    elif way == 10:
        header[name] = draw.choice([*ODD, list(entry.values())])
    elif way == 11:
        del header[name]
    elif way == 12:
        new = draw.choice(
            [f"transformer.{name}", name.removeprefix("transformer."), name.upper(), name + " "]
            + [other, "", "__proto__", "constructor", "toString", "x" * 5000, "a.attn.bias", "\n"]
            + ["lm_head.weight", "transformer.lm_head.weight", "lm_head.bias", "h.9.ln_1.weight"]
        )
        header[new] = header.pop(name)
    elif way == 13:
        header["__metadata__"] = draw.choice([*ODD, {"format": draw.choice(ODD)}])
    elif way == 14:
        header[draw.choice(["h.0.attn.bias", "extra", "__proto__"])] = {
            "dtype": draw.choice(["F32", "U8", "XX"]),
            "shape": draw.choice([[0], [0, 2**40], [], [2**30, 2**30]]),
            "data_offsets": [size, size],
        }
    else:
        header[name], header[other] = header[other], header[name]
    return f"header {way}, {name}"


def damage_config(draw: random.Random, config: dict[str, Any]) -> str:
    """A setting is not true; says which."""
    keys = [*config, "n_inner", "tie_word_embeddings", "scale_attn_weights", "n_ctx", "torch_dtype"]
    keys += ["scale_attn_by_inverse_layer_idx", "add_cross_attention", "reorder_and_upcast_attn"]
    key = draw.choice([*keys, *("vocab_size", "n_positions", "n_embd", "n_head", "n_layer") * 2])
    if draw.random() < 0.15:
        config.pop(key, None)
        return f"config without {key}"
    config[key] = draw.choice([*ODD, 4 * SIZES.n_embd, 4.0 * SIZES.n_embd])
    return f"config {key}"


def damage_numbers(draw: random.Random, tensors: dict[str, torch.Tensor]) -> str:
    """Tensors are missing, doubled, other ones, or hold what is no number."""
    name = draw.choice(list(tensors))
    way = draw.randrange(6)
    if way == 0:
        value = tensors[name].flatten()
        if value.is_floating_point():
            bad = draw.choice((float("nan"), float("inf"), -float("inf"), 1e-40, -0.0))
            value[draw.randrange(value.numel())] = bad
    elif way == 1:
        del tensors[name]
    elif way == 2:
        twin = (
            name.removeprefix("transformer.") if "transformer." in name else f"transformer.{name}"
        )
        tensors[twin] = tensors[name].clone()
    elif way == 3:
        wte = tensors.get("wte.weight", tensors.get("transformer.wte.weight"))
        assert wte is not None
        head = wte.to(draw.choice((torch.float32, torch.float16, torch.bfloat16))).clone()
        if draw.random() < 0.5:
            head[draw.randrange(11), draw.randrange(6)] += draw.choice((0.0, 1e-3, 1.0))
        tensors["lm_head.weight"] = head if draw.random() < 0.8 else head[:, :5].contiguous()
    elif way == 4:
        types = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64)
        tensors[name] = tensors[name].to(draw.choice(types))
    else:
        tensors[f"h.{draw.randrange(4)}.attn.bias"] = torch.ones(2)
    return f"numbers {way}, {name}"


def damaged(seed: int) -> Case:
    """One checkpoint, damaged in one way or in several."""
    draw = random.Random(seed)
    settings, tensors = checkpoint(seed)
    done = []
    if draw.random() < 0.25:
        done.append(damage_numbers(draw, tensors))
    weights = save(tensors, {"format": "pt"})
    length = struct.unpack("<Q", weights[:8])[0]
    if draw.random() < 0.35:
        header = json.loads(weights[8 : 8 + length])
        data = weights[8 + length :]
        done.append(damage_header(draw, header, len(data)))
        text = dumps(header)
        if draw.random() < 0.1:
            text = draw.choice([b" " + text, text + b"  ", b"\xef\xbb\xbf" + text, text * 2])
        weights = pack(text, data)
    if draw.random() < 0.25:
        done.append(damage_config(draw, settings))
    config = dumps(settings)
    way = draw.randrange(30) if done else draw.randrange(8)
    size = len(weights)
    if way in (0, 1):
        weights, what = flip(draw, weights, 0, min(8 + length, size)), "header flipped"
    elif way == 2:
        weights, what = flip(draw, weights, 0, size), "file flipped"
    elif way == 3:
        weights, what = weights[: draw.randrange(size)], "cut off"
    elif way == 4:
        what = "longer, or without its beginning"
        longer = weights + draw.choice((bytes(1), bytes(64), weights))
        weights = draw.choice((longer, weights[draw.randrange(1, 40) :]))
    elif way == 5:
        lies = (0, 1, 2, 7, size - 8, size, size + 1, length - 1, length + 1, 2**31, 2**32)
        lie = draw.choice((*lies, 2**32 + length, 2**53, 2**63, 2**64 - 1, 99_999_999))
        weights, what = struct.pack("<Q", lie) + weights[8:], f"header of {lie}"
    elif way == 6:
        config = draw.choice((flip(draw, config, 0, len(config)), config[: draw.randrange(300)]))
        what = "config flipped or cut off"
    elif way == 7:
        if draw.random() < 0.5:
            weights, what = draw.choice(FILES), "other file"
        else:
            config, what = draw.choice([*FILES, *map(dumps, ODD)]), "other config"
    else:
        what = ""
    return "; ".join([*done, what]), config, weights


# ---- What Python and the page make of it ---------------------------------------------------------


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
        model = GPT2.from_pretrained(folder)
        with torch.no_grad():
            return model(torch.tensor([IDS]))[0].flatten()
    except (ValueError, TypeError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


def in_the_page(cases: list[Case]) -> list[dict[str, Any]]:
    """For each case {logits} or {error}, with the milliseconds and whether the old model lives."""
    settings, tensors = checkpoint(0)
    files = [(dumps(settings), save(tensors)), *((config, weights) for _, config, weights in cases)]
    encoded = [
        {
            "config": config.decode("utf-8", "replace"),
            "weights": base64.b64encode(weights).decode(),
        }
        for config, weights in files
    ]
    return ask("run_bad_files.mjs", {"cases": encoded, "ids": IDS}, timeout=600)


RAW = re.compile(
    r"undefined|\[object|\bnull\b.*propert|Cannot |Invalid |not iterable|\n| at \w+ \(|"
    r"not a function|allocation|call stack|JSON\.parse|Unexpected|out of (range|bounds)"
)


def is_plain(error: str) -> bool:
    """One short sentence of ours, not a program's words."""
    return 10 < len(error) < 400 and not RAW.search(error)


def problems(
    cases: list[Case], tally: Counter[str] | None = None, slowest: float = math.inf
) -> Iterator[str]:
    """Everything in which the page fails or differs from Python without a reason."""
    with tempfile.TemporaryDirectory() as name:
        for case, page in zip(cases, in_the_page(cases), strict=True):
            python, error = in_python(case, Path(name)), page.get("error")
            counted = "loaded" if error is None else "refused"
            if page["milliseconds"] > slowest:
                yield f"{case[0]}: took {page['milliseconds']} ms"
            if error is not None and not is_plain(error):
                yield f"{case[0]}: {error!r} is no plain sentence"
            if error is not None and not page["kept"]:
                yield f"{case[0]}: the model from before is not what it was"
            if error is None and isinstance(python, str):
                reason = next((r for words, r in LOOSER.items() if re.search(words, python)), None)
                counted = f"looser: {reason}"
                if reason is None:
                    yield f"{case[0]}: the page loads it, Python says {python!r}"
            elif error is not None and isinstance(python, torch.Tensor):
                reason = next((r for words, r in STRICTER.items() if re.search(words, error)), None)
                counted = f"stricter: {reason}"
                if reason is None:
                    yield f"{case[0]}: Python loads it, the page says {error!r}"
            elif error is None and not same(page["logits"], python):
                yield f"{case[0]}: {page['logits'][:3]} are not {python[:3]}"
            if tally is not None:
                tally[counted] += 1


def same(logits: list[float | None], python: torch.Tensor | str) -> bool:
    """Whether the numbers agree; where they overflow, nothing is asked of them."""
    assert isinstance(python, torch.Tensor)
    page = torch.tensor([float("nan") if value is None else value for value in logits])
    if page.shape != python.shape or not python.isfinite().all() or not page.isfinite().all():
        return page.shape == python.shape
    return bool((page - python).abs().max() <= 1e-3 * max(1.0, float(python.abs().max())))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=30_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tally: Counter[str] = Counter()
    wrong = 0
    for first in range(args.first, args.first + args.cases, 1000):
        seeds = range(first, min(first + 1000, args.first + args.cases))
        for problem in problems([damaged(seed) for seed in seeds], tally, SLOWEST):
            print(problem)
            wrong += 1
        print(f"{seeds[-1] + 1 - args.first:,} damaged checkpoints, {wrong} problems", flush=True)
    for what, count in tally.most_common():
        print(f"{count:7,} {what}")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
