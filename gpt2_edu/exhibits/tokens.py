"""A text as tokens and their ids."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..machine.display import Exhibit, figure
from ..tokenizer import Encoding, load_tokenizer


def token_label(token: bytes) -> str:
    """A token's bytes as a label: space as ␣, newline as ↵, a partial character in hexadecimal."""
    try:
        text = token.decode().translate(str.maketrans(" \n\r\t", "␣↵␍⇥"))
    except UnicodeDecodeError:
        text = ""
    return text if text and text.isprintable() else token.hex(" ").upper()


class Tokens(Exhibit):
    """The tokens of a text, each with its id.

    source: a text, or token ids. A leading space is part of its token and shown as ␣; a token that
    is only part of a character is shown in hexadecimal. ``labels`` are the texts shown, to label
    the axes of a heat map.
    """

    def __init__(
        self,
        source: str | Sequence[int],
        encoding: Encoding | None = None,
        *,
        caption: str = "",
    ) -> None:
        encoding = encoding or load_tokenizer("gpt2")
        self.ids = encoding.encode(source) if isinstance(source, str) else list(map(int, source))
        self.labels = [token_label(encoding.decode_single_token_bytes(i)) for i in self.ids]
        self.caption = caption

    def __repr__(self) -> str:
        return " | ".join(f"{label} {i}" for label, i in zip(self.labels, self.ids, strict=True))

    def html(self) -> str:
        items = "".join(
            f"<li><code>{escape(label)}</code> <span>{i}</span></li>"
            for label, i in zip(self.labels, self.ids, strict=True)
        )
        return figure("tokens", self.caption, f"<ol>{items}</ol>")
