"""On Colab: answers that are kept in Google Drive, which is a folder here."""

from __future__ import annotations

import sys
import types

import pytest

from gpt2_edu.exercises import drive, keep_in_drive, mine, record


@pytest.fixture
def colab(tmp_path, monkeypatch):
    """A machine's folder, and a Drive that connects."""
    machine = tmp_path / "content"
    machine.mkdir()
    monkeypatch.chdir(machine)
    monkeypatch.setenv("GPT2_EDU_BOOK", "0")
    monkeypatch.setattr(drive, "MOUNT", machine / "drive")
    stand_in = types.ModuleType("google.colab")
    stand_in.drive = types.SimpleNamespace(
        mount=lambda place: (machine / "drive" / "MyDrive").mkdir(parents=True, exist_ok=True)
    )
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", stand_in)
    return machine


def another_machine(colab, monkeypatch, name="second"):
    (colab / name).mkdir()
    monkeypatch.chdir(colab / name)


def test_two_machines_share_one_progress_and_one_gpt2(colab, monkeypatch, capsys):
    keep_in_drive()
    record.mark_passed("gelu", "def gelu(x): ...")
    (drive.MOUNT / drive.FOLDER / mine.FILE).write_text("mine = 1\n")
    another_machine(colab, monkeypatch)
    record.mark_passed("head_size", None)  # before the Drive is connected
    keep_in_drive()
    assert set(record.progress().passed) == {"gelu", "head_size"}
    assert drive.Path(mine.FILE).read_text() == "mine = 1\n"
    assert "kept in your Drive, in MyDrive/gpt2-edu" in capsys.readouterr().out


def test_a_gpt2_that_differs_replaces_nothing(colab, monkeypatch, capsys):
    (colab / mine.FILE).write_text("first = 1\n")
    keep_in_drive()
    assert drive.Path(mine.FILE).read_text() == "first = 1\n"
    another_machine(colab, monkeypatch)
    drive.Path(mine.FILE).write_text("second = 2\n")
    keep_in_drive()
    assert drive.Path(mine.FILE).read_text() == "first = 1\n"
    assert drive.Path("my_gpt2.other.py").read_text() == "second = 2\n"
    assert "my_gpt2.other.py" in capsys.readouterr().out


def test_opting_out_prints_the_consequence(colab, capsys):
    keep_in_drive(False)
    assert drive.Path.cwd() == colab
    assert "deleted with this machine" in capsys.readouterr().out


def test_a_failed_mount_is_reported_and_not_raised(colab, monkeypatch, capsys):
    def refused(place):
        raise ValueError("mount failed")

    monkeypatch.setattr(sys.modules["google.colab"].drive, "mount", refused)
    keep_in_drive()
    assert drive.Path.cwd() == colab
    assert "could not be connected (mount failed)" in capsys.readouterr().out


def test_a_damaged_local_progress_file_is_reported(colab, capsys):
    (colab / record.FILE).write_text("{")
    keep_in_drive()
    assert "is no progress file" in capsys.readouterr().out
    assert (colab / record.FILE).read_text() == "{"
