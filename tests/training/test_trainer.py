"""The trainer: the right arithmetic, runs that leave no trace of interruptions, clear words."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.checkpoints import checkpoints, read_state
from gpt2_edu.data import BatchLoader, TokenShards, validation_batches
from gpt2_edu.trainer import Trainer
from gpt2_edu.training import trainer as trainer_file
from gpt2_edu.training.config import LOG, SETTINGS
from gpt2_edu.training.distributed import Ranks
from gpt2_edu.training.run_log import read_log
from tests.fuzz import kills
from tests.training.small_run import (
    VOCAB,
    before_each_step,
    press_ctrl_c,
    result,
    small_config,
    story,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


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


def test_eight_micro_batches_of_one_are_one_batch_of_eight(train):
    settings = {"dropout": 0.0, "eval_every": 0}
    many = train("many", batch_size=1, grad_accum=8, **settings)
    one = train("one", batch_size=8, grad_accum=1, **settings)
    for row, other in zip(many[1:], one[1:], strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=3e-6)
        assert row["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-5)


def test_clipping_shortens_the_gradient_and_the_log_says_how_long_it_was(train, tmp_path):
    """AdamW hardly sees the length of a gradient, unless it changes: so look at the averages."""
    rows = train("clipped", grad_clip=0.01, steps=4, dropout=0.0)
    assert min(row["grad_norm"] for row in rows[1:]) > 0.1
    averages = load_file(checkpoints(tmp_path / "clipped")[-1] / "optimizer.safetensors")
    squared = sum(float((v**2).sum()) for k, v in averages.items() if k.endswith("exp_avg"))
    assert squared**0.5 < 0.01


def test_validation_is_the_mean_over_all_windows_without_dropout(data, train, tmp_path):
    """38 windows in batches of 4: the last has two rows, and weighs less."""
    rows = train("run", eval_batches=100, dropout=0.5)
    model = GPT2.from_pretrained(checkpoints(tmp_path / "run")[-1])
    (batch,) = validation_batches(TokenShards(data, "val"), 38, 13, 1)
    assert len(batch[0]) == 38 == (499 - 1) // 13
    with torch.no_grad():
        assert rows[-1]["val_loss"] == pytest.approx(model(*batch)[1].item(), rel=1e-6)


def test_looking_at_a_run_does_not_change_it(data, finished, train, tmp_path):
    """Validation, samples, log, checkpoints and listeners draw nothing from what training does."""
    quiet = {"eval_every": 0, "sample_every": 0, "save_every": 100, "log_every": 5}
    rows = train("unseen", **quiet)
    assert last_weights(tmp_path / "unseen") == last_weights(finished)
    losses = {row["step"]: row.get("loss") for row in read_log(finished / LOG)}
    assert [row["step"] for row in rows] == [0, 5, 10, 12]
    assert all(row.get("loss") == losses[row["step"]] for row in rows)
    Trainer(small_config(data, tmp_path / "run"), on_log=lambda row: torch.rand(5)).train()
    assert result(tmp_path / "run") == result(finished)


def test_dropout_is_on_in_training_and_another_seed_is_another_run(train):
    plain = train("plain", dropout=0.0, steps=4)
    dropped = train("dropped", dropout=0.3, steps=4)
    other = train("other", seed=1, dropout=0.0, steps=4)
    assert plain[0]["val_loss"] == dropped[0]["val_loss"]  # the same start, dropout off
    assert plain[1]["loss"] != dropped[1]["loss"]
    assert plain[0]["val_loss"] != other[0]["val_loss"]


def test_bfloat16_learns_the_same_to_its_precision(train):
    """And AdamW's weights stay in float32."""
    exact, rough = train("exact"), train("rough", precision="bf16")
    assert rough[0]["precision"] == "bfloat16"
    assert rough[1]["loss"] != exact[1]["loss"]
    for row, other in zip(rough[1:], exact[1:], strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=0.02)


def test_compiling_leaves_the_names_of_weights_and_their_values(train, tmp_path, monkeypatch):
    """In place, and without a compiler here: the capture alone. Evaluation runs uncompiled."""
    passes = []

    def capture(graph, inputs):
        passes.append(graph)
        return graph.forward

    compiling = torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda m: compiling(m, backend=capture))
    monkeypatch.setattr(trainer_file, "pick_compile", lambda choice, device: True)
    rows = train("compiled", dropout=0.0, eval_batches=100)
    monkeypatch.undo()
    expected = train("plain", dropout=0.0, eval_batches=100)
    assert len(passes) == 1
    (given,) = passes[0].graph.output_node().args
    assert [tensor.meta["example_value"].ndim for tensor in given] == [0]  # the loss, no logits
    assert rows[0]["compiled"] and not expected[0]["compiled"]
    for row, other in zip(rows[1:], expected[1:], strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=1e-5)
    GPT2.from_pretrained(checkpoints(tmp_path / "compiled")[-1])


# ---- Interruptions -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 4, 11])
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(data, finished, tmp_path, step):
    out = tmp_path / "run"
    summary = Trainer(small_config(data, out), on_log=press_ctrl_c(step)).train()
    assert (summary.step, summary.finished) == (step + 1, step == 11)
    assert summary.checkpoint.name == f"step-{step + 1:08}"
    ended = Trainer.resume(out).train()
    assert ended.finished and ended.step == 12
    assert result(out) == result(finished)


def test_a_trainer_whose_run_failed_begins_again_where_the_run_was_saved(data, finished, tmp_path):
    """Not where the failed one was: the first of the two fails before it has saved anything."""
    failures = [2, 5]

    def fail(row):
        if failures and row["step"] == failures[0]:
            raise OSError(f"step {failures.pop(0)}")

    out = tmp_path / "run"
    out.mkdir()
    (out / SETTINGS).write_text(json.dumps(asdict(small_config(data, out))))
    trainer = Trainer.resume(out, on_log=fail)
    for step in (2, 5):
        with pytest.raises(OSError, match=f"step {step}"):
            trainer.train()
    assert trainer.train().finished
    summary = Trainer.resume(out).train()  # to nothing
    assert (summary.step, summary.finished, summary.loss) == (12, True, None)
    assert result(out) == result(finished)


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_happened():
    """Nor a preparation; one kill of each. The long version: python -m tests.fuzz --only kills"""
    tally = kills.fuzz(2, steps=12)
    assert not tally.bad and tally.counts["right"] == 2, tally.row()


def test_signals_and_settings_of_torch_are_as_before(data, tmp_path):
    def settings():
        handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        return handlers, torch.get_float32_matmul_precision(), torch.get_rng_state().tolist()

    before = settings()
    Trainer(small_config(data, tmp_path / "run", steps=4)).train()
    assert settings() == before


# ---- What can be wrong -------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_a_run_that_diverges_says_so_and_keeps_the_last_good_checkpoint(
    data, finished, tmp_path, monkeypatch, what
):
    """Poisoned in the eighth step; resumed without the poison, it ends as it should."""

    def poison(run):
        if run.step == 7:
            weight = run.model.get_parameter("transformer.ln_f.weight")
            if what == "loss":
                weight.data.fill_(math.nan)
            else:
                weight.register_hook(lambda grad: grad * math.inf)

    out = tmp_path / "run"
    with before_each_step(poison), pytest.raises(FloatingPointError) as caught:
        Trainer(small_config(data, out)).train()
    said = str(caught.value)
    assert "diverged at step 8" in said and "step-00000006 is the last good" in said
    Trainer.resume(out).train()
    assert result(out) == result(finished)


def test_float16_that_finds_no_scale_says_so(data, tmp_path):
    """The scaler skips the step and halves its scale, again and again: it would train nothing."""
    run = Trainer(small_config(data, tmp_path / "run"))
    run.open(Ranks(0, 1, torch.device("cpu")))
    run.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    weight = run.model.get_parameter("transformer.ln_f.weight")
    before = weight.detach().clone()
    weight.register_hook(lambda grad: grad * math.inf)
    for scale in (4.0, 2.0):
        assert run.scaler.get_scale() == scale
        run.train_step()  # skipped, and the scale is halved
    with pytest.raises(FloatingPointError, match=r"norm (inf|nan)"):
        run.train_step()
    assert torch.equal(weight, before)


def test_the_best_checkpoint_survives_a_resume_that_gets_worse(data, tmp_path):
    """Validation rises from the fourth step on: weights are pushed away from what is learned."""

    @torch.no_grad()
    def spoil(run):
        if run.step >= 4:
            for p in run.model.parameters():
                p.mul_(1.5)

    out = tmp_path / "run"
    with before_each_step(spoil):
        Trainer(small_config(data, out, keep=1), on_log=press_ctrl_c(6)).train()
        summary = Trainer(small_config(data, out, keep=1, resume=True)).train()
    assert summary.best_checkpoint.name == "step-00000004"
    assert [path.name[-2:] for path in checkpoints(out)] == ["04", "12"]
    rows = {row["step"]: row.get("val_loss") for row in story(out)}
    assert rows[12] > summary.best_val_loss == rows[4]


# ---- Ctrl-C ------------------------------------------------------------------------------------


def test_a_second_signal_ends_at_once_and_an_echo_does_not(capfd, monkeypatch):
    stop = threading.Event()
    with trainer_file.stop_on_signals(stop):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)  # torchrun's echo of the terminal's
        assert stop.is_set()
        monkeypatch.setattr(trainer_file, "ECHO_SECONDS", -1)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
    assert "Stopping after this step" in capfd.readouterr().err


def test_a_second_ctrl_c_loses_nothing_that_was_saved(data, finished, tmp_path, monkeypatch):
    out, press = tmp_path / "run", press_ctrl_c(7)
    monkeypatch.setattr(trainer_file, "ECHO_SECONDS", -1)
    with pytest.raises(KeyboardInterrupt):
        Trainer(small_config(data, out), on_log=lambda row: press(row) or press(row)).train()
    Trainer.resume(out).train()
    assert result(out) == result(finished)


def test_a_stop_before_the_run_has_begun_is_not_forgotten(data, tmp_path, capsys):
    out = tmp_path / "run"
    trainer = Trainer(small_config(data, out))
    with pytest.raises(ValueError, match="no model yet"):
        _ = trainer.model
    trainer.stop()
    assert trainer.train().step == 1
    said = capsys.readouterr().out
    assert "Stopped after step 1 of 12" in said and str(out / "checkpoints/step-00000001") in said
    assert "--resume" in said and "Trainer.resume" in said
    assert f"validation loss {read_state(checkpoints(out)[0])['val_loss']:.4f}" in said


def test_in_a_thread_a_run_trains_without_listening_to_signals(data, finished, tmp_path):
    """Signal handlers belong to the main thread; a notebook may train in another."""
    trainer = Trainer(small_config(data, tmp_path / "run"))
    thread = threading.Thread(target=trainer.train)
    thread.start()
    thread.join()
    assert result(tmp_path / "run") == result(finished)
