"""gpt2-edu export."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_exported_can_be_loaded(run, refused, folder, tmp_path, dtype):
    out = tmp_path / "out"
    assert dtype in run("export", folder, "--out", out, "--dtype", dtype)
    expected, got = GPT2.from_pretrained(folder), GPT2.from_pretrained(out)
    for (name, a), b in zip(expected.named_parameters(), got.parameters(), strict=True):
        assert torch.equal(a.to(getattr(torch, dtype)).float(), b), name
    assert "is not an empty folder" in refused("export", folder, "--out", out)
