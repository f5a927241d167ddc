"""gpt2-edu doctor."""

from __future__ import annotations

import torch

from gpt2_edu.cli import doctor


def test_the_doctor_names_what_there_is(run):
    shown = run("doctor")
    version = torch.__version__.partition("+")[0]  # a wheel need not say for what it was built
    for part in ("python", version, "safetensors", "device", "precision", "cache of"):
        assert part in shown


def test_a_package_whose_files_are_gone_is_missing(monkeypatch):
    assert doctor.installed("tiktoken")
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert doctor.installed("tiktoken") is None


def test_the_doctor_says_what_to_do_about_what_is_missing(run, monkeypatch):
    real = doctor.installed
    monkeypatch.setattr(doctor, "installed", lambda p: None if p == "datasets" else real(p))
    monkeypatch.setattr("shutil.which", lambda name: None)
    found = {finding.what: finding for finding in doctor.findings()}
    assert "pip install datasets" in found["datasets"].advice
    assert "C++ compiler" in found["compile for the CPU"].advice
    assert "- datasets: pip install datasets" in run("doctor")
