"""A model and its tokenizer by a folder or name, whichever family it is of."""

from __future__ import annotations

from os import PathLike

from .llama import Llama
from .llama_weights import FAMILIES
from .machine.files import read_json
from .model import GPT2
from .tokenizer import END_OF_TEXT, RANKS, Encoding, load_tokenizer
from .tokenizer_json import FILE, TokenizerJSON
from .weights import CONFIG, locate


def load_model(name_or_path: str | PathLike[str]) -> GPT2 | Llama:
    """A GPT2, or a Llama where config.json names one of its families: llama, qwen2 or qwen3.

    See ``GPT2.from_pretrained`` for the paths, the names and the errors.
    """
    folder = locate(name_or_path)
    stored = read_json(folder / CONFIG)
    of_llama = isinstance(stored, dict) and stored.get("model_type") in FAMILIES
    return (Llama if of_llama else GPT2).from_pretrained(folder)


def load_model_tokenizer(name_or_path: str | PathLike[str], model: GPT2 | Llama) -> Encoding:
    """The tokenizer that belongs to a model: the one that lies beside it, or that of its size.

    Raises ValueError if it has more tokens than the model, or fewer. Only a tokenizer.json may have
    fewer: the hub's models have rows up to a round number, which no token uses.
    """
    folder = locate(name_or_path)
    encoding: Encoding
    if isinstance(model, Llama) and (folder / FILE).is_file() and not (folder / RANKS).is_file():
        encoding = TokenizerJSON(folder, END_OF_TEXT)
    else:
        encoding = load_tokenizer(folder)
    check_vocabulary(model, encoding)
    return encoding


def check_vocabulary(model: GPT2 | Llama, encoding: Encoding) -> None:
    """Raise ValueError for a tokenizer whose ids are not those of the model."""
    rows, tokens = model.config.vocab_size, encoding.n_vocab
    if tokens > rows or (tokens < rows and not isinstance(encoding, TokenizerJSON)):
        raise ValueError(
            f"the model has {rows:,} tokens, the tokenizer {encoding.name!r} {tokens:,}: name the "
            "model's own with --tokenizer"
        )
