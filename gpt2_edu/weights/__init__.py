"""Weights on disk and on the hub: Hugging Face's names and layouts, load and save."""

from .hugging_face import (
    CONFIG,
    WEIGHTS,
    config_to_hugging_face,
    from_hugging_face,
    read_config,
    to_hugging_face,
)
from .pretrained import load_pretrained, locate, save_pretrained

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
