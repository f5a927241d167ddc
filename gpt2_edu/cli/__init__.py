"""The command line: ``gpt2-edu prepare | train | generate | tokenize | inspect | export | …``."""

from .commands import main

__all__ = ["main"]
