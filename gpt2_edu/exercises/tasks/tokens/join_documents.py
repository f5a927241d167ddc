"""Documents in one sequence of ids."""

from gpt2_edu import load_tokenizer

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = """
A model is trained on one long sequence of ids, with `<|endoftext|>`, id 50256, between the documents. Write `join_documents(documents, encoding)`, which returns the ids of all documents, each followed by one 50256. (The chapter put it in front of each text. Between two documents, that makes no difference.)

`documents` is a list of strings, `encoding` is `load_tokenizer("gpt2")`.

`join_documents(["A crane", "ate"], encoding)` gives `[32, 41175, 50256, 378, 50256]`.

A document may itself contain the characters `<|endoftext|>`, because it is about language models. They must not end it. There they are ordinary text, seven tokens.
"""

HINTS = (
    "Encode one document at a time, and append the number 50256 to the list yourself. Do not join the texts first.",
    "If you say nothing about special tokens, `encoding.encode` raises an error for a text that contains one. The chapter's fold *Deeper: when somebody types the special token* shows the argument that makes it plain text.",
    "`encoding.encode(document, disallowed_special=())` treats everything as text.",
)

START = '''
def join_documents(documents, encoding):
    """documents a list of str; encoding GPT-2's. Returns a list of ids."""
    ...
'''

SOLUTION = """
def join_documents(documents, encoding):
    ids = []
    for document in documents:
        # nothing in a document is special, whatever somebody typed
        ids += encoding.encode(document, disallowed_special=())
        ids.append(50256)
    return ids
"""

MISTAKES = (
    Mistake(
        "The characters that somebody typed have become the special token, which ends the document in the middle. Inside a document nothing may be special.",
        code="""
def join_documents(documents, encoding):
    text = "".join(document + "<|endoftext|>" for document in documents)
    return encoding.encode(text, allowed_special={"<|endoftext|>"})
""",
    ),
    Mistake(
        "Your documents end in seven ordinary tokens. Append the number 50256 instead of the characters.",
        code="""
def join_documents(documents, encoding):
    text = "".join(document + "<|endoftext|>" for document in documents)
    return encoding.encode(text, disallowed_special=())
""",
    ),
    Mistake(
        "If you say nothing about special tokens, `encode` raises an error for a text that contains one. `disallowed_special=()` says that nothing is forbidden as text.",
        (", disallowed_special=()", ""),
    ),
    Mistake(
        "The last document has no end. Every document is followed by 50256, including the last.",
        ("for document in documents:", "for i, document in enumerate(documents):"),
        ("ids.append(50256)", "ids += [50256] if i < len(documents) - 1 else []"),
    ),
    Mistake(
        "You put 50256 in front of each document. In this task it follows each.",
        (
            "ids += encoding.encode(document, disallowed_special=())\n        ids.append(50256)",
            "ids.append(50256)\n        ids += encoding.encode(document, disallowed_special=())",
        ),
    ),
    Mistake(
        "You return a list for each document. The result is one list of ids, so use `+=` or `extend`, not `append`.",
        (
            "ids += encoding.encode(document, disallowed_special=())\n        ids.append(50256)",
            "ids.append(encoding.encode(document, disallowed_special=()) + [50256])",
        ),
    ),
    Mistake(
        "You append each document as a list within the list. The result is one list of ids, so use `+=` or `extend`.",
        (
            "ids += encoding.encode(document, disallowed_special=())",
            "ids.append(encoding.encode(document, disallowed_special=()))",
        ),
    ),
    Mistake(
        "Nothing ends the documents. Append 50256 after each.",
        (
            """\

        ids.append(50256)""",
            "",
        ),
    ),
    Mistake(
        "One 50256 stands at the beginning as well. Here it only follows each document.",
        ("ids = []", "ids = [50256]"),
    ),
    Mistake(
        "Only the whole is ended. Every document is followed by a 50256.",
        (
            """\
        ids.append(50256)
    return ids""",
            "    return [*ids, 50256]",
        ),
    ),
)


def right(documents, encoding):
    return [i for text in documents for i in [*encoding.encode_ordinary(text), encoding.eot_token]]


def cases():
    encoding = load_tokenizer("gpt2")
    return [
        Case("two short documents", (["A crane", "ate"], encoding)),
        Case("the two sentences", (["A crane ate fish.", "A crane lifted steel."], encoding)),
        Case("an empty document", (["", "Hello, I'm a language model,"], encoding)),
        Case(
            "somebody typed the special token",
            (["It ends with <|endoftext|>, says she.\n"], encoding),
        ),
    ]
