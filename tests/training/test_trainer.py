"""The trainer: the right arithmetic, runs that leave no trace of interruptions, clear words."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

import gpt2_edu.machine.device
import gpt2_edu.training.trainer
from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.data import BatchLoader, TokenShards, validation_batches
from gpt2_edu.data.shards import HEADER
from gpt2_edu.flops import flops_per_token
from gpt2_edu.machine.device import pick_compile, pick_precision
from gpt2_edu.training.checkpoint import LOG, checkpoints, read_log
from gpt2_edu.training.trainer import Stop, TrainConfig, Trainer
from tests.campaigns.small_run import VOCAB, result, small_config, story, write_shards

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_shards(tmp_path_factory.mktemp("data") / "shards")


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """A run that nobody disturbed."""
    out = tmp_path_factory.mktemp("finished") / "run"
    Trainer(small_config(data, out)).train()
    return out


@pytest.fixture
def run(data, tmp_path):
    """Train with some settings changed; returns the rows of the log."""

    def train(name="run", **changed):
        Trainer(small_config(data, tmp_path / name, **changed)).train()
        return read_log(tmp_path / name / LOG)

    return train


def press_ctrl_c(step: int):
    """A listener to the log that presses Ctrl-C once."""
    return lambda row: row["step"] == step and os.kill(os.getpid(), signal.SIGINT)


def last_weights(out: Path) -> bytes:
    return (checkpoints(out)[-1] / "model.safetensors").read_bytes()


# ---- The arithmetic ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*loss_type.*")
def test_ten_steps_follow_transformers(data, tmp_path):
    """The same weights, batches, groups and rates: the other model, the other loop, by hand."""
    import transformers

    start = GPT2Config(vocab_size=VOCAB, block_size=17, n_layer=2, n_head=3, n_embd=21)
    torch.manual_seed(5)
    GPT2(start).save_pretrained(tmp_path / "start")
    changed = {"n_layer": None, "n_head": None, "n_embd": None, "dropout": 0.0, "seed": 3}
    changed |= {"init_from": str(tmp_path / "start"), "steps": 10, "grad_clip": 0.5}
    config = small_config(data, tmp_path / "run", **changed)
    Trainer(config).train()
    rows = read_log(tmp_path / "run" / LOG)[1:]

    theirs = transformers.GPT2LMHeadModel.from_pretrained(
        tmp_path / "start", attn_pdrop=0, resid_pdrop=0, embd_pdrop=0
    ).train()
    decaying = [p for p in theirs.parameters() if p.ndim > 1]
    others = [p for p in theirs.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decaying, "weight_decay": 0.1}, {"params": others, "weight_decay": 0}],
        betas=(0.9, 0.95),
    )
    loader = BatchLoader(TokenShards(data), 4, 13, seed=3)
    for step, row in enumerate(rows):
        rate = 1e-2 * (step + 1) / 3
        if step >= 3:
            rate = 1e-3 + 9e-3 * (1 + math.cos(math.pi * (step - 2) / 7)) / 2
        for group in optimizer.param_groups:
            group["lr"] = rate
        idx, targets = loader.next_batch()
        logits = theirs(idx).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        optimizer.step()
        assert row["loss"] == pytest.approx(loss.item(), abs=1e-4)
        assert row["grad_norm"] == pytest.approx(norm.item(), rel=1e-4)
        assert row["lr"] == pytest.approx(rate)
    assert rows[-1]["loss"] < rows[0]["loss"] - 0.2  # something was learned, so followed


def test_eight_micro_batches_of_one_are_one_batch_of_eight(run, tmp_path):
    settings = {"dropout": 0.0, "eval_every": 0}
    many = run("many", batch_size=1, grad_accum=8, **settings)
    one = run("one", batch_size=8, grad_accum=1, **settings)
    for row, other in zip(many[1:], one[1:], strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=3e-6)
        assert row["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-5)
    weights = [GPT2.from_pretrained(checkpoints(tmp_path / name)[-1]) for name in ("many", "one")]
    for p, q in zip(*(model.parameters() for model in weights), strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=3e-5)


def test_clipping_shortens_the_gradient_and_the_log_says_how_long_it_was(run, tmp_path):
    """AdamW hardly sees the length of a gradient, unless it changes: so look at the averages."""
    rows = run("clipped", grad_clip=0.01, steps=4, dropout=0.0)
    assert min(row["grad_norm"] for row in rows[1:]) > 0.1
    from safetensors.torch import load_file

    averages = load_file(checkpoints(tmp_path / "clipped")[-1] / "optimizer.safetensors")
    squared = sum(float((v**2).sum()) for k, v in averages.items() if k.endswith("exp_avg"))
    assert squared**0.5 < 0.01


def test_validation_is_the_mean_over_the_same_windows_without_dropout(data, run, tmp_path):
    rows = run("run", eval_batches=9, dropout=0.5)
    shards, total, count = TokenShards(data, "val"), 0.0, 0
    model = GPT2.from_pretrained(checkpoints(tmp_path / "run")[-1])
    batches = list(validation_batches(shards, 4, 13, 9))
    assert len({len(idx) for idx, _ in batches}) == 1 or len(batches[-1][0]) < 4
    for idx, targets in batches:
        with torch.no_grad():
            total, count = total + model(idx, targets)[1].item() * len(idx), count + len(idx)
    assert rows[-1]["val_loss"] == pytest.approx(total / count, rel=1e-6)


def test_a_last_validation_batch_that_is_short_weighs_less(data, run, tmp_path):
    """38 windows in batches of 4: the last has two rows."""
    rows = run("run", eval_batches=100)
    model = GPT2.from_pretrained(checkpoints(tmp_path / "run")[-1])
    (whole,) = validation_batches(TokenShards(data, "val"), 38, 13, 1)
    assert len(whole[0]) == 38 == (499 - 1) // 13
    with torch.no_grad():
        assert rows[-1]["val_loss"] == pytest.approx(model(*whole)[1].item(), rel=1e-6)


def test_looking_at_a_run_does_not_change_it(finished, run, tmp_path):
    """Validation, samples, log and checkpoints draw nothing from what training draws from."""
    quiet = {"eval_every": 0, "sample_every": 0, "save_every": 100, "log_every": 5}
    rows = run("unseen", **quiet)
    assert last_weights(tmp_path / "unseen") == last_weights(finished)
    losses = {row["step"]: row.get("loss") for row in read_log(finished / LOG)}
    assert [row["step"] for row in rows] == [0, 5, 10, 12]
    assert all(row.get("loss") == losses[row["step"]] for row in rows)


def test_dropout_is_on_in_training_and_another_seed_is_another_run(run):
    plain = run("plain", dropout=0.0, steps=4)
    dropped = run("dropped", dropout=0.3, steps=4)
    other = run("other", seed=1, dropout=0.0, steps=4)
    assert plain[0]["val_loss"] == dropped[0]["val_loss"]  # the same start, dropout off
    assert plain[1]["loss"] != dropped[1]["loss"]
    assert plain[0]["val_loss"] != other[0]["val_loss"]


def test_bfloat16_learns_the_same_to_its_precision(run):
    """And AdamW's weights stay in float32."""
    exact, rough = run("exact"), run("rough", precision="bf16")
    assert rough[0]["precision"] == "bfloat16"
    assert rough[1]["loss"] != exact[1]["loss"]
    for row, other in zip(rough[1:], exact[1:], strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=0.02)


def test_compiling_leaves_the_names_of_weights_and_their_values(run, tmp_path, monkeypatch):
    """In place, and without a compiler here: the capture alone. Evaluation runs uncompiled."""
    passes = []

    def capture(graph, inputs):
        passes.append(graph)
        return graph.forward

    compiling = torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda m: compiling(m, backend=capture))
    monkeypatch.setattr(gpt2_edu.training.trainer, "pick_compile", lambda choice, device: True)
    rows = run("compiled", dropout=0.0, eval_batches=100)
    monkeypatch.undo()
    expected = run("plain", dropout=0.0, eval_batches=100)
    assert len(passes) == 1
    assert rows[0]["compiled"] and not expected[0]["compiled"]
    for row, other in zip(rows[1:], expected[1:], strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=1e-5)
    GPT2.from_pretrained(checkpoints(tmp_path / "compiled")[-1])


# ---- Interruptions -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 4, 6, 11])
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(data, finished, tmp_path, step):
    out = tmp_path / "run"
    summary = Trainer(small_config(data, out), on_log=press_ctrl_c(step)).train()
    assert (summary.step, summary.finished) == (step + 1, step == 11)
    assert summary.checkpoint.name == f"step-{step + 1:08}"
    ended = Trainer.resume(out).train()
    assert ended.finished and ended.step == 12
    assert result(out) == result(finished)


def test_a_stopped_run_says_where_it_stands_and_how_to_go_on(data, tmp_path, capsys):
    out = tmp_path / "run"
    Trainer(small_config(data, out, quiet=True), on_log=press_ctrl_c(3)).train()
    said = capsys.readouterr().out
    assert "Stopped after step 4 of 12" in said
    assert str(out / "checkpoints" / "step-00000004") in said
    assert "--resume" in said and "Trainer.resume" in said


def test_many_interruptions_in_one_run_leave_no_trace(data, finished, tmp_path):
    out = tmp_path / "run"
    Trainer(small_config(data, out), on_log=press_ctrl_c(0)).train()
    for step in range(2, 12, 2):
        Trainer.resume(out, on_log=press_ctrl_c(step)).train()
    assert Trainer.resume(out).train().finished
    assert result(out) == result(finished)


def test_a_finished_run_resumes_to_nothing(finished):
    before = result(finished)
    summary = Trainer.resume(finished).train()
    assert (summary.step, summary.finished, summary.loss) == (12, True, None)
    assert result(finished) == before


def test_a_run_that_never_saved_begins_again(data, finished, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    stored = dataclasses.asdict(small_config(data, out))
    (out / "config.json").write_text(json.dumps(stored))
    (out / LOG).write_text('{"step": 0}\n{"step": 1, "loss": 4')
    Trainer.resume(out).train()
    assert result(out) == result(finished)


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_happened():
    """The long version is: python -m tests.campaigns.kill --kills 30"""
    done = subprocess.run(
        [sys.executable, "-m", "tests.campaigns.kill", "--kills", "3", "--steps", "20"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3 kills in" in done.stdout and "every run ended with the same" in done.stdout


def test_a_second_signal_ends_at_once_and_an_echo_does_not(capfd):
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)  # torchrun's echo of the terminal's
        assert stop.asked
        stop.asked_at = time.monotonic() - 2
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
    assert "Stopping after this step" in capfd.readouterr().err


def test_a_second_ctrl_c_loses_nothing_that_was_saved(data, finished, tmp_path):
    def press_twice(row):
        if row["step"] == 7:
            trainer.stop.asked_at = time.monotonic() - 2
            os.kill(os.getpid(), signal.SIGINT)

    out = tmp_path / "run"
    trainer = Trainer(small_config(data, out), on_log=press_twice)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    Trainer.resume(out).train()
    assert result(out) == result(finished)


def test_what_belongs_to_all_of_torch_is_as_before(data, tmp_path):
    def settings():
        handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        return handlers, torch.get_float32_matmul_precision(), random.getstate()

    before, state = settings(), torch.get_rng_state()
    Trainer(small_config(data, tmp_path / "run")).train()
    assert settings() == before and torch.equal(torch.get_rng_state(), state)


def test_in_a_thread_a_run_trains_without_listening_to_signals(data, finished, tmp_path):
    """Signal handlers belong to the main thread; a notebook may train in another."""
    trainer = Trainer(small_config(data, tmp_path / "run"))
    thread = threading.Thread(target=trainer.train)
    thread.start()
    thread.join()
    assert result(tmp_path / "run") == result(finished)


def test_the_random_state_of_the_caller_does_not_leak_into_a_run(data, finished, tmp_path):
    torch.manual_seed(99)
    Trainer(small_config(data, tmp_path / "run")).train()
    assert result(tmp_path / "run") == result(finished)


# ---- What can be wrong -------------------------------------------------------------------------


def test_another_run_is_not_overwritten(data, finished):
    before = result(finished)
    with pytest.raises(ValueError, match=r"already holds a run.*resume=True.*another out"):
        Trainer(small_config(data, finished)).train()
    assert result(finished) == before


def test_other_settings_are_listed_with_both_values(data, finished):
    before = result(finished)
    changed = small_config(data, finished, resume=True, lr=0.5, n_layer=3, keep=9)
    with pytest.raises(ValueError) as caught:
        Trainer(changed).train()
    message = str(caught.value)
    assert "lr was 0.01, is now 0.5" in message and "n_layer was 2, is now 3" in message
    assert "keep" not in message  # how many checkpoints stay is no part of what is computed
    assert result(finished) == before


def test_other_data_at_the_same_place_is_noticed(data, tmp_path):
    Trainer(small_config(data, tmp_path / "run"), on_log=press_ctrl_c(2)).train()
    other = write_shards(tmp_path / "other", train=4001)
    with pytest.raises(ValueError, match="fingerprint was"):
        Trainer(small_config(other, tmp_path / "run", resume=True)).train()


def test_a_step_of_another_size_is_refused_with_the_sum(data, tmp_path):
    Trainer(small_config(data, tmp_path / "run"), on_log=press_ctrl_c(2)).train()
    with pytest.raises(ValueError, match="takes 4 sequences, now it would take 12: 1 devices"):
        Trainer(small_config(data, tmp_path / "run", grad_accum=3, resume=True)).train()
    moved = tmp_path / "elsewhere"
    (tmp_path / "run").rename(moved)
    assert Trainer.resume(moved).train().finished  # its place is no part of it


def test_a_resume_of_nothing_is_refused(data, tmp_path):
    with pytest.raises(FileNotFoundError, match="no run to resume"):
        Trainer.resume(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no run to resume"):
        Trainer(small_config(data, tmp_path / "nowhere", resume=True)).train()
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_a_run_that_diverges_says_so_and_keeps_the_last_good_checkpoint(
    data, finished, tmp_path, monkeypatch, what
):
    """Poisoned in the eighth step; resumed without the poison, it ends as it should."""

    class Poisoned(Trainer):
        def _learn(self):
            if self.step == 7:
                weight = self.model.get_parameter("transformer.ln_f.weight")
                if what == "loss":
                    weight.data.fill_(math.nan)
                else:
                    weight.register_hook(lambda grad: grad * math.inf)
            return super()._learn()

    out = tmp_path / "run"
    with pytest.raises(FloatingPointError) as caught:
        Poisoned(small_config(data, out)).train()
    for part in ("diverged at step 8", "learning rate of 0.00", "step-00000006 is the last good"):
        assert part in str(caught.value)
    assert "lower lr" in str(caught.value)
    Trainer.resume(out).train()
    assert result(out) == result(finished)


def test_memory_is_counted_before_a_cpu_runs_out_of_it(data, tmp_path, monkeypatch):
    monkeypatch.setattr(gpt2_edu.training.trainer, "available_memory", lambda device: 5_000_000)
    with pytest.raises(ValueError) as caught:
        Trainer(small_config(data, tmp_path / "run", batch_size=1000)).train()
    message = str(caught.value)
    assert "batch_size=1000" in message and "GiB" in message
    fits = int(message.split("batch_size=")[-1].split(" fits")[0])
    assert not (tmp_path / "run").exists()  # nothing in the way of the next attempt
    Trainer(small_config(data, tmp_path / "run", batch_size=fits, steps=4)).train()
    with pytest.raises(ValueError, match=f"batch_size={fits + 1} "):
        Trainer(small_config(data, tmp_path / "more", batch_size=fits + 1)).train()


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory")]
)
def test_running_out_of_memory_is_said_in_words(data, tmp_path, error):
    class Full(Trainer):
        def _learn(self):
            raise error

    with pytest.raises(ValueError, match="not enough memory for batch_size=4"):
        Full(small_config(data, tmp_path / "run")).train()


def test_other_errors_are_not_taken_for_it(data, tmp_path):
    class Broken(Trainer):
        def _learn(self):
            raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        Broken(small_config(data, tmp_path / "run")).train()


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"fsdp": True}, "torchrun"),
        ({"device": "cuda:7"}, "'cuda:7' is not here"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"precision": "fp16"}, "fp16 is for CUDA, this is cpu"),
        ({"prompt": "<|endoftext|>"}, "id 50256, outside the vocabulary 0 … 96"),
        ({"block_size": 499}, "'val'.* has 499 tokens"),
        ({"data": "nowhere"}, "no folder 'nowhere'"),
    ],
)
def test_what_fits_neither_data_nor_device_is_refused(data, tmp_path, changed, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        Trainer(dataclasses.replace(small_config(data, tmp_path / "run"), **changed)).train()
    assert not (tmp_path / "run").exists()  # nothing in the way of the next attempt


def test_weights_to_start_from_must_fit_the_data(data, tmp_path):
    sizes = {"n_layer": None, "n_head": None, "n_embd": None}
    start = {"init_from": str(tmp_path / "m")} | sizes
    for V in (89, 101):  # more ids than the data has are another tokenizer too
        other = GPT2Config(vocab_size=V, block_size=13, n_layer=1, n_head=1, n_embd=7)
        GPT2(other).save_pretrained(tmp_path / "m")
        with pytest.raises(ValueError, match=rf"a vocabulary of 97 ids.*has {V}"):
            Trainer(small_config(data, tmp_path / "run", **start)).train()
    GPT2(GPT2Config(vocab_size=97, block_size=11, n_layer=1, n_head=1, n_embd=7)).save_pretrained(
        tmp_path / "m"
    )
    with pytest.raises(ValueError, match="at most 11 tokens: block_size=13"):
        Trainer(small_config(data, tmp_path / "run", **start)).train()


def test_a_missing_tensorboard_is_said_with_the_way_to_get_it(data, tmp_path, monkeypatch):
    monkeypatch.setattr(gpt2_edu.training.trainer, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r'pip install "gpt2-edu\[tensorboard\]"'):
        Trainer(small_config(data, tmp_path / "run", tensorboard=True)).train()


# ---- Settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed, error, message",
    [
        ({"steps": 0}, ValueError, "steps must be at least 1, got 0"),
        ({"batch_size": 2.5}, TypeError, "batch_size must be int, got 2.5"),
        ({"steps": True}, TypeError, "steps must be int, got True"),
        ({"lr": "fast"}, TypeError, "lr must be float, got 'fast'"),
        ({"n_layer": "2"}, TypeError, "n_layer must be int or None, got '2'"),
        ({"lr": 0.0}, ValueError, "lr must be above 0"),
        ({"lr": math.nan}, ValueError, "lr must be above 0, got nan"),
        ({"min_lr": 1.0}, ValueError, "min_lr=1.0 is above lr"),
        ({"beta2": 1.0}, ValueError, "beta2 must be at least 0.0 and below 1.0"),
        ({"dropout": 1.0}, ValueError, "dropout must be at least 0.0 and below 1.0"),
        ({"weight_decay": -1}, ValueError, "weight_decay must be at least 0"),
        ({"warmup_steps": 1000}, ValueError, "warmup_steps=1000 leaves none of the 1000 steps"),
        ({"precision": "int8"}, ValueError, "one of auto, float32, bf16, fp16, got 'int8'"),
        ({"compile": "yes"}, ValueError, "compile must be one of auto, on, off"),
        ({"model": "gpt3"}, ValueError, "unknown preset 'gpt3'"),
        ({"n_head": 5}, ValueError, "n_embd=768 is not divisible by n_head=5"),
        ({"init_from": "x", "n_layer": 2}, ValueError, "brings its own sizes"),
        ({"prompt": ""}, ValueError, "prompt is empty"),
        ({"seed": 2**32}, ValueError, "seed must be below"),
        ({"keep": 0}, ValueError, "keep must be at least 1"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(changed, error, message):
    with pytest.raises(error, match=message):
        TrainConfig(**changed)


def test_every_setting_has_a_default_and_a_line_of_help():
    TrainConfig()
    for field in dataclasses.fields(TrainConfig):
        assert field.metadata["help"] and not field.metadata["help"].endswith(".")
    assert TrainConfig.__dataclass_params__.frozen


@pytest.mark.parametrize(
    "fast, book, expected",
    [(True, "0", torch.bfloat16), (False, "0", torch.float32), (True, "1", torch.float32)],
)
def test_a_cpu_gets_bfloat16_only_where_it_is_fast_and_never_in_the_book(
    monkeypatch, fast, book, expected
):
    monkeypatch.setenv("GPT2_EDU_BOOK", book)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: fast)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert pick_precision("auto", CPU) == expected
    assert pick_precision("bf16", CPU) == torch.bfloat16  # whoever asks for it gets it


@pytest.mark.parametrize(
    "capability, expected", [((7, 5), torch.float16), ((8, 0), torch.bfloat16)]
)
def test_an_older_gpu_gets_float16_and_a_newer_one_bfloat16(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    cuda = torch.device("cuda", 0)
    assert pick_precision("auto", cuda) == expected
    assert pick_precision("fp16", cuda) == torch.float16
    if expected == torch.float16:
        with pytest.raises(ValueError, match="bf16 is not fast on this cuda"):
            pick_precision("bf16", cuda)


def test_mps_stays_in_float32():
    assert pick_precision("auto", torch.device("mps")) == torch.float32


def test_compiling_without_a_compiler_is_refused_only_if_it_was_asked_for(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(gpt2_edu.machine.device, "find_spec", lambda name: None)
    for device, needs in ((CPU, r"C\+\+ compiler"), (torch.device("cuda"), "triton")):
        assert not pick_compile("auto", device) and not pick_compile("off", device)
        with pytest.raises(ValueError, match=needs):
            pick_compile("on", device)


# ---- The log -----------------------------------------------------------------------------------


def test_the_log_says_what_ran_where_and_guesses_no_utilisation(finished):
    first, *rows = read_log(finished / LOG)
    assert first["step"] == 0 and first["device"].startswith("cpu") and first["devices"] == 1
    assert first["tokens_per_step"] == 4 * 13
    assert first["peak_flops_per_second"] == "n/a"
    assert "6·(12·N·C² + V·C) + 6·N·C·T" in first["utilisation_is"]
    assert first["val_loss"] == pytest.approx(math.log(VOCAB), abs=0.1)
    assert [row["step"] for row in rows] == list(range(1, 13))
    assert all(row["utilisation"] == "n/a" and row["tokens_per_second"] > 0 for row in rows)
    assert {row["step"] for row in rows if "val_loss" in row} == {4, 8, 12}
    assert {row["step"] for row in rows if "sample" in row} == {5, 10, 12}
    assert all(row["sample"].startswith("a") for row in rows if "sample" in row)


def test_utilisation_is_what_the_formula_says_where_the_peak_is_known(run, monkeypatch):
    monkeypatch.setattr(gpt2_edu.training.trainer, "device_peak", lambda device, precision: 1e12)
    first, *rows = run()
    sizes = GPT2Config(vocab_size=VOCAB, block_size=13, n_layer=2, n_head=3, n_embd=21)
    assert first["peak_flops_per_second"] == 1e12
    for row in rows:
        expected = row["tokens_per_second"] * flops_per_token(sizes, 13) / 1e12
        assert row["utilisation"] == pytest.approx(expected)


def test_whoever_listens_gets_every_row_as_it_is_written(data, tmp_path):
    heard = []
    trainer = Trainer(small_config(data, tmp_path / "run"), on_log=heard.append)
    summary = trainer.train()
    assert heard == read_log(tmp_path / "run" / LOG)
    assert summary.loss == heard[-1]["loss"] and summary.val_loss == heard[-1]["val_loss"]
    assert trainer.model.training and trainer.model.config.n_layer == 2
    best = min((row for row in heard[1:] if "val_loss" in row), key=lambda row: row["val_loss"])
    assert summary.best_val_loss == best["val_loss"]
    assert summary.best_checkpoint.name == f"step-{best['step']:08}"


def test_the_best_checkpoint_survives_a_resume_that_gets_worse(data, tmp_path):
    """Validation rises from the fourth step on: weights are pushed away from what is learned."""

    class Spoiling(Trainer):
        def _learn(self):
            if self.step >= 4:
                with torch.no_grad():
                    for p in self.model.parameters():
                        p.mul_(1.5)
            return super()._learn()

    out = tmp_path / "run"
    Spoiling(small_config(data, out, keep=1), on_log=press_ctrl_c(6)).train()
    summary = Spoiling(small_config(data, out, keep=1, resume=True)).train()
    assert summary.best_checkpoint.name == "step-00000004"
    assert [path.name[-2:] for path in checkpoints(out)] == ["04", "12"]
    rows = {row["step"]: row.get("val_loss") for row in story(out)}
    assert rows[12] > summary.best_val_loss == rows[4]


def test_a_bar_and_samples_are_shown_unless_it_is_quiet(run, capsys):
    run("loud", quiet=False)
    shown = capsys.readouterr()
    assert "12/12" in shown.err
    run("silent")
    assert capsys.readouterr() == ("", "")


def test_shards_of_another_tokenizer_of_the_same_name_are_refused(data, tmp_path):
    shards = tmp_path / "shards"
    shutil.copytree(data, shards)
    header = json.loads((shards / HEADER).read_text())
    header["tokenizer_hash"] = "0" * 64
    (shards / HEADER).write_text(json.dumps(header))
    with pytest.raises(ValueError, match=r"another tokenizer.*hash 0000"):
        Trainer(small_config(shards, tmp_path / "run")).train()
    assert not (tmp_path / "run").exists()
