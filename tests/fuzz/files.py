"""Every kind of file that the package reads, damaged.

Each must give a clear error, or not matter. Where a checksum stands beside it, nothing but the
right content may come of it. No file is read for more than seconds, nor takes much memory.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import torch

import gpt2_edu.tokenizer
from gpt2_edu import GPT2, GPT2Config, load_tokenizer
from gpt2_edu.checkpoints import checkpoints, damage, read_state, weights_folder
from gpt2_edu.crane.grammar import Grammar
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.exercises import record
from gpt2_edu.models import load_model_tokenizer
from gpt2_edu.tokenizer import make_encoding
from gpt2_edu.trainer import Trainer
from gpt2_edu.training.config import read_train_config
from gpt2_edu.training.run_log import cut_log, read_log
from gpt2_edu.tuning import (
    Conversations,
    LoraConfig,
    add_lora,
    load_adapter,
    merge,
    save_adapter,
)
from gpt2_edu.tuning.messages import role_encoding
from gpt2_edu.web import save_for_page
from tests.fuzz.mutate import damaged
from tests.fuzz.tally import Tally
from tests.training.small_run import small_config, write_shards

Kind = tuple[Path, Callable[[], Any], bool]  # a file, what reads it, whether it has a checksum


def kinds(place: Path) -> list[Kind]:
    """One file of each kind, intact."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT2(GPT2Config(vocab_size=23, block_size=5, n_layer=1, n_head=1, n_embd=6))
    model.save_pretrained(place / "model")
    page = place / "page.safetensors"
    bytes_alone = make_encoding("bytes", {bytes([b]): b for b in range(256)})
    save_for_page(GPT2(replace(model.config, vocab_size=257)), bytes_alone, page)
    data, run = write_shards(place / "shards", train=400, val=60), place / "run"
    settings = {"n_layer": 1, "n_head": 1, "n_embd": 6, "steps": 2, "save_every": 1}
    settings |= {"sample_every": 0, "eval_every": 0, "warmup_steps": 1}
    Trainer(small_config(data, run, **settings)).train()
    newest = checkpoints(run)[-1]
    notes = place / "progress"
    notes.mkdir()
    with chdir(notes), redirect_stdout(StringIO()):
        record.mark_passed("gelu", None)
    texts = place / "a.jsonl"
    texts.write_text("\n".join(json.dumps({"text": f"Story {i}. A crane."}) for i in range(9)))
    chat, crane = place / "chat.jsonl", role_encoding(load_tokenizer("crane"))
    turns = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ivo"}]
    chat.write_text(9 * (json.dumps({"messages": turns}) + "\n"))
    adapter = place / "adapter"
    save_adapter(add_lora(copy.deepcopy(model), LoraConfig(train_tables=True)), adapter)
    package = Path(gpt2_edu.tokenizer.__file__).parent
    ranks = place / "gpt2_edu/assets/crane/crane.tiktoken"
    ranks.parent.mkdir(parents=True)
    shutil.copy(package / "assets/crane/crane.tiktoken", ranks)
    grammar = Path(shutil.copy(package / "crane/grammar.md", place / "grammar.md"))

    def loaded() -> Any:
        return GPT2.from_pretrained(place / "model")(torch.tensor([[1, 2, 3]]))[0].shape[-1]

    def adapted() -> Any:
        tuned, before = copy.deepcopy(model), model.state_dict().keys()
        try:
            load_adapter(tuned, adapter)
        except Exception:
            assert tuned.state_dict().keys() == before
            raise
        return merge(tuned)(torch.tensor([[1, 2, 3]]))[0].shape[-1]

    def in_one_file() -> Any:
        model = GPT2.from_pretrained(page)
        load_model_tokenizer(page, model).encode_ordinary("A crane ate fish.")
        return model(torch.tensor([[1, 2, 3]]))[0].shape[-1]

    def checkpoint() -> Any:
        folder = weights_folder(newest)
        return read_state(folder)["step"], damage(newest)

    def log() -> None:
        copied = Path(shutil.copy(run / "log.jsonl", place / "log-copy.jsonl"))
        cut_log(copied, 1)
        read_log(copied)
        for aside in place.glob("log-copy-damaged-*"):
            aside.unlink()

    def progress() -> None:
        with chdir(notes), redirect_stdout(StringIO()):
            repr(record.progress())
            record.sources()
            record.mark_passed("head_size", None)
        for aside in notes.glob("progress-damaged-*"):
            aside.unlink()

    def tokenizer() -> Any:
        gpt2_edu.tokenizer._shipped.cache_clear()
        try:
            with mock.patch.object(gpt2_edu.tokenizer, "files", lambda package: place / package):
                return load_tokenizer("crane").encode_ordinary("A crane ate fish.")
        finally:
            gpt2_edu.tokenizer._shipped.cache_clear()

    def prepared() -> None:
        out = place / "prepared"
        shutil.rmtree(out, ignore_errors=True)
        prepare(PrepareConfig(sources=(str(texts),), out=str(out), tokenizer="crane"))

    return [
        (place / "model/config.json", loaded, False),
        (place / "model/model.safetensors", loaded, False),
        (adapter / "adapter_config.json", adapted, False),
        (adapter / "adapter_model.safetensors", adapted, False),
        (chat, lambda: Conversations(chat, crane, 20).fingerprint and None, False),
        (page, in_one_file, False),
        (newest / "model.safetensors", checkpoint, True),
        (newest / "optimizer.safetensors", checkpoint, True),
        (newest / "state.json", checkpoint, True),
        (run / "run.json", lambda: read_train_config(run) and None, False),
        (run / "log.jsonl", log, False),
        (data / "train-00000.bin", lambda: TokenShards(data).read(0, 400).tolist(), True),
        (data / "header.json", lambda: TokenShards(data).read(0, 400).tolist(), False),
        (notes / record.FILE, progress, False),
        (ranks, tokenizer, True),
        (texts, prepared, False),
        (grammar, lambda: Grammar(grammar.read_text("utf-8")).starts and None, False),
    ]


def fuzz(tries: int, seed: int = 0) -> Tally:
    """So many damaged files, of each kind as many."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        with redirect_stdout(StringIO()):
            known = kinds(Path(name))
        originals = [(file.read_bytes(), use()) for file, use, _ in known]
        for i in range(tries):
            file, use, checked = known[i % len(known)]
            content, right = originals[i % len(known)]
            harmed = damaged(random.Random(f"{seed} {i}"), content)
            file.write_bytes(harmed)
            what = f"{i}: {file.relative_to(name)}"
            tally.trial(what, use, right if checked or harmed == content else None)
            file.write_bytes(content)
    return tally
