"""Words that the model has never read."""

from ...exercise import Mistake

ORDER = 80
KIND = "explore"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
The Crane World model has 1,024 ids, but many never occur in a story. As inputs, their rows of the token table have never been trained, so a model whose table is frozen cannot know what they mean. How many **different** ids of the four questions below occur in none of the 2,000 stories of `crane_ids()`?
"""

HINTS = (
    "`set(crane_ids().tolist())` has all ids that occur in stories, and the `<|endoftext|>`.",
    "Put the ids of the four questions into a second set. `-` leaves what only the left one has.",
    "`len(asked - read)`. A set counts an id once, in however many questions it is.",
)

START = """
from gpt2_edu import load_tokenizer
from gpt2_edu.training.plain import crane_ids

encoding = load_tokenizer("crane")
questions = [
    "What colour was the kite?",
    "How many ducks were left?",
    "Who had lost the kite?",
    "Where were the ducks?",
]
unread_ids = ...
"""

SOLUTION = """
from gpt2_edu import load_tokenizer
from gpt2_edu.training.plain import crane_ids

encoding = load_tokenizer("crane")
questions = [
    "What colour was the kite?",
    "How many ducks were left?",
    "Who had lost the kite?",
    "Where were the ducks?",
]
read = set(crane_ids().tolist())
asked = {i for question in questions for i in encoding.encode(question)}
unread_ids = len(asked - read)
"""

right = 3

MISTAKES = (
    Mistake(
        "That is how many different ids the questions have. How many of them occur in no story? (A set of tensors contains none of them: use `.tolist()`.)",
        ("asked - read", "asked"),
    ),
    Mistake(
        "Those are the ids that do occur in stories. The others are asked for.",
        ("asked - read", "asked & read"),
    ),
    Mistake(
        "That is how many ids of the stories are in no question. It is the other way round: `asked - read`.",
        ("asked - read", "read - asked"),
    ),
    Mistake(
        "That counts an id once for each place where it occurs. Each different id counts once.",
        (
            "len(asked - read)",
            "sum(i not in read for q in questions for i in encoding.encode(q))",
        ),
    ),
    Mistake(
        "That is how many ids of the whole vocabulary never occur in a story. Take those that are in the four questions.",
        ("len(asked - read)", "encoding.n_vocab - len(read)"),
    ),
    Mistake(
        "Those are the ids themselves. How many are they? `len(…)`",
        ("len(asked - read)", "sorted(asked - read)"),
    ),
    Mistake(
        "Only one question is looked at. Put the ids of all four into one set.",
        (
            "{i for question in questions for i in encoding.encode(question)}",
            "set(encoding.encode(questions[0]))",
        ),
    ),
    Mistake(
        "`^` leaves what is in one of the sets only, whichever it is. Use `asked - read`.",
        ("asked - read", "asked ^ read"),
    ),
    Mistake(
        "`|` joins the two sets. Use `asked - read`.",
        ("asked - read", "asked | read"),
    ),
    Mistake(
        "That is how many tokens the questions have. How many different ones among them occur in no story?",
        ("len(asked - read)", "sum(len(encoding.encode(q)) for q in questions)"),
    ),
    Mistake(
        "That is how many of the questions have such an id. How many ids are they?",
        (
            "len(asked - read)",
            "sum(bool(set(encoding.encode(q)) - read) for q in questions)",
        ),
    ),
    Mistake(
        "That is how many different ids the stories have. Subtract them from those of the questions.",
        ("len(asked - read)", "len(read)"),
    ),
    Mistake(
        "That is a share of the questions' ids. How many are they?",
        ("len(asked - read)", "len(asked - read) / len(asked)"),
    ),
)
