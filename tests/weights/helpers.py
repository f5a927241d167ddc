"""What the tests of the weights share: checkpoints changed on disk, refusals."""

from __future__ import annotations

import json

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from gpt2_edu import GPT2


def assert_same_weights(one, other) -> None:
    one, other = one.state_dict(), other.state_dict()
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value.dtype == other[name].dtype, name
        assert torch.equal(value, other[name]), name


def rewrite(folder, change) -> None:
    """Apply a change to the tensors of a checkpoint, in Hugging Face's layout."""
    state = {k: v.clone() for k, v in load_file(folder / "model.safetensors").items()}
    change(state)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def reconfigure(folder, **settings) -> None:
    stored = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(stored | settings))


def refused(path, kind, *parts: str) -> str:
    with pytest.raises(kind) as error:
        GPT2.from_pretrained(path)
    for part in parts:
        assert part in str(error.value)
    return str(error.value)


def point_at(url: str, monkeypatch) -> None:
    """What HF_ENDPOINT does, for a library that is imported already."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
