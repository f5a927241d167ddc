"""gpt2-edu doctor."""

from __future__ import annotations

import torch

from gpt2_edu.cli import doctor


def test_the_doctor_names_what_there_is_and_what_is_missing(run, monkeypatch):
    assert doctor.installed("tiktoken")
    monkeypatch.setattr(doctor, "find_spec", lambda name: name != "datasets" or None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    shown = run("doctor")
    version = torch.__version__.partition("+")[0]  # a wheel need not say for what it was built
    for part in ("python", version, "safetensors", "device", "precision", "cache of weights"):
        assert part in shown
    assert "What could be better:\n- " in shown and "Nothing is missing" not in shown
    assert "- datasets: pip install datasets" in shown and "C++ compiler" in shown
    assert "- torch:" not in shown


def test_the_doctor_knows_a_gpu(monkeypatch):
    cuda = torch.device("cuda", 0)
    monkeypatch.setattr(doctor, "pick_device", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**30, 2**33))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H200")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    found = {what: shown for what, shown, _ in doctor.findings()}
    assert found["device"] == "cuda:0, NVIDIA H200, 1.0 of 8.0 GiB free"
    assert found["precision"] == "bfloat16, 989 TFLOP/s by data sheet"
