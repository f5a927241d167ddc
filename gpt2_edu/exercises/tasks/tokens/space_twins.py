"""Words that exist only inside a sentence."""

from ...exercise import Mistake

ORDER = 30
KIND = "explore"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = """
`␣crane` is one of GPT-2's tokens, but `crane` without the space is not. Is that rare?

Take GPT-2's 50,256 ordinary tokens as bytes. Some are longer than one byte and begin with a space. How many of those have **no** twin, that is, no token of the same bytes without the first space? (`␣crane` counts. `␣fish` does not, since `fish` is a token too.)

Report the number.
"""

HINTS = (
    '`encoding.decode_single_token_bytes(i)` gives token `i` as bytes, for `i` in `range(50256)`. `token[:1] == b" "` asks for the space, `token[1:]` is the rest.',
    "Put all tokens into a `set`, so that `in` is fast, and keep a list as well, to loop over.",
)

START = """
from gpt2_edu import load_tokenizer

encoding = load_tokenizer("gpt2")
space_twins = ...
"""

SOLUTION = """
from gpt2_edu import load_tokenizer

encoding = load_tokenizer("gpt2")
known = {encoding.decode_single_token_bytes(i) for i in range(50256)}
spaced = [t for t in known if t[:1] == b" " and len(t) > 1]
# 24,598 of 33,134: three quarters exist only as they stand in a sentence.
space_twins = sum(token[1:] not in known for token in spaced)
"""

right = 24598

MISTAKES = (
    Mistake(
        "These are all tokens that begin with a space. Count only those whose rest is no token.",
        code="space_twins = 33134",
    ),
    Mistake(
        "These are the tokens that do have a twin. The question is about the others.",
        code="space_twins = 8536",
    ),
    Mistake(
        "You counted the single space as well. Without its space nothing is left, and that is not a token. Take only tokens longer than one byte.",
        code="space_twins = 24599",
    ),
    Mistake(
        "It is the other way round. These are the tokens without a space that have no twin with one.",
        code="space_twins = 8585",
    ),
    Mistake(
        'Nothing is counted. An entry of bytes is a number, so compare a slice: `token[:1] == b" "`.',
        code="space_twins = 0",
    ),
    Mistake(
        "It is the other way round. These are the tokens without a space that have no twin with one.",
        code="space_twins = 8444",
    ),
    Mistake(
        "This is the share of them. Report the number.",
        code="space_twins = 24598 / 33134",
    ),
    Mistake(
        "These are all tokens that begin with a space, the single space as well. Count only those that are longer and whose rest is no token.",
        code="space_twins = 33135",
    ),
    Mistake(
        "You compare the tokens as text. Half a character becomes � there, and different tokens become equal. Compare the bytes.",
        code="space_twins = 24597",
    ),
    Mistake(
        "You compare the tokens as text. Half a character becomes � there, and different tokens become equal. Compare the bytes.",
        code="space_twins = 24596",
    ),
)
