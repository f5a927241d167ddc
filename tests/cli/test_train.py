"""gpt2-edu prepare and train: from text to a model that writes."""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from gpt2_edu import GPT2, GPT2Config, crane, load_tokenizer
from gpt2_edu.checkpoints import digest
from gpt2_edu.cli import main
from gpt2_edu.cli.train import train_config
from gpt2_edu.training.config import TrainConfig
from gpt2_edu.web import merges, save_for_page

BOOK = Path(__file__).parents[2] / "book"


@pytest.fixture
def shards(run, tmp_path) -> Path:
    """A few hundred tokens to train on."""
    (tmp_path / "crane.txt").write_text("A crane ate fish. A crane lifted steel. " * 60)
    said = run("prepare", tmp_path / "crane.txt", "--out", tmp_path / "shards", "--workers", 1)
    assert "learned from the text, which repeats itself" in said
    assert "1 passage, spread evenly over the text" in said
    assert f"gpt2-edu train --data {tmp_path / 'shards'}" in said
    return tmp_path / "shards"


TINY = (
    "--n-layer 1 --n-head 2 --n-embd 8 --block-size 16 --batch-size 2 --warmup-steps 2 --steps 8 "
    "--eval-every 4 --sample-every 0 --precision float32 --lr 0.01 --min-lr 0.001"
).split()


def test_text_becomes_a_model_that_writes(run, refused, shards, tmp_path):
    out = tmp_path / "run"
    said = run("train", "--data", shards, "--out", out, *TINY)
    assert "8 steps" in said
    assert f"--model {out}" in said
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["step"] == 8
    assert "already holds a run" in refused("train", "--data", shards, "--out", out, *TINY)

    assert "8 steps" in run("train", "--out", out, "--resume")  # nothing left to do
    said = refused("train", "--out", out, "--resume", "--lr", 0.02)
    assert "lr was 0.01, is now 0.02" in said
    assert "is now" not in said.replace("lr was 0.01, is now 0.02", "")

    words = ["--max-new-tokens", 5, "--seed", 0]
    assert run("generate", "A crane", "--model", out, *words).startswith("A crane")
    run("export", out, "--out", tmp_path / "mine")
    newest = sorted((out / "checkpoints").iterdir())[-1]
    assert run("inspect", tmp_path / "mine") == run("inspect", newest) == run("inspect", out)
    for place in (out, newest, tmp_path / "mine"):  # all have the vocabulary of the text
        assert load_tokenizer(place).n_vocab == GPT2.from_pretrained(place).config.vocab_size < 300
        assert run("tokenize", "crane", "--tokenizer", place) == run(
            "tokenize", "crane", "--tokenizer", shards
        )
    run("export", out, "--out", tmp_path / "mine.safetensors", "--page")
    with safe_open(tmp_path / "mine.safetensors", "pt") as file:
        packed = base64.b64decode(file.metadata()["gpt2-edu.merges"])
    assert gzip.decompress(packed) == merges(load_tokenizer(shards))


def test_weights_that_are_not_the_newest_are_said_to_be_the_best(run, shards, tmp_path, capsys):
    out = tmp_path / "run"
    run("train", "--data", shards, "--out", out, *TINY, "--save-every", 4, "--keep", 9)
    oldest, newest = sorted((out / "checkpoints").iterdir())
    losses = {oldest: 1.0, newest: 2.0}
    for place, loss in losses.items():
        document = json.loads((place / "state.json").read_text())
        document["state"]["val_loss"] = loss
        del document["sha256"]
        (place / "state.json").write_text(json.dumps(document | {"sha256": digest(document)}))
    capsys.readouterr()
    main(["score", "crane", "--model", str(out)])
    assert f"{oldest.name} have the lowest" in (said := capsys.readouterr().err)
    assert str(newest) in said
    main(["export", str(out), "--out", str(tmp_path / "last"), "--which", "last"])
    shown = capsys.readouterr()
    assert str(newest) in shown.out and not shown.err
    weights = GPT2.from_pretrained(out).wte.weight
    assert torch.equal(weights, GPT2.from_pretrained(oldest).wte.weight)
    assert not torch.equal(weights, GPT2.from_pretrained(tmp_path / "last").wte.weight)


def test_a_run_is_not_continued_with_another_vocabulary(run, refused, shards, tmp_path):
    out, other = tmp_path / "run", tmp_path / "other"
    run("train", "--data", shards, "--out", out, *TINY)
    (tmp_path / "fish.txt").write_text("A fish ate a fly. No fly ate a fish. " * 60)
    words = ["prepare", tmp_path / "fish.txt", "--out", other, "--vocab-size", 265]
    run(*words)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    said = refused("train", "--out", out, "--resume", "--data", other)
    assert "of 265" in said and "--tokenizer" in said
    said = refused("train", "--init-from", out, "--data", other, "--out", tmp_path / "b", *TINY[6:])
    assert f"--tokenizer {out}" in said
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    run(*words[:-2], "--tokenizer", out, "--overwrite")
    assert "8 steps" in run(
        "train", "--init-from", out, "--data", other, "--out", tmp_path / "b", *TINY[6:]
    )


def test_a_vocabulary_of_the_same_size_is_told_by_the_models_own_name(run, refused, tmp_path):
    """Not by the temporary folder that a page's file is read from."""
    for name, text in (("crane", "A crane ate fish. "), ("fish", "A fly bit a frog. ")):
        (tmp_path / f"{name}.txt").write_text(text * 90)
        words = [tmp_path / f"{name}.txt", "--out", tmp_path / name, "--vocab-size", 262]
        run("prepare", *words)
    page, encoding = tmp_path / "mine.safetensors", load_tokenizer(tmp_path / "crane")
    sizes = {"block_size": 16, "n_layer": 1, "n_head": 1, "n_embd": 8}
    save_for_page(GPT2(GPT2Config(vocab_size=encoding.n_vocab, **sizes)), encoding, page)
    said = refused("train", "--init-from", page, "--data", tmp_path / "fish", "--out", tmp_path)
    assert f"the model in {page} has" in said and f"--tokenizer {page}" in said


@pytest.mark.thorough
def test_without_sizes_a_run_takes_what_fits_and_those_given_win(run, refused, shards, tmp_path):
    """Never 124 million parameters on a laptop that nobody has asked for."""
    out = tmp_path / "run"
    said = run("train", "--data", shards, "--out", out, "--minutes", 0.001)
    assert "parameters: 2 blocks" in said and "a step measured now" in said
    chosen = json.loads((out / "run.json").read_text())
    assert chosen["n_embd"] <= 64 and chosen["prompt"] == "\n"
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert sum("sample" in row for row in rows) == sum("val_loss" in row for row in rows[1:]) == 10
    words = ["--n-embd", 24, "--steps", 9, "--lr", 0.01, "--quiet"]
    run("train", "--data", shards, "--out", tmp_path / "b", *words)
    given = json.loads((tmp_path / "b" / "run.json").read_text())
    assert (given["n_embd"], given["n_head"], given["steps"], given["lr"]) == (24, 1, 9, 0.01)
    assert given["min_lr"] == 0.001 and given["warmup_steps"] == 0

    for more in (["--model", "gpt2"], ["--init-from", out], ["--resume"]):
        said = refused("train", "--data", shards, "--out", out, "--minutes", 5, *more)
        assert "leave it out" in said and more[0].strip("-").replace("-", "_") in said
    words = ["--out", tmp_path / "short", "--val-fraction", 0.001]
    run("prepare", tmp_path / "crane.txt", *words)
    said = refused("train", "--data", tmp_path / "short", "--out", tmp_path / "c")
    assert "Prepare a longer text" in said and not (tmp_path / "c").exists()


def test_the_commands_of_train_md_run_on_a_saved_model(run, tmp_path, monkeypatch):
    """Its window is the model's, and a short run warms up in a tenth of its steps."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(3)
    sizes = {"vocab_size": 1024, "block_size": 100, "n_layer": 1, "n_head": 2, "n_embd": 8}
    page = (BOOK / "train.md").read_text(encoding="utf-8")
    lines = page.partition("```bash\n")[2].partition("```")[0].splitlines()
    name = shlex.split(lines[0])[-1]
    save_for_page(GPT2(GPT2Config(**sizes)), load_tokenizer("crane"), tmp_path / name)
    Path("more.txt").write_text("\n".join(map(crane.story, range(90))))
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "gpt2-edu"
        run(*words, *["--steps", 20, "--lr", 1e-5] * (words[0] == "train"))
    made = json.loads(Path("runs/more/run.json").read_text())
    names = ("block_size", "steps", "warmup_steps", "lr", "min_lr")
    assert [made[one] for one in names] == [100, 20, 2, 1e-5, pytest.approx(1e-6)]
    assert GPT2.from_pretrained("back.safetensors").config.block_size == 100
    assert train_config(init_from=name) == TrainConfig(init_from=name, block_size=100)
    assert train_config(init_from=name, block_size=50).block_size == 50


def test_what_is_wrong_with_a_run_is_said_in_a_sentence(refused, shards, tmp_path):
    out = tmp_path / "run"
    for words, part in [
        (["--data", tmp_path / "nowhere"], "no folder"),
        (["--data", shards, "--model", "gpt3"], "Did you mean"),
        (["--data", shards, "--block-size", 1000, *TINY[:6]], "1,000"),
    ]:
        said = refused("train", "--out", out, *words)
        assert part in said, said
        assert not out.exists(), words
    assert "no run to resume" in refused("train", "--out", out, "--resume")


def test_a_crane_that_cannot_begin_writes_no_story(refused, tmp_path):
    """Before 56,000 stories are written for nothing, or beside what somebody keeps there."""
    (tmp_path / "diary.txt").write_text("the user's")
    assert "is not empty: it holds diary.txt" in refused("crane", "--out", tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text("{}")
    said = refused("crane", "--out", tmp_path)
    assert f"gpt2-edu train --out {tmp_path}/run --resume" in said and "--overwrite" not in said
    assert "seed must be at least 0" in refused("crane", "--out", tmp_path / "new", "--seed", -1)
    assert not (tmp_path / "new").exists()
