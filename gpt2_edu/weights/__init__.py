"""Weights on disk and on the hub: Hugging Face's names and layouts, load and save."""

from .hub import CONFIG, WEIGHTS
from .pretrained import (
    config_to_hugging_face,
    from_hugging_face,
    load_pretrained,
    locate,
    named_path,
    read_config,
    require_finite,
    save_pretrained,
    save_tensors,
    to_hugging_face,
)

__all__ = [
    "CONFIG",
    "WEIGHTS",
    "config_to_hugging_face",
    "from_hugging_face",
    "load_pretrained",
    "locate",
    "named_path",
    "read_config",
    "require_finite",
    "save_pretrained",
    "save_tensors",
    "to_hugging_face",
]
