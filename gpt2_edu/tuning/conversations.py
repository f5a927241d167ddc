"""A file of conversations as data for the trainer, in the place of token shards.

Each line of a .jsonl file is a conversation, {"messages": [...]}, or a plain text, {"text": "…"}:
texts of the kind that the model was trained on keep it from forgetting them.
"""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..crane import Exchange
from ..data.prepare import is_for_validation
from ..data.shards import tokenizer_hash
from ..machine.files import named_path, parse_json
from ..machine.messages import join_some
from ..tokenizer import Encoding
from .messages import ASSISTANT, LossOn, Message, Rendered, example_batch, plain, render

SUFFIX = ".jsonl"
VALIDATION = 0.05  # share of the conversations


def conversation(asked: Exchange) -> list[Message]:
    """The messages of a question of Crane World: the story and the question, then the answer."""
    return [
        {"role": "user", "content": f"{asked.story} {asked.question}"},
        {"role": "assistant", "content": asked.answer},
    ]


def read_conversations(path: str | PathLike[str], encoding: Encoding) -> dict[int, Rendered]:
    """The conversations and texts of a file, each by the number of its line.

    Blank lines are left out. Raises FileNotFoundError if there is no such file, and ValueError,
    naming the line, for one that is neither a conversation nor a text.
    """
    place = named_path(path)
    if not place.is_file():
        raise FileNotFoundError(f"there is no file {str(place)!r} of conversations")
    found: dict[int, Rendered] = {}
    with place.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                found[number] = _read_line(line, f"{place}:{number}", encoding)
    if not found:
        raise ValueError(f"{place} has no conversations")
    return found


def _read_line(line: bytes, place: str, encoding: Encoding) -> Rendered:
    entry = parse_json(line, place)
    if not isinstance(entry, dict) or entry.keys() not in ({"messages"}, {"text"}):
        held = join_some(entry) if isinstance(entry, dict) else type(entry).__name__
        raise ValueError(
            f'{place} must be an object with "messages", or with a plain "text"; it holds {held}'
        )
    try:
        if "text" in entry:
            return plain(entry["text"], encoding)
        return render(entry["messages"], encoding)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from error


class Conversations:
    """One split of a file of conversations, each as a row of ``block_size`` tokens.

    A twentieth is drawn for validation, or if none is, the last. To a ``BatchLoader`` the rows are
    documents that lie one after the other, block_size + 1 positions each. Raises ValueError,
    naming the lines, for conversations that do not fit into a row, and for a single one, of which
    none is left for validation.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        encoding: Encoding,
        block_size: int,
        split: str = "train",
        loss_on: LossOn = "answers",
    ) -> None:
        self.folder: Path = named_path(path)
        self.split, self.encoding, self.block_size = split, encoding, block_size
        self.vocab_size, self.loss_on = encoding.n_vocab, loss_on
        rendered = read_conversations(path, encoding)
        if longer := [n for n, one in rendered.items() if len(one.ids) > block_size + 1]:
            most = max(len(rendered[n].ids) for n in longer) - 1
            raise ValueError(
                f"{self.folder} has conversations of more than block_size={block_size} tokens, up "
                f"to {most}, in line {join_some(longer)}. Shorten them, or raise block_size, at "
                "most to the window of the model"
            )
        examples, val = list(rendered.values()), split == "val"
        held = [n for n in range(len(examples)) if is_for_validation(n, 0, VALIDATION)]
        held = held or [n for n in (len(examples) - 1,) if n > 0]
        self.examples = [one for n, one in enumerate(examples) if (n in held) == val]
        if not self.examples:
            raise ValueError(
                f"{self.folder} has one conversation and none for validation: use eval_every=0"
            )
        digest = hashlib.sha256(f"{tokenizer_hash(encoding)} {loss_on}".encode())
        for example in self.examples:
            digest.update(repr(example).encode())
        self.fingerprint = digest.hexdigest()

    def __len__(self) -> int:
        """Positions, those that fill rows up included."""
        return len(self.examples) * (self.block_size + 1)

    def document_starts(self) -> NDArray[np.int64]:
        """The positions where the rows begin."""
        return np.arange(len(self.examples), dtype=np.int64) * (self.block_size + 1)

    def windows(self, starts: list[int], block_size: int) -> tuple[Tensor, Tensor]:
        """The rows that begin there as inputs and targets, int64 (B, T)."""
        rows = [self.examples[start // (block_size + 1)] for start in starts]
        return example_batch(rows, loss_on=self.loss_on, length=block_size)

    def question(self) -> list[int]:
        """The ids of the first conversation up to its last answer; of a text, its beginning."""
        (asked,) = self.encoding.encode(ASSISTANT, allowed_special="all")
        ids = next(
            (one.ids for one in self.examples if asked in one.ids), [self.encoding.eot_token]
        )
        return ids[: len(ids) - ids[::-1].index(asked)] if asked in ids else ids
