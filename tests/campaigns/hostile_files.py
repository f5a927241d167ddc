"""Every kind of file that the package reads, damaged by a seed in every way that we know.

Each must be told in a few plain words, or not matter. Where a checksum stands beside it, nothing
but the right content may come of it. No file is read for more than seconds, nor takes much memory.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import torch

import gpt2_edu.tokenizer
from gpt2_edu import GPT2, GPT2Config, load_tokenizer
from gpt2_edu.crane.grammar import Grammar
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.exercises import record
from gpt2_edu.trainer import Trainer
from gpt2_edu.training import checkpoint as ck
from gpt2_edu.training.config import read_train_config
from gpt2_edu.training.run_log import cut_log, read_log
from tests.campaigns.small_run import small_config, write_shards
from tests.campaigns.tally import Tally

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, 2**64, 10**30, 10**400, -0.5, 1e308, float("nan"),
    float("inf"), "", "x", "\x1b[31m", "\u202e", "\ud800", "../../../etc/passwd", "a" * 9999, [],
    [[]], [1] * 999, {}, {"": {}}, {"__class__": 1},
)  # fmt: skip
BYTES = (b"", b"\0", b"{}", b"[]", b"null", b"[" * 200_000, b"\xff\xfe", b"<html>", b"9" * 9999)


def damaged(draw: random.Random, content: bytes) -> bytes:
    """Other bytes than these."""
    way = draw.randrange(8)
    at = draw.randrange(len(content) + 1)
    if way == 0:  # one bit
        flipped = bytearray(content or b"\0")
        flipped[at % len(flipped)] ^= 1 << draw.randrange(8)
        return bytes(flipped)
    if way == 1:
        return content[:at]
    if way == 2:
        return content[at:]
    if way == 3:
        return content[:at] + draw.randbytes(draw.randrange(1, 40)) + content[at:]
    if way == 4:
        return content + draw.choice((b"\0", b"\n", content, b"\x1b[2J"))
    if way == 5:
        return draw.choice(BYTES)
    return edited(draw, content)


def edited(draw: random.Random, content: bytes) -> bytes:
    """JSON with one value, or one name, that does not belong there; of other files a part."""
    try:
        document = json.loads(content)
    except ValueError:
        lines = content.split(b"\n")
        lines[draw.randrange(len(lines))] = draw.choice((*BYTES, draw.choice(lines)))
        return b"\n".join(lines)
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    if isinstance(document, dict | list):
        walk(document)
    if places:
        table, key = draw.choice(places)
        if draw.random() < 0.15:
            del table[key]
        elif draw.random() < 0.15 and isinstance(table, dict):
            table[draw.choice(("", "\x1b[31m", "x" * 999, "__proto__"))] = draw.choice(ODD)
        else:
            table[key] = draw.choice(ODD)
    return json.dumps(document).encode("utf-8", "surrogatepass")


class Kind(NamedTuple):
    """A kind of file: where it is, what reads it, and whether it has a checksum."""

    file: Path
    use: Callable[[], Any]
    checked: bool


def kinds(place: Path) -> dict[str, Kind]:
    """One file of each kind, intact, and what uses it."""
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=23, block_size=5, n_layer=1, n_head=1, n_embd=6)
    torch.manual_seed(0)
    GPT2(config).save_pretrained(place / "model")
    data = write_shards(place / "shards", train=400, val=60)
    run = place / "run"
    settings = {"n_layer": 1, "n_head": 1, "n_embd": 6, "steps": 2, "save_every": 1}
    Trainer(
        small_config(data, run, sample_every=0, eval_every=0, warmup_steps=1, **settings)
    ).train()
    newest = ck.checkpoints(run)[-1]
    notes = place / "progress"
    notes.mkdir()
    entry = {"on": "2026-01-01T00:00:00+00:00", "source": "def gelu(x): ..."}
    kept = record.StoredProgress(
        {"gelu": entry}, {"q": {"on": "2026-01-01", "first": True, "right": True}}
    )
    (notes / record.FILE).write_text(record._to_json(kept))
    texts = place / "texts"
    texts.mkdir()
    rows = (json.dumps({"text": f"Story {i}. A crane."}) for i in range(9))
    (texts / "a.jsonl").write_text("\n".join(rows))
    assets = Path(gpt2_edu.tokenizer.__file__).parent / "assets"
    ranks = place / "gpt2_edu/assets/crane/crane.tiktoken"
    ranks.parent.mkdir(parents=True)
    shutil.copy(assets / "crane/crane.tiktoken", ranks)
    grammar = place / "grammar.md"
    shutil.copy(assets.parent / "crane/grammar.md", grammar)

    def whole_model() -> Any:
        model = GPT2.from_pretrained(place / "model")
        return model(torch.tensor([[1, 2, 3]]))[0].shape[-1]

    def of_checkpoint() -> Any:
        folder = ck.model_folder(str(newest))
        return ck.read_state(Path(folder))["step"], ck.damage(newest)

    def shards() -> Any:
        return TokenShards(data).read(0, 400).tolist()

    def log() -> Any:
        copy = place / "log-copy.jsonl"
        shutil.copy(run / "log.jsonl", copy)
        cut_log(copy, 1)
        read_log(copy)
        for aside in place.glob("log-copy-damaged-*"):
            aside.unlink()

    def progress() -> Any:
        before = Path.cwd()
        os.chdir(notes)
        try:
            with redirect_stdout(StringIO()):
                repr(record.progress())
                record.sources()
                record.mark_passed("head_size", None)
            for aside in notes.glob("progress-damaged-*"):
                aside.unlink()
        finally:
            os.chdir(before)

    def tokenizer() -> Any:
        load_tokenizer.cache_clear()
        real = gpt2_edu.tokenizer.files
        gpt2_edu.tokenizer.files = lambda package: place / package  # type: ignore[assignment]
        try:
            return load_tokenizer("crane").encode_ordinary("A crane ate fish.")
        finally:
            gpt2_edu.tokenizer.files = real
            load_tokenizer.cache_clear()

    def text() -> Any:
        out = place / "prepared"
        shutil.rmtree(out, ignore_errors=True)
        sources = (str(texts / "a.jsonl"),)
        return prepare(PrepareConfig(sources=sources, out=str(out), tokenizer="crane")).documents

    def language() -> Any:
        return sorted(Grammar(grammar.read_text("utf-8")).starts)

    weights = newest / "model.safetensors"
    return {
        "config of a model": Kind(place / "model/config.json", whole_model, False),
        "weights of a model": Kind(place / "model/model.safetensors", whole_model, False),
        "weights of a checkpoint": Kind(weights, of_checkpoint, True),
        "optimiser of a checkpoint": Kind(newest / "optimizer.safetensors", of_checkpoint, True),
        "state of a checkpoint": Kind(newest / "state.json", of_checkpoint, True),
        "settings of a run": Kind(run / "run.json", lambda: read_train_config(run) and None, False),
        "log of a run": Kind(run / "log.jsonl", log, False),
        "shard": Kind(data / "train-00000.bin", shards, True),
        "header of shards": Kind(data / "header.json", shards, False),
        "progress of exercises": Kind(notes / record.FILE, progress, False),
        "ranks of a tokenizer": Kind(ranks, tokenizer, True),
        "text in JSON lines": Kind(texts / "a.jsonl", text, False),
        "text of a grammar": Kind(grammar, language, False),
    }


def campaign(files: int, seed: int = 0) -> Tally:
    """So many damaged files, as many of each kind."""
    tally = Tally("damaged files")
    with tempfile.TemporaryDirectory() as name:
        with redirect_stdout(StringIO()):
            known = kinds(Path(name))
        intact = {kind: one.file.read_bytes() for kind, one in known.items()}
        right = {kind: one.use() for kind, one in known.items()}
        for i in range(files):
            kind = list(known)[i % len(known)]
            one, draw = known[kind], random.Random(f"{seed} {i}")
            content = damaged(draw, intact[kind])
            one.file.write_bytes(content)
            same = content == intact[kind]
            tally.trial(f"{kind}, {i}", one.use, right[kind] if one.checked or same else None)
            one.file.write_bytes(intact[kind])
    return tally
