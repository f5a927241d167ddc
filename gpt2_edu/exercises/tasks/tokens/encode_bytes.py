"""From bytes to ids."""

import tiktoken

from gpt2_edu import load_tokenizer

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 15

TASK = """
Write the heart of the tokenizer. `encode_bytes(data, ranks)` takes one piece of text as bytes, and a dictionary that gives each token's rank, which is also its id. Start from single bytes. Among all neighbours whose joined bytes are in `ranks`, merge the pair with the **lowest** rank; if it occurs several times, merge the leftmost. Repeat until no pair can be merged. Return the ids as a list.

Here is a small example to follow by hand. With `ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4}`, the bytes `b"abc"` become `a` and `bc`, so the result is `[0, 3]`. Both `ab` and `bc` could be merged, but `bc` was learned earlier.
"""

HINTS = (
    "The single bytes are `tokens = [bytes([byte]) for byte in data]`. Then comes a loop that ends when there is nothing left to merge.",
    "Neighbours are `tokens[i] + tokens[i + 1]` for `i` in `range(len(tokens) - 1)`. Keep the positions `i` whose joined bytes are in `ranks`.",
    "`best = min(places, key=lambda i: ranks[tokens[i] + tokens[i + 1]])` is where to merge: `tokens[best : best + 2] = [tokens[best] + tokens[best + 1]]`.",
)

START = '''
def encode_bytes(data, ranks):
    """data bytes; ranks {bytes: id}. Returns a list of ids."""
    ...
'''

SOLUTION = """
def encode_bytes(data, ranks):
    tokens = [bytes([byte]) for byte in data]
    while True:
        joined = [a + b for a, b in zip(tokens, tokens[1:])]
        places = [i for i, token in enumerate(joined) if token in ranks]
        if not places:
            return [ranks[token] for token in tokens]
        # the lowest rank was learned first; of equals, min takes the left one
        best = min(places, key=lambda i: ranks[joined[i]])
        tokens[best : best + 2] = [joined[best]]
"""

MISTAKES = (
    Mistake(
        "You take the longest token that fits, from left to right. Byte-pair encoding goes by rank: the pair that was learned first is merged first.",
        code="""
def encode_bytes(data, ranks):
    ids = []
    while data:
        n = max(n for n in range(1, len(data) + 1) if data[:n] in ranks)
        ids.append(ranks[data[:n]])
        data = data[n:]
    return ids
""",
    ),
    Mistake(
        "You merge another pair than the one with the lowest rank, such as the first from the left, or the longest. Look at all pairs, and take the lowest rank.",
        ("min(places, key=lambda i: ranks[joined[i]])", "places[0]"),
    ),
    Mistake(
        "You merge the pair with the highest rank. The lowest rank was learned first, so it goes first.",
        ("best = min(", "best = max("),
    ),
    Mistake(
        "You stop after one merge. Repeat until no pair of neighbours is in `ranks`.",
        ("    while True:\n", "    for step in range(2):\n"),
        ("if not places:", "if step or not places:"),
    ),
    Mistake(
        "These are the tokens as bytes. Look up each of them in `ranks` at the end, and return the ids.",
        ("[ranks[token] for token in tokens]", "tokens"),
    ),
    Mistake(
        "These are the single bytes as numbers. Nothing is merged, and GPT-2's ids of the bytes are not the bytes themselves.",
        code="""
def encode_bytes(data, ranks):
    return list(data)
""",
    ),
    Mistake(
        "Of several equal pairs you merge the rightmost. Take the leftmost.",
        ("min(places,", "min(reversed(places),"),
    ),
    Mistake(
        "Nothing is merged here. Merge the pair with the lowest rank, and repeat until no pair of neighbours is in `ranks`.",
        ("if not places:", "if True:"),
    ),
    Mistake(
        "The entries of bytes are numbers. Begin with bytes of length 1: `[bytes([byte]) for byte in data]`.",
        ("[bytes([byte]) for byte in data]", "list(data)"),
    ),
    Mistake(
        "You go through the bytes once, from left to right. After each merge look at all pairs again, and take the one of the lowest rank.",
        code="""
def encode_bytes(data, ranks):
    tokens, i = [bytes([byte]) for byte in data], 0
    while i < len(tokens) - 1:
        if tokens[i] + tokens[i + 1] in ranks:
            tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
        else:
            i += 1
    return [ranks[token] for token in tokens]
""",
    ),
)


def right(data, ranks):
    encoding = tiktoken.Encoding("practice", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    return encoding._core_bpe.encode_single_piece(data)


def cases():
    small = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4}
    single = {b"a": 0, b"b": 1, b"c": 2, b"d": 3}
    grown = {**single, b"bc": 4, b"bcd": 5, b"abcd": 6, b"ab": 7}
    return [
        Case("three bytes, two possible merges", (b"abc", small)),
        Case("one pair three times, and one more byte", (b"bcbcabca", small)),
        Case("three equal bytes", (b"aaa", {b"a": 0, b"aa": 1})),
        Case("four bytes that grow from the middle", (b"babcdb", grown)),
        Case("GPT-2's ␣crane", (b" crane", within(b" crane"))),
        Case("crane without its space", (b"crane", within(b"crane"))),
        Case("a long word", (b" tokenization", within(b" tokenization"))),
        Case("a fish of four bytes", (" 🐟".encode(), within(" 🐟".encode()))),
        Case("a single byte", (b"c", small)),
    ]


def within(data):
    """Of GPT-2's ranks those that can occur in these bytes: the others are never asked for."""
    parts = {data[i:j] for i in range(len(data)) for j in range(i + 1, len(data) + 1)}
    tokens = load_tokenizer("gpt2")._mergeable_ranks
    return {part: tokens[part] for part in sorted(parts) if part in tokens}
