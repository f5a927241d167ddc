"""The command line with arguments that a grammar of them makes: a sentence, and no traceback."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.cli import find_commands, main
from tests.campaigns.small_run import write_shards
from tests.campaigns.tally import Tally

VALUES = (
    "", "-", "0", "1", "-1", "3", "7", "1e9", "nan", "inf", "9" * 25, "0.5", "x", "auto", "cpu",
    "cuda:7", "gpt2", "crane", "model", "shards", "run", "text.txt", "rows.jsonl", "nothing", ".",
    "..", "/", "/dev/null", "folder", "new", "\x1b[31m", "ü\u202e", "a b", "--", "crane:3",
    "dataset:x", "[1]", "0 1 2",
)  # fmt: skip
STATUSES = {0, 1, 2, 130}
SMALL = {  # so that what works is over soon
    "train": "--steps 2 --n-layer 1 --n-head 1 --n-embd 6 --block-size 5 --warmup-steps 0 "
    "--batch-size 2 --device cpu --eval-every 0 --sample-every 0 --quiet",
    "bench": "--preset crane --rounds 1 --prompt 3 --new-tokens 2 --block-size 4 --device cpu",
    "generate": "--model model --tokenizer crane --max-new-tokens 3 --device cpu",
    "prepare": "--tokenizer crane --workers 1",
    "inspect": "",
    "export": "",
    "tokenize": "--tokenizer crane",
}


def arguments(draw: random.Random, name: str) -> list[str]:
    """A command with some of its options, in their order or not, with values of all kinds."""
    command = find_commands(name)[name]
    words = SMALL[name].split()
    known = [field for field in fields(command.options) if field.name != "compile"]  # minutes
    for field in draw.sample(known, draw.randrange(1, 5)):
        option = "--" + field.name.replace("_", "-")
        if field.name == command.positional:
            words += draw.sample(VALUES, draw.randrange(1, 3))
        elif draw.random() < 0.1:
            words.append(option)
        elif draw.random() < 0.1:
            words.append(option.replace("--", "--no-"))
        else:
            words += [option, draw.choice(VALUES)]
    if draw.random() < 0.05:
        words.append(draw.choice(VALUES))
    if command.positional and draw.random() < 0.7:
        words.insert(0, draw.choice(VALUES))
    return [name, *words]


def place(folder: Path) -> None:
    """What the arguments speak of."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = GPT2Config(vocab_size=1024, block_size=7, n_layer=1, n_head=1, n_embd=6)
    GPT2(config).save_pretrained(folder / "model")
    write_shards(folder / "shards", train=90, val=30)
    (folder / "text.txt").write_text("A crane ate fish. " * 9)
    (folder / "rows.jsonl").write_text('{"text": "A crane."}\n{"text": 1}\n')
    (folder / "folder").mkdir()
    (folder / "folder/diary.txt").write_text("the user's")


def run(words: list[str]) -> tuple[int, str]:
    """The exit status, and what was said."""
    said = StringIO()
    with (
        redirect_stdout(StringIO()),
        redirect_stderr(said),
        mock.patch("sys.stdin", StringIO("A crane")),
    ):
        try:
            main(words)
        except SystemExit as stop:
            return int(stop.code or 0), said.getvalue()
    return 0, said.getvalue()


def campaign(lines: int, seed: int = 0) -> Tally:
    tally = Tally("command lines", most=700e6)  # bench measures with large matrices
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        base = Path(name) / "place"
        for i in range(lines):
            if i % 50 == 0:
                place(base)
            draw = random.Random(f"{seed} {i}")
            words = arguments(draw, list(SMALL)[i % len(SMALL)])
            with chdir(base):
                tally.trial(f"{i}: gpt2-edu {words!a}", lambda words=words: one(words))
            if not (base / "folder/diary.txt").is_file():
                tally.note("wrong", f"{i}: a file of the user's is gone: {words}")
    return tally


def one(words: list[str]) -> None:
    """Run it. What is said to a user must be short, plain and without a traceback."""
    status, said = run(words)
    problems: Iterator[Any] = filter(
        None,
        [
            status not in STATUSES and f"exit status {status}",
            "Traceback" in said and "a traceback",
            "This is a bug" in said and "an error that nobody foresaw",
            status == 1 and len(said) > 3000 and "a long message",
            not all(c.isprintable() or c in "\n\r\t\x1b" for c in said) and "signs of a terminal",
            "\x1b[31m" in said and "colours of another",
        ],
    )
    if found := list(problems):
        raise AssertionError(f"{found}: {ascii(said)[-300:]}")
    if status:
        raise ValueError("told")
