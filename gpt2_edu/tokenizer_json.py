"""A tokenizer.json of the Hugging Face hub, with the methods of ``tiktoken.Encoding``.

Llama 3, Qwen and SmolLM2 keep their byte-pair vocabularies so. The ``tokenizers`` package reads
and applies them: ``pip install 'gpt2-edu[hub]'``. Source of the table of bytes: Radford et al.
2019, in OpenAI's encoder.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .machine.files import read_object, write_text
from .machine.messages import escape_control, short_repr

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
END = "generation_config.json"  # says which token ends a text


def bytes_of_characters() -> dict[str, int]:
    """The character by which a tokenizer.json writes each byte: itself if it can be printed.

    The others are the characters from number 256 on, in order.
    """
    printed = [b for b in range(256) if chr(b).isprintable() and chr(b) not in " \xa0\xad"]
    others = [b for b in range(256) if b not in printed]
    return {chr(b): b for b in printed} | {chr(256 + i): b for i, b in enumerate(others)}


class TokenizerJSON:
    """Text to ids and back as ``tiktoken.Encoding`` does it: the methods that this package calls.

    Raises ValueError for a file of another kind than byte-level, such as SentencePiece's, and for
    a folder that does not say which token ends a text.
    """

    def __init__(self, folder: Path, end_of_text: str) -> None:
        path = folder / FILE
        self.name = str(path)
        self._tokenizer = _read(path)
        self._text = path.read_text("utf-8")
        stored = read_object(path)
        decoder = stored.get("decoder") or {}
        kinds = {decoder.get("type"), *(part["type"] for part in decoder.get("decoders", []))}
        if "ByteLevel" not in kinds:
            raise ValueError(
                f"{path} is not a byte-level vocabulary like those of Llama 3, Qwen and SmolLM2: "
                f"its decoder is {short_repr(decoder.get('type'))}"
            )
        self._bytes = bytes_of_characters()
        self._special = {token["content"]: token["id"] for token in stored["added_tokens"]}
        self.n_vocab = 1 + max(self._tokenizer.get_vocab(with_added_tokens=True).values())
        self.eot_token = self._end_of_text(folder, end_of_text)

    def _end_of_text(self, folder: Path, usual: str) -> int:
        for file in (END, "config.json"):
            if (folder / file).is_file():
                ids = read_object(folder / file).get("eos_token_id")
                first = ids[0] if isinstance(ids, list) and ids else ids
                if isinstance(first, int) and 0 <= first < self.n_vocab:
                    return first
        if usual in self._special:
            return int(self._special[usual])
        raise ValueError(f"{folder} does not say which token ends a text: no eos_token_id")

    @property
    def sha256(self) -> str:
        """Of all that decides how a text is encoded."""
        return hashlib.sha256(f"{self.eot_token} {self._text}".encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Write the file, and the token that ends a text, into a folder."""
        write_text(folder / FILE, self._text)
        write_text(folder / END, json.dumps({"eos_token_id": self.eot_token}) + "\n")

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which special tokens are text like any other."""
        return self.encode_ordinary_batch([text])[0]

    def encode_ordinary_batch(self, texts: list[str], *, num_threads: int = 1) -> list[list[int]]:
        """The same of several texts. How many threads do it is the package's own choice."""
        self._tokenizer.encode_special_tokens = True
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [list(one.ids) for one in encoded]

    def encode(self, text: str, *, allowed_special: Iterable[str] = ()) -> list[int]:
        """The ids of a text; ValueError for a special token in it unless ``"all"`` are allowed."""
        if allowed_special != "all":
            if found := next((token for token in self._special if token in text), None):
                raise ValueError(f"the text has the special token {found!r}, which is not allowed")
        self._tokenizer.encode_special_tokens = False
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of a token; KeyError for an id that has none."""
        written = self._tokenizer.id_to_token(token)
        if written is None:
            raise KeyError(token)
        if written in self._special:
            return written.encode()
        return bytes(self._bytes[character] for character in written)

    def decode_bytes(self, tokens: Iterable[int]) -> bytes:
        """The bytes of several tokens."""
        return b"".join(self.decode_single_token_bytes(token) for token in tokens)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of several tokens; "�" where their bytes are not UTF-8, or an id has none."""
        known = (self.decode_single_token_bytes(i) if self._has(i) else b"\xff" for i in tokens)
        return b"".join(known).decode("utf-8", errors="replace")

    def _has(self, token: int) -> bool:
        return self._tokenizer.id_to_token(token) is not None


def _read(path: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ImportError(
            f"{path} is read by the tokenizers package: pip install 'gpt2-edu[hub]'"
        ) from None
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the only class that the library raises
        raise ValueError(f"{path} cannot be read ({escape_control(str(error))[:300]})") from error
