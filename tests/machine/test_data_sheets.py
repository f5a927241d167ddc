"""The table of GPUs: found by the names that they report, in plain units, with its sources."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu.machine import data_sheets


@pytest.mark.parametrize(
    ("reported", "precision", "peak"),
    [
        ("Tesla T4", "float16", 65e12),
        ("NVIDIA A100-SXM4-80GB", "bfloat16", 312e12),
        ("NVIDIA GeForce RTX 4090", "bfloat16", 165.2e12),
        ("NVIDIA H100 80GB HBM3", "bfloat16", 989.4e12),
        ("NVIDIA H200", "bfloat16", 989.4e12),
        ("h200", "float32", 67e12),
    ],
)
def test_a_device_is_known_by_the_name_that_it_reports(reported, precision, peak):
    assert data_sheets.device_peak(reported, precision) == peak


@pytest.mark.parametrize(
    ("device", "precision"),
    [
        ("NVIDIA H100 NVL", "bfloat16"),  # a cousin with other rates
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "bfloat16"),  # a slice
        ("Tesla T4", "bfloat16"),  # its matrix units have no bfloat16
        (torch.device("cpu"), "float32"),
        ("", "float32"),
    ],
)
def test_what_no_data_sheet_states_is_none(device, precision):
    assert data_sheets.device_peak(device, precision) is None


def test_a_cuda_device_is_asked_for_its_name(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H200")
    found = data_sheets.find_device(torch.device("cuda", 1))
    assert found is not None
    assert found.memory_bytes_per_second == 4.8e12


def test_the_table_is_in_plain_units_dense_and_sourced():
    """Tensor cores double with each halving of the width; a sparse figure would break the step."""
    assert len({device.name for device in data_sheets.DEVICES}) == len(data_sheets.DEVICES)
    for device in data_sheets.DEVICES:
        assert device.peak.keys() <= data_sheets.BYTES.keys()
        assert 8e12 <= device.peak["float32"] < device.peak["float16"] < 3e15
        assert 3e11 <= device.memory_bytes_per_second <= 1e13
        assert "NVIDIA" in device.source
        if "bfloat16" in device.peak:
            assert device.peak["bfloat16"] == device.peak["float16"]
            assert device.peak["float16"] / device.peak["tf32"] == pytest.approx(2, rel=0.02)


def test_an_unknown_precision_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="Known: float32, tf32, bfloat16, float16"):
        data_sheets.device_peak("NVIDIA H200", "bf16")
