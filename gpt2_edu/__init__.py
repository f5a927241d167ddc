"""GPT-2, built to be read: the package behind the book.

``gpt2_edu.GPT2`` and the other names below are imported on first use: torch takes seconds to
import, and ``gpt2-edu --help`` does not need it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `as` says that a name is exported
    from .cache import KVCache as KVCache
    from .config import GPT2Config as GPT2Config
    from .config import LlamaConfig as LlamaConfig
    from .generation import generate as generate
    from .generation import pad_left as pad_left
    from .generation import stream as stream
    from .llama import Llama as Llama
    from .machine.device import pick_device as pick_device
    from .model import GPT2 as GPT2
    from .models import load_model as load_model
    from .sampling import sample_next as sample_next
    from .tape import note as note
    from .tape import trace as trace
    from .tokenizer import load_tokenizer as load_tokenizer
    from .tokenizer import stream_text as stream_text

__version__ = "0.1.0"

_MODULES = {
    "GPT2": "model",
    "GPT2Config": "config",
    "KVCache": "cache",
    "Llama": "llama",
    "LlamaConfig": "config",
    "generate": "generation",
    "load_model": "models",
    "load_tokenizer": "tokenizer",
    "note": "tape",
    "pad_left": "generation",
    "pick_device": "machine.device",
    "sample_next": "sampling",
    "stream": "generation",
    "stream_text": "tokenizer",
    "trace": "tape",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
