"""Ctrl-C: the step is finished and saved, a second one ends at once, nothing saved is lost."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from gpt2_edu.trainer import Trainer
from gpt2_edu.training import stop as stop_file
from gpt2_edu.training.stop import Stop
from tests.campaigns.small_run import press_ctrl_c, result, small_config


def test_a_second_signal_ends_at_once_and_an_echo_does_not(capfd):
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)  # torchrun's echo of the terminal's
        assert stop.requested
        stop.requested_at = time.monotonic() - 2
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
    assert "Stopping after this step" in capfd.readouterr().err


def test_a_second_ctrl_c_loses_nothing_that_was_saved(data, finished, tmp_path, monkeypatch):
    def press_twice(row):
        if row["step"] == 7:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    out = tmp_path / "run"
    monkeypatch.setattr(stop_file, "ECHO_SECONDS", -1)
    with pytest.raises(KeyboardInterrupt):
        Trainer(small_config(data, out), on_log=press_twice).train()
    Trainer.resume(out).train()
    assert result(out) == result(finished)


def test_a_stopped_run_says_where_it_stands_and_how_to_go_on(data, tmp_path, capsys):
    out = tmp_path / "run"
    Trainer(small_config(data, out, quiet=True), on_log=press_ctrl_c(3)).train()
    said = capsys.readouterr().out
    assert "Stopped after step 4 of 12" in said
    assert str(out / "checkpoints" / "step-00000004") in said
    assert "--resume" in said and "Trainer.resume" in said


def test_in_a_thread_a_run_trains_without_listening_to_signals(data, finished, tmp_path):
    """Signal handlers belong to the main thread; a notebook may train in another."""
    trainer = Trainer(small_config(data, tmp_path / "run"))
    thread = threading.Thread(target=trainer.train)
    thread.start()
    thread.join()
    assert result(tmp_path / "run") == result(finished)
