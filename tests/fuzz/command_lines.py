"""Command lines drawn at random: a clear message, and no traceback."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import fields
from importlib import import_module
from io import StringIO
from pathlib import Path
from unittest import mock

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.cli import COMMANDS, main
from tests.fuzz.tally import Tally
from tests.training.small_run import write_shards

VALUES = (
    "", "-", "0", "1", "-1", "3", "7", "1e9", "nan", "inf", "9" * 25, "0.5", "x", "auto", "cpu",
    "cuda:7", "gpt2", "crane", "model", "shards", "run", "text.txt", "rows.jsonl", "nothing", ".",
    "..", "/", "/dev/null", "/proc/x", "folder", "new", "\x1b[31m", "ü\u202e", "a b", "--",
    "crane:3", "dataset:x", "[1]", "0 1 2", "a/" * 2500,
)  # fmt: skip
SMALL = {  # so that what works is over soon
    "train": "--steps 2 --n-layer 1 --n-head 1 --n-embd 6 --block-size 5 --warmup-steps 0 "
    "--batch-size 2 --device cpu --eval-every 0 --sample-every 0 --quiet",
    "generate": "--model model --tokenizer crane --max-new-tokens 3 --device cpu",
    "prepare": "--tokenizer crane --workers 1",
    "score": "--model model --tokenizer crane --device cpu",
    "inspect": "",
    "export": "",
    "tokenize": "--tokenizer crane",
}


def draw_words(draw: random.Random, name: str) -> list[str]:
    """A command with some of its options, with values of all kinds."""
    import_module(f"gpt2_edu.cli.{name}")
    command, words = COMMANDS[name], SMALL[name].split()
    known = [field for field in fields(command.options) if field.name != "compile"]  # minutes
    for field in draw.sample(known, draw.randrange(1, min(5, len(known) + 1))):
        option = "--" + field.name.replace("_", "-")
        if field.name == command.positional:
            words += draw.sample(VALUES, draw.randrange(1, 3))
        elif draw.random() < 0.2:
            words.append(draw.choice((option, option.replace("--", "--no-"))))
        else:
            words += [option, draw.choice(VALUES)]
    if command.positional and draw.random() < 0.7:
        words.insert(0, draw.choice(VALUES))
    return [name, *words]


def fill(folder: Path) -> None:
    """What the arguments name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = GPT2Config(vocab_size=1024, block_size=7, n_layer=1, n_head=1, n_embd=6)
    GPT2(config).save_pretrained(folder / "model")
    write_shards(folder / "shards", train=90, val=30)
    (folder / "text.txt").write_text("A crane ate fish. " * 9)
    (folder / "rows.jsonl").write_text('{"text": "A crane."}\n{"text": 1}\n')
    (folder / "folder").mkdir()
    (folder / "folder/diary.txt").write_text("the user's")


def run(words: list[str]) -> None:
    """Raises ValueError for a clear message, AssertionError for one that is not."""
    said = StringIO()
    stdin = mock.patch("sys.stdin", StringIO("A crane"))
    with redirect_stdout(StringIO()), redirect_stderr(said), stdin:
        try:
            main(words)
            return
        except SystemExit as stop:
            status = stop.code
    message = said.getvalue()
    assert status in (0, 1, 2, 130), status
    assert "Traceback" not in message and "This is a bug" not in message, ascii(message)
    assert status != 1 or len(message) < 3000, ascii(message)
    assert all(c.isprintable() or c in "\n\r\t" for c in message), ascii(message)
    if status:
        raise ValueError("told")


def fuzz(tries: int, seed: int = 0) -> Tally:
    """So many command lines, of each command as many."""
    tally = Tally()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        for i in range(tries):
            if i % 50 == 0:
                fill(folder)
            words = draw_words(random.Random(f"{seed} {i}"), list(SMALL)[i % len(SMALL)])
            with chdir(folder):
                tally.trial(f"{i}: gpt2-edu {words!a}", lambda words=words: run(words))
            if not (folder / "folder/diary.txt").is_file():
                tally.count("wrong", f"{i}: a file of the user's is gone: {words}")
    return tally
