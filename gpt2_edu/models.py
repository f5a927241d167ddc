"""A model and its tokenizer by a folder or name, whichever family it is of."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from .config import LlamaConfig, ModelConfig
from .llama import Llama
from .llama_weights import FAMILIES
from .machine.files import read_object
from .model import GPT2
from .tokenizer import Encoding, load_encoding
from .tokenizer_json import TokenizerJSON
from .weights import CONFIG, locate, read_config


def new_model(config: ModelConfig) -> GPT2 | Llama:
    """A new model of these sizes: a Llama for a LlamaConfig, otherwise a GPT2."""
    return Llama(config) if isinstance(config, LlamaConfig) else GPT2(config)


def load_model(name_or_path: str | PathLike[str]) -> GPT2 | Llama:
    """A GPT2, or a Llama where config.json names one of its families: llama, qwen2 or qwen3.

    See ``GPT2.from_pretrained`` for the paths, the names and the errors.
    """
    folder = locate(name_or_path, check=read_any_config)
    return _kind(folder / CONFIG).from_pretrained(folder)


def load_config(name_or_path: str | PathLike[str]) -> ModelConfig:
    """The sizes of a model, without its weights; paths, names and errors as in ``load_model``."""
    return read_any_config(locate(name_or_path, check=read_any_config) / CONFIG)


def read_any_config(path: Path) -> ModelConfig:
    """The sizes in a config.json of either family. Raises ValueError for that of another one."""
    config: ModelConfig = read_config(path, _kind(path).layout)
    return config


def _kind(path: Path) -> type[GPT2] | type[Llama]:
    return Llama if read_object(path).get("model_type") in FAMILIES else GPT2


def load_model_tokenizer(name_or_path: str | PathLike[str], model: GPT2 | Llama) -> Encoding:
    """The tokenizer that belongs to a model: the one that lies beside it, or that of its size.

    Raises ValueError if it has more tokens than the model, or fewer. Only a tokenizer.json may have
    fewer: the hub's models have rows up to a round number, which no token uses.
    """
    encoding = load_encoding(locate(name_or_path))
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
