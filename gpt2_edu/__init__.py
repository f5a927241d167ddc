"""GPT-2, built to be read: the package behind the book."""

from .config import GPT2Config
from .device import pick_device
from .generation import generate, sample_next, stream
from .model import GPT2
from .tape import note, trace
from .tokenizer import load_tokenizer

__version__ = "0.1.0"

__all__ = [
    "GPT2",
    "GPT2Config",
    "generate",
    "load_tokenizer",
    "note",
    "pick_device",
    "sample_next",
    "stream",
    "trace",
]
