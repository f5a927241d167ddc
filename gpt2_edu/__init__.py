"""GPT-2, built to be read: the package behind the book.

``gpt2_edu.GPT2`` and the other names below are imported when they are first asked for: torch takes
seconds, and ``gpt2-edu --help`` need not wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cache import KVCache
    from .config import GPT2Config
    from .generation import generate, pad_left, sample_next, stream
    from .machine.device import pick_device
    from .model import GPT2
    from .packed import pack
    from .tape import note, trace
    from .tokenizer import load_tokenizer, stream_text

__version__ = "0.1.0"

_HOMES = {
    "GPT2": "model",
    "GPT2Config": "config",
    "KVCache": "cache",
    "generate": "generation",
    "load_tokenizer": "tokenizer",
    "note": "tape",
    "pack": "packed",
    "pad_left": "generation",
    "pick_device": "machine.device",
    "sample_next": "generation",
    "stream": "generation",
    "stream_text": "tokenizer",
    "trace": "tape",
}
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


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
