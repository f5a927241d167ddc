"""The command line, as a user types it."""

from __future__ import annotations

import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import gpt2_edu
from gpt2_edu import GPT2, GPT2Config, generate, load_tokenizer
from gpt2_edu.cli.bench import bench
from gpt2_edu.cli.commands import COMMANDS, main
from gpt2_edu.cli.doctor import findings
from gpt2_edu.training.recipes import RECIPES, Recipe

SMALL = GPT2Config(vocab_size=50257, block_size=31, n_layer=1, n_head=3, n_embd=15)


@pytest.fixture
def folder(tmp_path, make_model) -> Path:
    """A model with GPT-2's vocabulary and hardly anything else."""
    make_model(SMALL).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def run(capsys):
    """Run a command that succeeds and return what it printed."""

    def run(*words: object) -> str:
        main([str(word) for word in words])
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(capsys):
    """Run a command that fails and return what it said; never a traceback."""

    def refused(*words: object, status: int = 1) -> str:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        assert stop.value.code == status
        said = capsys.readouterr().err
        assert "Traceback" not in said
        return said

    return refused


def options(command: str) -> list[str]:
    fields = dataclasses.fields(COMMANDS[command].options)
    positional = COMMANDS[command].positional
    return ["--" + f.name.replace("_", "-") for f in fields if f.name not in positional]


# ---- Every command ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_option_and_shows_examples(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    for option in options(command):
        assert option in shown
    for example in COMMANDS[command].examples:
        assert example in shown
        assert command in example.split()
    for field in dataclasses.fields(COMMANDS[command].options):
        assert field.metadata["help"], field.name


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_does_not_exist_is_fatal(command, refused):
    needed = ["x"] * len(COMMANDS[command].positional)
    said = refused(command, *needed, "--does-not-exist", "1", status=2)
    assert "--does-not-exist" in said or "required" in said


def test_an_option_may_not_be_shortened(refused):
    assert "--temp" in refused("generate", "A crane", "--temp", "0", status=2)


def test_without_a_command_the_commands_are_named(refused):
    assert "command" in refused(status=2)
    assert "'tokenise'" in refused("tokenise", "x", status=2)


def test_the_module_and_the_installed_command_are_the_same():
    for program in ([sys.executable, "-m", "gpt2_edu"], [Path(sys.executable).parent / "gpt2-edu"]):
        done = subprocess.run(
            [*program, "tokenize", "A crane ate fish", "--ids"], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (0, "32 41175 15063 5916\n"), done.stderr


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"gpt2-edu {gpt2_edu.__version__}\n"


def test_an_error_can_be_asked_where_it_comes_from():
    with pytest.raises(FileNotFoundError):
        main(["--traceback", "generate", "x", "--model", "no-such-folder"])


def test_a_reader_who_goes_away_is_no_error():
    program = f"{sys.executable} -m gpt2_edu tokenize - | head -1"
    done = subprocess.run(
        program, shell=True, input="crane " * 50_000, capture_output=True, text=True, check=False
    )
    assert done.stdout.split()[0] == "6098"
    assert done.stderr == ""


# ---- tokenize -----------------------------------------------------------------------------------


def test_tokens_are_shown_with_their_text(run):
    lines = run("tokenize", "A crane 🦩").splitlines()
    assert lines[0].split() == ["32", "'A'"]
    assert lines[1].split(maxsplit=1) == ["41175", "' crane'"]
    assert lines[2].split(maxsplit=1) == ["12520", r"b' \xf0\x9f'"]  # half a character
    assert lines[-1] == "5 tokens, 9 characters, 12 bytes"


def test_text_can_come_from_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("A crane\n"))
    assert run("tokenize", "-", "--ids") == "32 41175 198\n"


def test_ids_become_text_again(run, refused):
    assert run("tokenize", "--decode", "32 41175, 15063 5916") == "A crane ate fish\n"
    for wrong in ("50257", "-1", "crane", "1.5"):
        assert f"{wrong!r} is no id of 'gpt2'" in refused("tokenize", "--decode", f"32 {wrong}")


def test_an_unknown_tokenizer_is_refused_with_the_known_ones(refused):
    assert "Known: gpt2" in refused("tokenize", "x", "--tokenizer", "gpt-2")


# ---- generate -----------------------------------------------------------------------------------


def greedy(folder: Path, text: str, n: int) -> str:
    ids = load_tokenizer("gpt2").encode_ordinary(text)
    out = generate(GPT2.from_pretrained(folder), torch.tensor([ids]), n, temperature=0)
    return load_tokenizer("gpt2").decode(out[0].tolist())


@pytest.mark.parametrize("extra", [[], ["--no-cache"], ["--samples", "1"]], ids=str)
def test_a_text_is_continued_as_the_package_does(run, folder, extra):
    words = ["--max-new-tokens", 9, "--temperature", 0, "--precision", "float32", "--no-stop"]
    out = run("generate", "A crane ate", "--model", folder, *words, *extra)
    assert out == greedy(folder, "A crane ate", 9) + "\n"


def test_the_same_seed_gives_the_same_text(run, folder):
    def text(seed: int) -> str:
        return run("generate", "A crane", "--model", folder, "--max-new-tokens", 9, "--seed", seed)

    assert text(1) == text(1) != text(2)


def test_samples_are_told_apart(run, folder):
    out = run(
        "generate", "A crane", "--model", folder, "--max-new-tokens", 5, "--samples", 3, "--seed", 0
    )
    assert out.count("A crane") == 3
    assert [line for line in out.splitlines() if line.startswith("---")] == [
        "--- 1",
        "--- 2",
        "--- 3",
    ]


def test_a_model_finds_its_own_tokenizer(run, tmp_path, make_model):
    make_model(dataclasses.replace(SMALL, vocab_size=1024)).save_pretrained(tmp_path)
    out = run("generate", "A crane", "--model", tmp_path, "--max-new-tokens", 3, "--seed", 0)
    assert out.startswith("A crane")
    assert "transformer.wte.weight" not in out
    assert "tok_emb" in run("inspect", tmp_path, "--text", "A crane")


def test_a_crane_run_goes_from_stories_to_marks(run, refused, tmp_path, monkeypatch):
    small = {"n_layer": 1, "n_head": 1, "n_embd": 8, "steps": 3, "warmup_steps": 1}
    small |= {"model": "crane", "block_size": 128, "align": True, "batch_size": 2}
    monkeypatch.setitem(RECIPES, "laptop", Recipe(60, small | {"eval_batches": 1}))
    out = run("crane", "--out", tmp_path / "crane", "--samples", 2, "--device", "cpu", "--quiet")
    assert "3 steps in" in out
    assert "gap" in out
    assert "stories" in out
    assert "(top_p=0.99): " in out
    assert (tmp_path / "crane" / "run" / "log.jsonl").is_file()
    said = refused("crane", "--out", tmp_path / "x", "--samples", -1)
    assert "--samples must be at least 0" in said


def test_an_empty_prompt_begins_a_new_text(run, folder):
    assert run("generate", "", "--model", folder, "--max-new-tokens", 3, "--seed", 0).strip()


def test_a_text_that_outgrows_the_window_names_the_option(refused, run, folder):
    said = refused("generate", "A crane", "--model", folder, "--max-new-tokens", 99)
    assert "block_size=31" in said
    assert "crop" in said
    words = ["--max-new-tokens", 40, "--overflow", "crop", "--seed", 0, "--no-stop"]
    assert run("generate", "A crane", "--model", folder, *words).startswith("A crane")


def test_a_model_with_another_vocabulary_is_refused(refused, tmp_path, make_model):
    make_model(dataclasses.replace(SMALL, vocab_size=101)).save_pretrained(tmp_path)
    assert "no tokenizer of this package has 101 tokens" in refused(
        "generate", "A crane", "--model", tmp_path
    )
    said = refused("generate", "A crane", "--model", tmp_path, "--tokenizer", "gpt2")
    assert "has 101 tokens, the tokenizer 'gpt2' 50,257" in said
    assert "--tokenizer" in said


def test_bad_values_are_refused_in_a_sentence(refused, folder, tmp_path):
    for words, part in [
        (["--temperature", -1], "temperature must be 0"),
        (["--top-k", 0], "top_k keeps at least 1"),
        (["--top-p", 2], "(0, 1]"),
        (["--samples", 0], "--samples must be at least 1"),
        (["--max-new-tokens", -1], "max_new_tokens must be 0 or more"),
        (["--device", "gpu"], "unknown device 'gpu'"),
    ]:
        assert part in refused("generate", "A crane", "--model", folder, *words)
    assert "no folder" in refused("generate", "x", "--model", tmp_path / "nowhere")


# ---- inspect and export -------------------------------------------------------------------------


def test_a_published_size_is_inspected_without_its_weights(run):
    shown = run("inspect", "gpt2-medium")
    assert "354,823,168" in shown
    assert "24" in shown


def test_a_folder_is_inspected_and_a_text_traced(run, folder):
    shown = run("inspect", folder, "--text", "A crane ate fish")
    assert f"{GPT2(SMALL).num_parameters():,}" in shown
    assert "transformer.h.0.attn.weights" in shown
    assert "(1, 3, 4, 4)" in shown


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_exported_can_be_loaded(run, refused, folder, tmp_path, dtype):
    out = tmp_path / "out"
    assert dtype in run("export", folder, "--out", out, "--dtype", dtype)
    expected, got = GPT2.from_pretrained(folder), GPT2.from_pretrained(out)
    for (name, a), b in zip(expected.named_parameters(), got.parameters(), strict=True):
        assert torch.equal(a.to(getattr(torch, dtype)).float(), b), name
    assert "is not an empty folder" in refused("export", folder, "--out", out)


# ---- doctor and bench ---------------------------------------------------------------------------


def test_the_doctor_names_what_there_is(run):
    shown = run("doctor")
    for part in ("python", torch.__version__, "safetensors", "device", "precision", "cache of"):
        assert part in shown


def test_the_doctor_says_what_to_do_about_what_is_missing(run, monkeypatch):
    real = gpt2_edu.cli.doctor.installed
    monkeypatch.setattr(
        "gpt2_edu.cli.doctor.installed", lambda p: None if p == "pyarrow" else real(p)
    )
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = {finding.what: finding for finding in findings()}
    assert "pip install pyarrow" in found["pyarrow"].advice
    assert "C++ compiler" in found["compile for the CPU"].advice
    assert "- pyarrow: pip install pyarrow" in run("doctor")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_bench_reports_rates_and_shares(capsys, dtype, config):
    config = dataclasses.replace(config, block_size=64)
    bench(
        config,
        device=torch.device("cpu"),
        dtype=dtype,
        batch_size=2,
        prompt=5,
        new_tokens=7,
        block_size=11,
        rounds=1,
    )
    lines = {line[:6].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert "GFLOP/s" in lines["matrix"] or "GB/s" in lines["matrix"]
    assert "tokens/s" in lines["decode"]
    assert "% of the matrix-vector bandwidth" in lines["decode"]
    assert "n/a of the data sheet" in lines["train,"]


def test_the_bench_refuses_what_does_not_fit(refused):
    assert "exceed the window" in refused("bench", "--new-tokens", 2000)
    assert "Did you mean 'gpt2-xl'" in refused("bench", "--preset", "gpt2-xxl")


# ---- From text to a model that writes -----------------------------------------------------------


@pytest.fixture
def shards(run, tmp_path) -> Path:
    """A few hundred tokens to train on."""
    (tmp_path / "crane.txt").write_text("A crane ate fish. A crane lifted steel. " * 60)
    said = run("prepare", tmp_path / "crane.txt", "--out", tmp_path / "shards", "--workers", 1)
    assert "tokens" in said
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


def test_what_is_wrong_with_a_run_is_said_in_a_sentence(refused, shards, tmp_path):
    out = tmp_path / "run"
    for words, part in [
        (["--data", tmp_path / "nowhere"], "no folder"),
        (["--data", shards, "--n-embd", 9, "--n-head", 2], "n_embd=9 is not divisible"),
        (["--data", shards, "--steps", 0], "steps must be at least 1"),
        (["--data", shards, "--model", "gpt3"], "Did you mean"),
        (["--data", shards, "--device", "cuda:7"], "device 'cuda:7' is not here"),
        (["--data", shards, "--block-size", 1000, *TINY[:6]], "1,000"),
    ]:
        said = refused("train", "--out", out, *words)
        assert part in said, said
        assert not out.exists(), words
    assert "no run to resume" in refused("train", "--out", out, "--resume")


def test_text_that_cannot_be_prepared_is_named(refused, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"A crane \xff\xfe ate fish")
    said = refused("prepare", tmp_path / "bad.txt", "--out", tmp_path / "shards")
    assert "bad.txt" in said
    assert "8" in said
    assert "--errors replace" in said
