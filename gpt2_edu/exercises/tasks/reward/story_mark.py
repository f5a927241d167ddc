"""A mark with a loophole."""

from gpt2_edu import crane

from ...exercise import Case, Mistake

ORDER = 15
KIND = "write"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = r"""
Write the reward: `story_mark(text)` returns 1.0 for a right story and 0.0 for anything else. `crane.judge(text)` has the attributes `kind` ("story", "sentence" or None), `grammatical` and `fails_at` (an index, or None).

A reward is used by a model that tries everything. A text such as *A crane ate fish.* is a right *sentence* of the language, and much easier to write than a story. It should get 0.0.
"""

HINTS = (
    "`grammatical` is true for stories and for single sentences.",
    "`kind` tells the two apart.",
)

START = '''
from gpt2_edu import crane


def story_mark(text):
    """A text. Returns 1.0 or 0.0."""
    ...
'''

SOLUTION = """
from gpt2_edu import crane


def story_mark(text):
    return float(crane.judge(text).kind == "story")
"""

MISTAKES = (
    Mistake(
        "A single sentence is grammatical, too. A model that is rewarded like this soon writes nothing but *A crane ate fish.*",
        ('.kind == "story"', ".grammatical"),
    ),
    Mistake(
        "This is 1.0 for a sentence and 0.0 for a story.",
        ('"story"', '"sentence"'),
    ),
    Mistake(
        "This rewards what is wrong.",
        ('== "story"', '!= "story"'),
    ),
    Mistake(
        "This rewards longer texts as well as right ones. Only right or wrong was asked for.",
        (
            'float(crane.judge(text).kind == "story")',
            'float((crane.judge(text).kind == "story") * len(text))',
        ),
    ),
    Mistake(
        "Part of a story is rewarded. A text that leaves the language halfway gets 0.0.",
        (
            'float(crane.judge(text).kind == "story")',
            "min(1.0, (crane.judge(text).fails_at or len(text)) / max(len(text), 1))",
        ),
    ),
    Mistake(
        'A text that is neither a story nor a sentence gets 1.0 as well. Only `kind == "story"` does.',
        ('crane.judge(text).kind == "story"', 'crane.judge(text).kind != "sentence"'),
    ),
    Mistake(
        "A single sentence gets half a mark, which is what a model would settle for. It should get 0.0.",
        (
            'return float(crane.judge(text).kind == "story")',
            'return {"story": 1.0, "sentence": 0.5}.get(crane.judge(text).kind, 0.0)',
        ),
    ),
    Mistake(
        "What is no story should get 0.0. A negative mark was not asked for.",
        (
            'return float(crane.judge(text).kind == "story")',
            'return 1.0 if crane.judge(text).kind == "story" else -1.0',
        ),
    ),
    Mistake(
        "A long text is not yet a story. `crane.judge(text).kind` says whether it is.",
        ('crane.judge(text).kind == "story"', "len(text) > 100"),
    ),
    Mistake(
        "A full stop is not yet a story. `crane.judge(text).kind` says whether it is.",
        ('crane.judge(text).kind == "story"', '"." in text'),
    ),
    Mistake(
        "The number of sentences does not tell whether they are right. `crane.judge(text).kind` does.",
        ('crane.judge(text).kind == "story"', 'text.count(".") > 1'),
    ),
    Mistake(
        "`fails_at` is None for a right text, so it is never 0 there. Use `kind`.",
        ('crane.judge(text).kind == "story"', "crane.judge(text).fails_at == 0"),
    ),
    Mistake(
        "`fails_at` is an index where the text goes wrong, so only wrong texts have one. Use `kind`.",
        ('crane.judge(text).kind == "story"', "bool(crane.judge(text).fails_at)"),
    ),
)


def right(text):
    verdict = crane.judge(text)
    return 1.0 if verdict.grammatical and verdict.kind != "sentence" else 0.0


def cases():
    story = crane.story(3)
    return [
        Case("a story", (story,)),
        Case("a single sentence", ("A crane ate fish.",)),
        Case("the first half of a story", (story[: len(story) // 2],)),
        Case("a story with a word too many", (story + " crane",)),
        Case("many cranes", ("crane crane crane",)),
    ]
