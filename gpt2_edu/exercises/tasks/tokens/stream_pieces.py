"""Text as it comes, never half a character."""

import codecs
import sys

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = """
A program shows a model's text token by token. A token may end in the middle of a character. Write `stream_pieces(tokens)`. `tokens` is a list of bytes objects, one for each token, and the result is a list of strings of the same length. Entry `i` is what token `i` adds to the text that can be shown, that is, every character that is complete by now and was not shown before. The bytes of an unfinished character wait.

For `[b"A", b" \\xf0\\x9f", b"\\x90", b"\\x9f"]`, which is how GPT-2 writes `A 🐟`, the result is `["A", " ", "", "🐟"]`.

Do it without Python's incremental decoder. If the tokens end in the middle of a character, that character is not shown.
"""

HINTS = (
    "Keep all bytes so far, not only those of one token, since the bytes of a character may be spread over several.",
    '`data.decode("utf-8", errors="ignore")` leaves out what is not a complete character. At the end of the bytes so far, that is the unfinished one.',
    "After each token, decode all bytes so far. What is new since last time is `text[len(shown) :]`.",
)

START = '''
def stream_pieces(tokens):
    """tokens a list of bytes. Returns a list of str, as many."""
    ...
'''

SOLUTION = """
def stream_pieces(tokens):
    data, shown, pieces = b"", "", []
    for token in tokens:
        data += token
        # an unfinished character at the end is left out, for now
        text = data.decode("utf-8", errors="ignore")
        pieces.append(text[len(shown) :])
        shown = text
    return pieces
"""

MISTAKES = (
    Mistake(
        "Each token is decoded by itself, so half characters become �. Keep the bytes until the character is complete.",
        ("data += token", "data = token"),
        ('"ignore"', '"replace"'),
        ("text[len(shown) :]", "text"),
    ),
    Mistake(
        "Half characters are thrown away, so the fish never appears. Keep the waiting bytes for the next token.",
        ("data += token", "data = token"),
        ("text[len(shown) :]", "text"),
    ),
    Mistake(
        "A complete character waits for an incomplete one. The space before the fish could be shown at once.",
        code="""
def stream_pieces(tokens):
    data, pieces = b"", []
    for token in tokens:
        data += token
        try:
            pieces.append(data.decode("utf-8"))
            data = b""
        except UnicodeDecodeError:
            pieces.append("")
    return pieces
""",
    ),
    Mistake(
        "You return the whole text so far each time. Return only what is new.",
        ("text[len(shown) :]", "text"),
    ),
    Mistake(
        "Half a character makes the function raise an error. Decode so that an unfinished end is left out for now.",
        ("data += token", "data = token"),
        (', errors="ignore"', ""),
        ("text[len(shown) :]", "text"),
    ),
    Mistake(
        'With "replace" an unfinished character is shown as �. Leave it out for now, with "ignore".',
        ('"ignore"', '"replace"'),
    ),
    Mistake(
        "You remember only the last piece as shown. Compare with all the text that was shown so far.",
        ("shown = text", "shown = pieces[-1]"),
    ),
    Mistake(
        "Python's incremental decoder does all of this. Write it yourself: keep the bytes so far, and decode them after each token.",
        code="""import codecs

def stream_pieces(tokens):
    decoder = codecs.getincrementaldecoder("utf-8")()
    return [decoder.decode(token) for token in tokens]
""",
    ),
    Mistake(
        "This is the whole text as one string. Return a list, with an entry for each token.",
        ("return pieces", 'return "".join(pieces)'),
    ),
    Mistake(
        "You drop the waiting bytes as soon as something can be shown. Those of an unfinished character must wait for the next token.",
        (
            """\
pieces.append(text[len(shown) :])
        shown = text""",
            """\
pieces.append(text)
        data = b"" if text else data""",
        ),
    ),
    Mistake(
        "You remember how many bytes were shown, but a text is cut by characters, and é has two bytes. Count the characters.",
        ("shown = text", 'shown = text.encode("utf-8")'),
    ),
)


def right(tokens):
    decoder = codecs.getincrementaldecoder("utf-8")()
    return [decoder.decode(bytes(token)) for token in tokens]


class Watched(bytes):
    """Bytes that stop Python's incremental decoder, which adds them to those that wait."""

    def __radd__(self, waiting):
        if sys._getframe(1).f_globals.get("__name__") == "codecs":
            raise RuntimeError("Python's incremental decoder is not allowed here")
        return waiting + bytes(self)


def cases():
    several = "鶴 é 🐟🐟 fish".encode()
    return [
        Case("A and a fish", ([b"A", b" \xf0\x9f", b"\x90", b"\x9f"],)),
        Case("plain words", ([b"A", b" crane", b" ate", b" fish"],)),
        Case("byte by byte", ([bytes([byte]) for byte in several],)),
        Case("three bytes at a time", ([several[i : i + 3] for i in range(0, len(several), 3)],)),
        Case("half a character at the end", ([b"fish ", b"\xe9\xb6"],)),
        Case("no tokens", ([],)),
        Case("without the incremental decoder", ([Watched(b"A"), Watched(b" fish")],)),
    ]
