"""Text to ids and back."""

from typing import Any

from ...tokenizer import SPLIT_PATTERN, load_tokenizer
from ..exercise import Case

DEFINES = ("encode", "decode")
IMPORTS = ("import math", "from itertools import pairwise", "import regex")

START = '''
def encode(text, ranks, pattern):
    """Text → ids. ranks: a token as bytes → id; pattern cuts into pieces."""
    ids = []
    for piece in regex.findall(pattern, text):
        parts = [bytes([byte]) for byte in piece.encode("utf-8")]
        ...  # merge the pair of lowest rank, until no pair has one
        ids += [ranks[part] for part in parts]
    return ids


def decode(ids, ranks):
    """Ids → text."""
    ...
'''

SOLUTION = '''
def encode(text, ranks, pattern):
    """Text → ids. ranks: a token as bytes → id; pattern cuts into pieces."""
    ids = []
    for piece in regex.findall(pattern, text):
        parts = [bytes([byte]) for byte in piece.encode("utf-8")]
        while len(parts) > 1:
            pairs = [a + b for a, b in pairwise(parts)]
            best = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
            if best not in ranks:
                break
            i = pairs.index(best)
            parts[i : i + 2] = [best]  # merge
        ids += [ranks[part] for part in parts]
    return ids


def decode(ids, ranks):
    """Ids → text."""
    token = {i: part for part, i in ranks.items()}
    return b"".join(token[i] for i in ids).decode("utf-8", errors="replace")
'''


def use(mine: Any, what: str, tokenizer: str, given: Any) -> Any:
    encoding = load_tokenizer(tokenizer)
    ranks = {encoding.decode_single_token_bytes(i): i for i in range(encoding.n_vocab)}
    if what == "encode":
        return mine.encode(given, ranks, SPLIT_PATTERN)
    return mine.decode(given, ranks)


def right(what: str, tokenizer: str, given: Any) -> Any:
    encoding = load_tokenizer(tokenizer)
    return encoding.encode_ordinary(given) if what == "encode" else encoding.decode(given)


def cases() -> list[Case]:
    return [
        Case("encode one word, of one piece", ("encode", "crane", "crane")),
        Case("encode a sentence", ("encode", "gpt2", "A crane ate fish.")),
        Case("a word that is no token of its own", ("encode", "gpt2", "This will be tokenized")),
        Case("spaces, line ends, digits", ("encode", "gpt2", "  two  spaces\n\nand 1024")),
        Case("signs of several bytes", ("encode", "gpt2", "naïve 🦩 鶴")),
        Case("an empty text", ("encode", "gpt2", "")),
        Case("decode a sentence", ("decode", "gpt2", [32, 41175, 15063, 5916])),
        Case("half a sign becomes �", ("decode", "gpt2", [447])),
        Case("a story's end", ("decode", "crane", [258, 483, 1023])),
    ]
