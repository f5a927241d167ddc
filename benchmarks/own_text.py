"""A model of one's own text, with no setting named: its sizes, its minutes and its loss.

0.1 and 1 MB of Python's own documentation are prepared and trained on as ``gpt2-edu prepare`` and
``gpt2-edu train`` do it. The loss stands beside that of a 5-gram model with Kneser-Ney smoothing on
the same tokens. Minutes are at the speed of the fastest tenth of the steps: the machine may be busy
with other things. For 10 and 100 MB they are worked out from a few steps, and the number of tokens
is extrapolated as well. A T4 is on paper: the longest of the three limits of chapter 18, at the
rates of its data sheet.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import math
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks.common import Report, Row, parser
from gpt2_edu import flops
from gpt2_edu.bpe import train_bpe
from gpt2_edu.config import GPT2Config
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.data.shards import Header, Shard
from gpt2_edu.labs.cost import limits
from gpt2_edu.machine.data_sheets import find_device
from gpt2_edu.machine.device import pick_precision
from gpt2_edu.machine.measure import fastest
from gpt2_edu.tokenizer import make_encoding
from gpt2_edu.trainer import TrainConfig, Trainer
from gpt2_edu.training.config import LOG
from gpt2_edu.training.proposal import settings_for, training_rate, training_step
from gpt2_edu.training.run_log import read_log

TABLE = Path(__file__).resolve().parents[1] / "gpt2_edu" / "assets" / "own_text.json"
UNSTABLE = {"antigravity", "this", "idlelib", "turtle", "tkinter"}  # open a window, or print


def python_text() -> str:
    """1.3 MB: the reference of the language, then the docstrings of the standard library.

    A paragraph that occurs again is left out, or validation would be on what was trained on.
    """
    docs = [topics[name] for name in sorted(topics)]
    for name in sorted(sys.stdlib_module_names - UNSTABLE):
        if name.startswith("_"):
            continue
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with contextlib.suppress(Exception, SystemExit):
                found = documented(name, importlib.import_module(name))
                docs += [f"{path}\n\n{inspect.getdoc(thing) or ''}" for path, thing in found]
    paragraphs = dict.fromkeys(part.strip() for doc in docs for part in doc.split("\n\n"))
    return "\n\n".join(paragraph for paragraph in paragraphs if len(paragraph) > 80)


def documented(name: str, module: Any) -> list[tuple[str, Any]]:
    """A module, what it defines, and the methods of its classes."""
    found = [(name, module)]
    for key, thing in sorted(vars(module).items()):
        if inspect.isclass(thing) or inspect.isroutine(thing):
            found.append((f"{name}.{key}", thing))
        if inspect.isclass(thing):
            methods = sorted(vars(thing).items())
            found += [(f"{key}.{k}", one) for k, one in methods if inspect.isroutine(one)]
    return found


def ngram_loss(train: Sequence[int], held: Sequence[int], vocab_size: int, n: int = 5) -> float:
    """Nats per token of an n-gram model, interpolated, with Kneser-Ney smoothing.

    The counts of the shorter grams are of what precedes them: how many different tokens. Source:
    Chen and Goodman 1999, "An Empirical Study of Smoothing Techniques for Language Modeling".
    """
    counts = [Counter(zip(*(train[i:] for i in range(n)), strict=False))]
    for _ in range(n - 1):
        counts.insert(0, Counter(gram[1:] for gram in counts[0]))
    totals: list[Counter[tuple[int, ...]]] = []
    kinds: list[Counter[tuple[int, ...]]] = []
    discounts = []
    for grams in counts:
        total, kind = defaultdict(int), Counter(gram[:-1] for gram in grams)
        for gram, count in grams.items():
            total[gram[:-1]] += count
        totals.append(Counter(total))
        kinds.append(kind)
        once, twice = (sum(count == k for count in grams.values()) for k in (1, 2))
        discounts.append(once / (once + 2 * twice) if once else 0.5)

    def probability(gram: tuple[int, ...]) -> float:
        if not gram:
            return 1 / vocab_size
        k, lower = len(gram) - 1, probability(gram[1:])
        if not (total := totals[k][gram[:-1]]):
            return lower
        kept = max(counts[k][gram] - discounts[k], 0)
        return (kept + discounts[k] * kinds[k][gram[:-1]] * lower) / total

    grams = (tuple(held[max(i - n + 1, 0) : i + 1]) for i in range(1, len(held)))
    return -sum(math.log(probability(gram)) for gram in grams) / (len(held) - 1)


def measured(
    text: str, place: Path, budget: float
) -> tuple[dict[str, Any], Header, dict[str, Any]]:
    """Prepare a text and train on it. Returns what was found, the header and the settings."""
    place.mkdir()
    (place / "text.txt").write_text(text, encoding="utf-8")
    data, run = str(place / "data"), str(place / "run")
    header = prepare(PrepareConfig(sources=(str(place / "text.txt"),), out=data))
    settings = settings_for(header, budget)
    trainer = Trainer(TrainConfig(data=data, out=run, device="cpu", quiet=True, **settings))
    done = trainer.train()
    if not done.finished:
        raise SystemExit("stopped before a run was finished: nothing is written")
    train, val = (TokenShards(data, split) for split in ("train", "val"))
    ids = [shards.read(0, len(shards)).tolist() for shards in (train, val)]
    T = settings["block_size"]
    seen = (len(val) - 1) // T * T + 1  # what the windows of validation have
    rates = sorted(row["tokens_per_second"] for row in read_log(Path(run) / LOG)[1:])
    tokens_per_byte = sum(map(len, ids)) / len(text.encode())
    found = {
        "loss": done.best_val_loss,
        "5-gram": ngram_loss(ids[0], ids[1][:seen], header.vocab_size),
        "bits per byte": done.best_val_loss * tokens_per_byte / math.log(2),
        "seconds a step": settings["batch_size"] * T / rates[-max(len(rates) // 10, 1)],
        "seconds in all": done.seconds,
    }
    return found, header, settings


def imagined(text: str, size: int) -> Header:
    """The header of a text of this size, with as many bytes to a token as this text would have."""
    vocab_size = round(2 * size**0.5)
    ranks = train_bpe([text], vocab_size, or_fewer=True)
    encoded = make_encoding("imagined", ranks).encode_ordinary(text)
    tokens = round(size * len(encoded) / len(text.encode()))
    held = tokens // 20
    shards = (
        Shard("train-00000.bin", "train", tokens - held, ""),
        Shard("val-00000.bin", "val", held, ""),
    )
    return Header("imagined", "", vocab_size, "uint16", 1, shards, {})


def described(header: Header, settings: dict[str, Any], size: int) -> dict[str, Any]:
    """A text's row in the table, without what is measured."""
    names = ("n_layer", "n_head", "n_embd", "block_size")
    p = settings["dropout"]
    sizes = GPT2Config(vocab_size=header.vocab_size, **{name: settings[name] for name in names})
    B, T, steps = settings["batch_size"], settings["block_size"], settings["steps"]
    work = B * T * flops.flops_per_token(sizes, T)
    t4 = find_device("T4")
    assert t4 is not None
    plain = replace(sizes, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0)
    rates = t4.peak["float16"], t4.memory_bytes_per_second
    bound = max(limits(plain, "train", B, T, "float16", *rates).values()) / 1e3
    return {
        "bytes": size,
        "vocabulary": header.vocab_size,
        "tokens": header.tokens("train"),
        "parameters": flops.num_parameters(sizes),
        "sizes": replace(sizes, embd_pdrop=p, attn_pdrop=p, resid_pdrop=p).__dict__,
        "batch_size": B,
        "steps": steps,
        "passes": steps * B * T / header.tokens("train"),
        "FLOPs": steps * work,
        "minutes on a T4, on paper": steps * bound / 60,
    }


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu").parse_args(argv)
    device = torch.device("cpu")
    dtype = pick_precision("auto", device)
    whole, budget = python_text(), math.inf
    trained, stepped = (100_000, 1_000_000), (10_000_000, 100_000_000)
    if options.quick:
        trained, stepped, budget = (20_000, 40_000), (100_000,), 1e10
    rate = training_rate(device, dtype)
    report = Report("own_text", device, {"text": "Python's documentation"})
    report.rates["training, small model, FLOP/s"] = rate
    texts = []
    with tempfile.TemporaryDirectory() as name:
        for size in trained:
            text = whole.encode()[:size].decode(errors="ignore")
            found, header, settings = measured(text, Path(name) / str(size), budget)
            row = described(header, settings, size) | found
            row["minutes"] = row["steps"] * found["seconds a step"] / 60
            texts.append(row | {"minutes are": "measured"})
            for who, key in (("ours", "loss"), ("5-gram", "5-gram")):
                task, value = f"loss, {size / 1e6:g} MB", [found[key]]
                report.rows.append(Row(task, who, value, "nats/token", higher_is_better=False))
    for size in stepped:
        header = imagined(whole[: 100_000 if options.quick else None], size)
        row = described(header, settings_for(header, budget), size)
        step = training_step(GPT2Config(**row["sizes"]), row["batch_size"], device, dtype)
        row["seconds a step"] = fastest(step, device)
        row["minutes"] = row["steps"] * row["seconds a step"] / 60
        texts.append(row | {"minutes are": "extrapolated from measured steps"})
    if not options.quick:
        TABLE.write_text(json.dumps(texts, indent=1) + "\n", encoding="utf-8")
    report.extra["texts"] = texts
    report.finish(options.json)


if __name__ == "__main__":
    main()
