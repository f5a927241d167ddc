"""``gpt2-edu tokenize``: text to tokens and back."""

from __future__ import annotations

from dataclasses import dataclass

from ..machine.messages import short_repr
from ..machine.options import option
from ..tokenizer import load_encoding
from . import command, standard_input


@dataclass(frozen=True, kw_only=True)
class TokenizeOptions:
    """What to cut into tokens."""

    text: str = option('the text; "-" reads it from standard input')
    tokenizer: str = option("gpt2, crane, or the path of a run, a model or a file of ranks", "gpt2")
    decode: bool = option("the text is a list of ids: turn them into text", False)
    ids: bool = option("print the ids alone, on one line", False)


@command(
    'gpt2-edu tokenize "A crane ate fish"',
    "gpt2-edu tokenize - --ids < story.txt",
    'gpt2-edu tokenize --decode "32 41175 15063 5916"',
    positional="text",
)
def tokenize(options: TokenizeOptions) -> None:
    """Show how a text is cut into tokens, or turn ids into text."""
    tokenizer = load_encoding(options.tokenizer)
    text = standard_input() if options.text == "-" else options.text
    if options.decode:
        words, n_vocab = text.replace(",", " ").split(), tokenizer.n_vocab
        wrong = [w for w in words if not (w.isdecimal() and len(w) < 10) or int(w) >= n_vocab]
        if wrong:
            raise ValueError(
                f"{short_repr(wrong[0])} is no id of {tokenizer.name!r}: an id is a number "
                f"from 0 to "
                f"{n_vocab - 1:,}"
            )
        print(tokenizer.decode([int(word) for word in words]))
        return
    ids = tokenizer.encode_ordinary(text)
    if options.ids:
        print(*ids)
        return
    for i in ids:
        piece = tokenizer.decode_single_token_bytes(i)
        try:
            as_text = repr(piece.decode())
        except UnicodeDecodeError:  # part of a character
            as_text = repr(piece)
        print(f"{i:>6}  {as_text}")
    print(f"{len(ids)} tokens, {len(text)} characters, {len(text.encode())} bytes")
