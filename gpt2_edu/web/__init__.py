"""GPT-2 in a page: the modules of this folder, and the files that they need, as scripts.

A page that was opened from a disk may load scripts and nothing else; so weights and tokenizers
travel in scripts, too. They are made where they are needed and never stored twice.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from array import array
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import tiktoken

from ..crane import story
from ..tokenizer import load_tokenizer
from ..weights import config_to_hugging_face, save_tensors, to_hugging_face

if TYPE_CHECKING:
    from ..model import GPT2

ASSETS = Path(__file__).resolve().parent.parent / "assets"


def merges(encoding: tiktoken.Encoding) -> bytes:
    """A tokenizer in little: its 256 bytes in their order, and for each merge the two ids it joins.

    The ids are unsigned 16-bit numbers, the lower byte first. A third of the size of its ranks.
    """
    tokens = [encoding.decode_single_token_bytes(i) for i in range(encoding.n_vocab - 1)]
    rank = {token: i for i, token in enumerate(tokens)}
    pairs = array("H")
    for i, token in enumerate(tokens[256:], start=256):
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            ranks = [rank.get(a + b, i) for a, b in pairwise(parts)]
            first = ranks.index(min(ranks))
            parts[first : first + 2] = [parts[first] + parts[first + 1]]
        pairs.extend(rank[part] for part in parts)
    if sys.byteorder == "big":
        pairs.byteswap()
    return b"".join(tokens[:256]) + pairs.tobytes()


def files_script(name: str) -> str:
    """A script that brings a page the files of the model "crane", or the tokenizer "gpt2".

    The config is text, weights are in base64, merges compressed with gzip before; page.mjs reads
    them. With the model come all words of Crane World, so that a page can say which word of a
    reader's the model has never met. Raises ValueError for other names.
    """
    if name not in ("crane", "gpt2"):
        raise ValueError(f'there are files for "crane" and "gpt2", not for {name!r}')
    files = {"merges": _packed(load_tokenizer(name))}
    if name == "crane":
        folder = ASSETS / name
        files["config.json"] = (folder / "config.json").read_text(encoding="utf-8")
        weights = (folder / "model.safetensors").read_bytes()
        files["model.safetensors"] = base64.b64encode(weights).decode()
        files["words"] = " ".join(sorted(_words()))
    return f"(globalThis.gpt2Files ??= {{}}).{name} = {json.dumps(files)};\n"


def save_for_page(model: GPT2, encoding: tiktoken.Encoding, path: Path) -> None:
    """One file for the book's pages: the weights, with config and tokenizer in their header.

    It is a safetensors file like any other. Raises ValueError if the tokenizer has another number
    of tokens than the model, or more than 65,536, which pages cannot read.
    """
    V = model.config.vocab_size
    if encoding.n_vocab != V:
        raise ValueError(
            f"the model has {V:,} tokens, the tokenizer {encoding.name!r} {encoding.n_vocab:,}: "
            "name the one that it was trained with"
        )
    if V > 2**16:
        raise ValueError(f"a page reads at most {2**16:,} tokens, the model has {V:,}")
    metadata = {
        "format": "pt",
        "gpt2-edu.config": json.dumps(config_to_hugging_face(model.config)),
        "gpt2-edu.merges": _packed(encoding),
    }
    save_tensors(to_hugging_face(model.state_dict()), path, metadata)


def _words() -> set[str]:
    """The words of Crane World as its stories write them; the first 1,200 stories have them all."""
    return {word for seed in range(1200) for word in re.findall("[A-Za-z]+", story(seed))}


def _packed(encoding: tiktoken.Encoding) -> str:
    return base64.b64encode(gzip.compress(merges(encoding), mtime=0)).decode()
