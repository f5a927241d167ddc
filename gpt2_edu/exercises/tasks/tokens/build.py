"""Text to ids and back."""

from functools import cache
from typing import Any

from ....tokenizer import SPLIT_PATTERN, load_tokenizer
from ...exercise import Case, Mistake

PARTS = ("encode", "decode")
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
    """Ids → text. Bytes that make no character become �."""
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
    """Ids → text. Bytes that make no character become �."""
    token = {i: part for part, i in ranks.items()}
    return b"".join(token[i] for i in ids).decode("utf-8", errors="replace")
'''


MERGING = SOLUTION[SOLUTION.index("        while len") : SOLUTION.index("        ids +=")]

MISTAKES = (
    Mistake(
        "You decode token by token, but a token may end in the middle of a character. Join the "
        "bytes of all tokens first, then decode once.",
        (
            'b"".join(token[i] for i in ids).decode("utf-8", errors="replace")',
            '"".join(token[i].decode("utf-8", errors="replace") for i in ids)',
        ),
    ),
    Mistake(
        "Half a character stops your `decode` with an error. Tell Python what to write there: "
        '`decode("utf-8", errors="replace")`.',
        (', errors="replace"', ""),
    ),
    Mistake(
        "You merge one pair only. Repeat until no two neighbours make a token, with `while` instead of "
        "`if`.",
        ("[best]  # merge", "[best]\n            break"),
    ),
    Mistake(
        "You take the longest token that fits, from left to right. Byte-pair encoding goes by rank, so "
        "of all neighbours the pair that was learned first is merged first.",
        (
            MERGING,
            """\
        rest, parts = piece.encode("utf-8"), []
        while rest:
            n = max(n for n in range(1, len(rest) + 1) if rest[:n] in ranks)
            parts.append(rest[:n])
            rest = rest[n:]
""",
        ),
    ),
    Mistake(
        "Of several equal pairs you merge one further to the right. Take the leftmost, as "
        "`pairs.index(best)` does.",
        ("pairs.index(best)", "len(pairs) - 1 - pairs[::-1].index(best)"),
    ),
    Mistake(
        "You merge another pair than the one of the lowest rank, such as the first from the left, or "
        "the longest. Take the lowest rank, wherever it is.",
        (
            "min(pairs, key=lambda pair: ranks.get(pair, math.inf))",
            'next((pair for pair in pairs if pair in ranks), b"")',
        ),
    ),
    Mistake(
        "You merge the pair of the highest rank, which was learned last. The lowest comes first.",
        (
            "min(pairs, key=lambda pair: ranks.get(pair, math.inf))",
            "max(pairs, key=lambda pair: ranks.get(pair, -1))",
        ),
    ),
    Mistake(
        "You cut the text at its spaces. The pattern cuts it into pieces, and the spaces stay in them: `regex.findall(pattern, text)`.",
        ("regex.findall(pattern, text)", "text.split()"),
    ),
    Mistake(
        "You merge across the whole text. Cut it into pieces first, `regex.findall(pattern, text)`: no pair reaches from one piece into the next.",
        ("regex.findall(pattern, text)", "[text]"),
    ),
    Mistake(
        "A pair that is no token has no rank, so `ranks[pair]` stops. `ranks.get(pair, math.inf)` puts it last.",
        ("ranks.get(pair, math.inf)", "ranks[pair]"),
    ),
    Mistake(
        "You merge pairs that are no token. If even the best pair is not in `ranks`, leave the loop.",
        (
            """\
            if best not in ranks:
                break
""",
            "",
        ),
    ),
    Mistake(
        "These are the tokens as bytes. Look up the id of each in `ranks`.",
        ("[ranks[part] for part in parts]", "parts"),
    ),
    Mistake(
        "`ranks` leads from bytes to ids. For `decode` turn it round first: `{i: part for part, i in ranks.items()}`.",
        ("token[i] for i", "ranks[i] for i"),
    ),
    Mistake(
        "The ids are not the places in the dictionary, whose order may be any. Turn it round: `{i: part for part, i in ranks.items()}`.",
        ("{i: part for part, i in ranks.items()}", "list(ranks)"),
    ),
    Mistake(
        "Nothing is merged here. Merge the pair of the lowest rank, and repeat until no two neighbours make a token.",
        (
            """\
            parts[i : i + 2] = [best]  # merge
""",
            """\
            break
""",
        ),
    ),
    Mistake(
        "You go through the piece once, from left to right. After each merge look at all pairs again, and take the one of the lowest rank.",
        (
            MERGING,
            """\
        i = 0
        while i < len(parts) - 1:
            if parts[i] + parts[i + 1] in ranks:
                parts[i : i + 2] = [parts[i] + parts[i + 1]]
            else:
                i += 1
""",
        ),
    ),
    Mistake(
        "The second of the pair is still there after the merge. Replace both: `parts[i : i + 2] = [best]`.",
        ("parts[i : i + 2] = [best]", "parts[i] = best"),
    ),
    Mistake(
        "You merge the pair of the highest rank, and of equals the one furthest to the right. The lowest was learned first, and of equals the leftmost counts.",
        (
            "min(pairs, key=lambda pair: ranks.get(pair, math.inf))",
            "max(pairs, key=lambda pair: ranks.get(pair, -1))",
        ),
        ("pairs.index(best)", "len(pairs) - 1 - pairs[::-1].index(best)"),
    ),
    Mistake(
        "Your `decode` returns a list. Join the bytes of all tokens first, then decode once.",
        (
            'b"".join(token[i] for i in ids).decode("utf-8", errors="replace")',
            '[token[i].decode("utf-8", errors="replace") for i in ids]',
        ),
    ),
    Mistake(
        '`str(…)` writes bytes as Python shows them, with b and quotes. Decode them: `.decode("utf-8", errors="replace")`.',
        (
            'b"".join(token[i] for i in ids).decode("utf-8", errors="replace")',
            'str(b"".join(token[i] for i in ids))',
        ),
    ),
    Mistake(
        'Your `decode` puts a space between the tokens. A space is part of a token already: join with `b""`.',
        ('b"".join', 'b" ".join'),
    ),
    Mistake(
        'The bytes are those of UTF-8, in which a character may have several: `decode("utf-8", errors="replace")`.',
        ('decode("utf-8"', 'decode("ascii"'),
    ),
)


@cache
def ranks_of(tokenizer: str) -> dict[bytes, int]:
    encoding = load_tokenizer(tokenizer)
    found = {encoding.decode_single_token_bytes(i): i for i in range(encoding.n_vocab)}
    return dict(sorted(found.items()))  # an order that is not that of the ids


def use(mine: Any, what: str, tokenizer: str, given: Any) -> Any:
    ranks = dict(ranks_of(tokenizer))
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
        Case("words that could be cut in two ways", ("encode", "gpt2", "breathless Strawberries")),
        Case("a word whose beginning could be merged first", ("encode", "gpt2", "weight")),
        Case("equal pairs: the leftmost first", ("encode", "gpt2", "wwwww !!!!!")),
        Case("spaces, line ends, digits", ("encode", "gpt2", "  two  spaces\n\nand 1024")),
        Case("characters of several bytes", ("encode", "gpt2", "naïve 🦩 鶴")),
        Case("an empty text", ("encode", "gpt2", "")),
        Case("decode a sentence", ("decode", "gpt2", [32, 41175, 15063, 5916])),
        Case("a character spread over three tokens", ("decode", "gpt2", [32, 12520, 238, 253])),
        Case("half a character becomes �", ("decode", "gpt2", [447])),
        Case("a story's end", ("decode", "crane", [258, 483, 1023])),
    ]
