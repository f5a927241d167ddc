"""Weights on disk and on the hub: Hugging Face's names and layouts, load and save."""

from .pretrained import CONFIG, WEIGHTS, load_pretrained, locate, save_pretrained

__all__ = ["CONFIG", "WEIGHTS", "load_pretrained", "locate", "save_pretrained"]
