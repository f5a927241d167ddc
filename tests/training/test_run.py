"""Opening a run: what fits neither data, device, tokenizer nor the run that is there is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.data.shards import HEADER
from gpt2_edu.machine.files import file_sha256
from gpt2_edu.trainer import Trainer
from gpt2_edu.training import memory
from gpt2_edu.training.config import LOG, SETTINGS
from gpt2_edu.training.distributed import Ranks
from tests.training.small_run import (
    before_each_step,
    press_ctrl_c,
    result,
    small_config,
)


def test_an_open_run_is_complete_and_stands_where_its_checkpoint_does(data, finished, tmp_path):
    alone = Ranks(0, 1, torch.device("cpu"))
    new = Trainer(small_config(data, tmp_path / "run", dropout=0.3))
    new.open(alone)
    assert (new.step, new.best_val_loss, new.finished) == (0, None, False)
    assert new.sequences_per_step == 4 and new.model.training
    sizes = new.model.config
    assert sizes.embd_pdrop == sizes.attn_pdrop == sizes.resid_pdrop == 0.3
    shutil.copytree(finished, tmp_path / "finished")
    done = Trainer(small_config(data, tmp_path / "finished", resume=True))
    done.open(alone)
    assert (done.step, done.finished) == (12, True) and done.best_val_loss is not None


@pytest.mark.parametrize(
    ("split", "said"), [("train", "fingerprint was"), ("val", "validation text was")]
)
def test_other_data_at_the_same_place_is_noticed(data, tmp_path, split, said):
    """With another validation text, losses would be compared with those of the first one."""
    shards = Path(shutil.copytree(data, tmp_path / "shards"))
    Trainer(small_config(shards, tmp_path / "run"), on_log=press_ctrl_c(5)).train()
    path = shards / f"{split}-00000.bin"
    path.write_bytes(np.fromfile(path, "<u2")[::-1].tobytes())
    header = json.loads((shards / HEADER).read_text())
    for shard in header["shards"]:
        shard["sha256"] = file_sha256(shards / shard["file"])
    (shards / HEADER).write_text(json.dumps(header))
    with pytest.raises(ValueError, match=said):
        Trainer.resume(tmp_path / "run").train()


def test_another_run_is_not_made_of_it(data, finished):
    before = result(finished)
    with pytest.raises(ValueError, match=r"already holds a run.*resume=True.*another out"):
        Trainer(small_config(data, finished)).train()
    changed = small_config(data, finished, resume=True, lr=0.5, n_layer=3, keep=9)
    with pytest.raises(ValueError) as caught:
        Trainer(changed).train()
    message = str(caught.value)
    assert "lr was 0.01, is now 0.5" in message and "n_layer was 2, is now 3" in message
    assert "keep" not in message  # how many checkpoints stay is no part of what is computed
    assert result(finished) == before


def test_a_step_of_another_size_is_refused_with_the_sum(data, tmp_path):
    Trainer(small_config(data, tmp_path / "run"), on_log=press_ctrl_c(2)).train()
    with pytest.raises(ValueError, match="sequences_per_step was 4, is now 12"):
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


def test_a_run_that_never_saved_begins_again(data, finished, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    stored = dataclasses.asdict(small_config(data, out))
    (out / SETTINGS).write_text(json.dumps(stored))
    (out / LOG).write_text('{"step": 0}\n{"step": 1, "loss": 4')
    Trainer.resume(out).train()
    assert result(out) == result(finished)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"fsdp": True}, "torchrun"),
        ({"device": "cuda:7"}, "'cuda:7' is not on this machine"),
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


@pytest.mark.parametrize(
    ("V", "T", "said"),
    [(89, 13, "has 89 ids"), (101, 13, "has 101 ids"), (97, 11, "at most 11 tokens")],
)
def test_weights_to_start_from_must_fit_the_data(data, tmp_path, V, T, said):
    sizes = GPT2Config(vocab_size=V, block_size=T, n_layer=1, n_head=1, n_embd=7)
    GPT2(sizes).save_pretrained(tmp_path / "m")
    start = {"init_from": str(tmp_path / "m"), "n_layer": None, "n_head": None, "n_embd": None}
    with pytest.raises(ValueError, match=said):
        Trainer(small_config(data, tmp_path / "run", **start)).train()


def test_a_missing_tensorboard_is_said_with_the_way_to_get_it(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ValueError, match=r'pip install "gpt2-edu\[tensorboard\]"'):
        Trainer(small_config(data, tmp_path / "run", tensorboard=True)).train()
    assert not (tmp_path / "run").exists()


# ---- Memory ------------------------------------------------------------------------------------


def fail_with(error):
    def fail(run):
        raise error

    return before_each_step(fail)


def test_memory_is_counted_before_a_cpu_runs_out_of_it(data, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda device: 5_000_000)
    with pytest.raises(ValueError) as caught:
        Trainer(small_config(data, tmp_path / "run", batch_size=1000)).train()
    message = str(caught.value)
    assert "batch_size=1000" in message and "GiB" in message
    fits = int(message.split("batch_size=")[-1].split(" fits")[0])
    assert f"a grad_accum of {-(-1000 // fits)} keeps the step as large" in message
    assert not (tmp_path / "run").exists()  # nothing in the way of the next attempt
    Trainer(small_config(data, tmp_path / "run", batch_size=fits, steps=4)).train()
    with pytest.raises(ValueError, match=f"batch_size={fits + 1} "):
        Trainer(small_config(data, tmp_path / "more", batch_size=fits + 1)).train()


def test_what_a_run_holds_of_a_gpu_is_available_to_it(data, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda device: 2**30)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2**31)
    config = small_config(data, tmp_path / "run")
    for kind, total in (("cuda", "3.00"), ("cpu", "1.00")):
        step = memory.StepMemory(config, GPT2Config(), torch.device(kind), "float32")
        assert f"the {kind} has {total}" in step.advice()


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("can't allocate memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
)
def test_running_out_of_memory_is_said_in_words(data, tmp_path, error):
    with fail_with(error), pytest.raises(ValueError, match="not enough memory for batch_size=4"):
        Trainer(small_config(data, tmp_path / "run")).train()


def test_other_errors_are_not_taken_for_it(data, tmp_path):
    error = RuntimeError("something else")
    with fail_with(error), pytest.raises(RuntimeError, match="something else"):
        Trainer(small_config(data, tmp_path / "run")).train()
