"""The log: what it says, who gets its rows, and how it survives interruptions."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from gpt2_edu import GPT2Config
from gpt2_edu.flops import flops_per_token
from gpt2_edu.trainer import Trainer
from gpt2_edu.training import trainer as trainer_file
from gpt2_edu.training.config import LOG
from gpt2_edu.training.distributed import Ranks
from gpt2_edu.training.run_log import cut_log, read_log
from tests.training.small_run import VOCAB, small_config


def test_the_log_says_what_ran_where_and_guesses_no_utilisation(finished):
    first, *rows = read_log(finished / LOG)
    assert first["step"] == 0 and first["device"].startswith("cpu") and first["devices"] == 1
    assert first["tokens_per_step"] == 4 * 13
    assert first["peak_flops_per_second"] == "n/a"
    assert "6·(12·N·C² + V·C) + 6·N·C·T" in first["utilisation_is"]
    assert first["val_loss"] == pytest.approx(math.log(VOCAB), abs=0.2)
    assert [row["step"] for row in rows] == list(range(1, 13))
    assert all(row["utilisation"] == "n/a" and row["tokens_per_second"] > 0 for row in rows)
    assert {row["step"] for row in rows if "val_loss" in row} == {4, 8, 12}
    assert {row["step"] for row in rows if "sample" in row} == {5, 10, 12}
    assert all(row["sample"].startswith("a") for row in rows if "sample" in row)


def test_utilisation_is_what_the_formula_says_where_the_peak_is_known(train, monkeypatch):
    monkeypatch.setattr(trainer_file, "device_peak", lambda device, precision: 1e12)
    first, *rows = train()
    sizes = GPT2Config(vocab_size=VOCAB, block_size=13, n_layer=2, n_head=3, n_embd=21)
    assert first["peak_flops_per_second"] == 1e12
    for row in rows:
        expected = row["tokens_per_second"] * flops_per_token(sizes, 13) / 1e12
        assert row["utilisation"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "kind, capability, peak", [("cuda", (8, 0), 16e12), ("cuda", (7, 5), 2e12), ("cpu", None, 2e12)]
)
def test_the_peak_is_of_all_devices_in_the_format_that_they_multiply_in(
    monkeypatch, kind, capability, peak
):
    peaks = {"float32": 1e12, "tf32": 8e12}
    monkeypatch.setattr(trainer_file, "device_peak", lambda device, precision: peaks[precision])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    ranks, memory = Ranks(0, 2, torch.device(kind)), SimpleNamespace(precision="float32")
    assert Trainer._peak(SimpleNamespace(ranks=ranks, memory=memory)) == peak


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


def test_a_bar_and_samples_are_shown_unless_it_is_quiet(train, capsys):
    train("loud", quiet=False)
    shown = capsys.readouterr()
    assert "12/12" in shown.err
    train("silent")
    assert capsys.readouterr() == ("", "")


def test_the_log_is_cut_back_and_a_broken_last_line_forgotten(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "sample": "ü\\u2028"}\n{"step": 3}\n{"ste')
    assert [row["step"] for row in read_log(path)] == [1, 2, 3]
    cut_log(path, 2)
    assert path.read_text().count("\n") == 2
    assert read_log(path)[1] == {"step": 2, "sample": "ü\u2028"}
    path.write_text('{"step": 1}\n{"st\n{"step": 3}\n')
    with pytest.raises(ValueError, match=r"log\.jsonl, line 2, is not valid JSON"):
        read_log(path)
