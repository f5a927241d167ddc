"""GPT-2 in a page: the modules of this folder, and the files that they need, as scripts.

A page that was opened from a disk may load scripts and nothing else; so weights and tokenizers
travel in scripts, too. They are made where they are needed and never stored twice.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from array import array
from itertools import pairwise
from pathlib import Path

from ..tokenizer import load_tokenizer

ASSETS = Path(__file__).resolve().parent.parent / "assets"


def merges(name: str) -> bytes:
    """A tokenizer in little: its 256 bytes in their order, and for each merge the two ids it joins.

    The ids are unsigned 16-bit numbers, the lower byte first. A third of the size of its ranks.
    """
    encoding = load_tokenizer(name)
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

    Each is compressed and written in base64; page.mjs reads them. Raises ValueError for other names.
    """
    files = {"merges": merges(name)} if name in ("crane", "gpt2") else {}
    if name == "crane":
        for file in ("config.json", "model.safetensors"):
            files[file] = (ASSETS / name / file).read_bytes()
    if not files:
        raise ValueError(f'there are files for "crane" and "gpt2", not for {name!r}')
    texts = {
        file: base64.b64encode(gzip.compress(content, mtime=0)).decode()
        for file, content in files.items()
    }
    return f"(globalThis.gpt2Files ??= {{}}).{name} = {json.dumps(texts)};\n"
