"""Two processes at once, wherever the package writes: one of them, or both, and nothing between."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.data import TokenShards
from gpt2_edu.data.prepare import PrepareConfig, prepare
from gpt2_edu.exercises.record import FILE
from tests.campaigns.small_run import result, small_config, write_shards
from tests.campaigns.tally import Tally

TRAIN = """
from gpt2_edu.trainer import Trainer
from tests.campaigns.small_run import small_config
Trainer(small_config(*sys.argv[2:4], quiet=True)).train()
"""
PREPARE = """
from gpt2_edu.data.prepare import PrepareConfig, prepare
prepare(PrepareConfig(sources=(sys.argv[2],), out=sys.argv[3], tokenizer="crane", workers=1))
"""
EXPORT = """
from gpt2_edu import GPT2
for _ in range(20): GPT2.from_pretrained(sys.argv[2]).save_pretrained(sys.argv[3])
"""
MARK = """
import os
os.chdir(sys.argv[3])
from gpt2_edu.exercises.record import mark_passed
for name in sys.argv[2].split(): assert mark_passed(name, None) == ""
"""
# Both wait for the same moment, after the slow imports.
START = """
import sys, time, torch, gpt2_edu.trainer
torch.set_num_threads(1)
while time.time() < float(sys.argv[1]): time.sleep(0.001)
"""


def two(code: str, words: list[list[str]], delay: float) -> list[tuple[int, str]]:
    """Exit status and last line of two processes that begin almost together."""
    at = time.time() + 6
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", START + code, str(at + i * delay), *own],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TQDM_DISABLE": "1"},
        )
        for i, own in enumerate(words)
    ]
    said = [run.communicate(timeout=120)[1] for run in runs]
    return [
        (run.returncode, (text.strip() or "-").splitlines()[-1])
        for run, text in zip(runs, said, strict=True)
    ]


def campaign(pairs: int, seed: int = 0) -> Tally:
    """So many pairs, of each kind as many."""
    tally = Tally("two at once")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        data = write_shards(place / "shards")
        text = place / "text.txt"
        text.write_text("".join(f"Story {i}. A crane ate fish. " for i in range(20_000)))
        sizes = GPT2Config(vocab_size=97, block_size=9, n_layer=2, n_head=2, n_embd=48)
        GPT2(sizes).save_pretrained(place / "model")
        alone: dict[str, object] = {}

        def trained(out: Path) -> object:
            return result(out)

        def prepared(out: Path) -> object:
            return [TokenShards(out, split).fingerprint for split in ("train", "val")]

        def exported(out: Path) -> object:
            return [sorted(path.name for path in out.iterdir()), str(GPT2.from_pretrained(out).wte)]

        def marked(out: Path) -> object:
            return sorted(json.loads((out / FILE).read_text())["passed"])

        names = ["head_size gelu row_by_hand capacity", "causal_row embed attend mlp"]
        kinds: dict[str, tuple[str, list[str], Callable[[Path], object]]] = {
            "train": (TRAIN, [str(data)] * 2, trained),
            "prepare": (PREPARE, [str(text)] * 2, prepared),
            "export": (EXPORT, [str(place / "model")] * 2, exported),
            "progress": (MARK, names, marked),
        }
        from gpt2_edu.trainer import Trainer

        Trainer(small_config(data, place / "alone")).train()
        prepare(PrepareConfig(sources=(str(text),), out=str(place / "alone-p"), tokenizer="crane"))
        alone["train"], alone["prepare"] = trained(place / "alone"), prepared(place / "alone-p")
        alone["export"] = exported(place / "model")
        alone["progress"] = sorted(" ".join(names).split())
        for i in range(pairs):
            kind = list(kinds)[i % len(kinds)]
            code, first, outcome = kinds[kind]
            out = place / f"{kind}-{i}"
            if kind == "progress":
                out.mkdir()
            delay = random.Random(f"{seed} {i}").choice((0.0, 0.0, 0.01, 0.1, 0.4))
            ends = two(code, [[one, str(out)] for one in first], delay)
            tally.counts["tried"] += 1
            fine = any(status == 0 for status, _ in ends)
            told = all(
                status == 0 or "another process is writing" in said or "already holds" in said
                or "finished shards" in said for status, said in ends
            )  # fmt: skip
            if not (fine and told and outcome(out) == alone[kind]):
                tally.note("wrong", f"{kind}, {i}, {delay} s apart: {ends}")
            else:
                tally.counts["right" if all(s == 0 for s, _ in ends) else "clear"] += 1
    return tally
