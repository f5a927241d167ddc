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
        "That is True or False. Return 1.0 or 0.0: `float(…)`.",
        ("float(crane.judge(text).kind ==", "(crane.judge(text).kind =="),
    ),
    Mistake(
        'That is the kind of the text. Compare it with "story".',
        ('float(crane.judge(text).kind == "story")', "crane.judge(text).kind"),
    ),
    Mistake(
        "A single sentence gets half a mark. It is much easier to write than a story, so it should get 0.0.",
        (
            'float(crane.judge(text).kind == "story")',
            '{"story": 1.0, "sentence": 0.5}.get(crane.judge(text).kind, 0.0)',
        ),
    ),
    Mistake(
        "What is no story gets −1.0. It should get 0.0.",
        (
            'float(crane.judge(text).kind == "story")',
            '2.0 * (crane.judge(text).kind == "story") - 1.0',
        ),
    ),
    Mistake(
        "A text that is wrong gets a part of the mark. Only a right story is rewarded.",
        (
            'return float(crane.judge(text).kind == "story")',
            "verdict = crane.judge(text)\n"
            "    return 1.0 if verdict.grammatical else verdict.fails_at / len(text)",
        ),
    ),
    Mistake(
        'Whatever is not a single sentence is rewarded, also a text of no kind at all. Ask for "story".',
        ('== "story"', '!= "sentence"'),
    ),
    Mistake(
        "The verdict itself is never equal to a word. Its `kind` is.",
        ('.kind == "story"', ' == "story"'),
    ),
    Mistake(
        "The verdict is an object, which is true of any text. Ask for its `kind`.",
        ('crane.judge(text).kind == "story"', "bool(crane.judge(text))"),
    ),
    Mistake(
        "The `kind` of a wrong text is None, and `in` cannot look into it. Compare with `==`.",
        ('crane.judge(text).kind == "story"', '"story" in crane.judge(text).kind'),
    ),
    Mistake(
        "A text that is no story gets nothing at all. Return 0.0 for it.",
        (
            'return float(crane.judge(text).kind == "story")',
            'if crane.judge(text).kind == "story":\n        return 1.0',
        ),
    ),
    Mistake(
        "This looks at the end of the text only. Ask the judge.",
        ('crane.judge(text).kind == "story"', 'text.endswith(".")'),
    ),
    Mistake(
        "This rewards length only, and any long text has it. Ask the judge.",
        ('crane.judge(text).kind == "story"', "len(text.split()) > 10"),
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
        Case("many cranes, and a point", ("Crane " * 20 + "crane.",)),
    ]
