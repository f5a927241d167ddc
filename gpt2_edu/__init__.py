"""GPT-2, built to be read: the package behind the book."""

from .cache import KVCache
from .config import GPT2Config
from .generation import generate, pad_left, sample_next, stream
from .machine.device import pick_device
from .model import GPT2
from .packed import pack
from .tape import note, trace
from .tokenizer import load_tokenizer, stream_text

__version__ = "0.1.0"

__all__ = [
    "GPT2",
    "GPT2Config",
    "KVCache",
    "generate",
    "load_tokenizer",
    "note",
    "pack",
    "pad_left",
    "pick_device",
    "sample_next",
    "stream",
    "stream_text",
    "trace",
]
