"""Weights on disk and on the hub: Hugging Face's names and layouts, load and save."""

from .hub import CONFIG, WEIGHTS
from .pretrained import (
    config_to_hugging_face,
    from_hugging_face,
    load_pretrained,
    locate,
    read_config,
    save_pretrained,
    to_hugging_face,
)

__all__ = [
    "CONFIG",
    "WEIGHTS",
    "config_to_hugging_face",
    "from_hugging_face",
    "load_pretrained",
    "locate",
    "read_config",
    "save_pretrained",
    "to_hugging_face",
]
