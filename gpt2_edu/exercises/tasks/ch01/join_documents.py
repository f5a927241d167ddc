"""Documents in one row of ids."""

from gpt2_edu import load_tokenizer

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
MINUTES = 10

TASK = """
A model is trained on one long row of ids, in which `<|endoftext|>`, id 50256, stands between the documents. Write `join_documents(documents, encoding)`: the ids of each document, each followed by one 50256.

`documents` is a list of strings, `encoding` is `load_tokenizer("gpt2")`.

`join_documents(["A crane", "ate"], encoding)` gives `[32, 41175, 50256, 378, 50256]`.

A document may itself hold the characters `<|endoftext|>`, because somebody wrote about language models. That must not end it: there they are ordinary text, seven tokens.
"""

HINTS = (
    "Encode one document at a time, and put the number 50256 into the list yourself. Do not join the texts first.",
    "If you say nothing about special tokens, `encoding.encode` refuses a text that holds one. The chapter's fold *Deeper: when somebody types the special token* shows the argument that makes it plain text.",
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
        "What somebody typed has become the special token, and ends the document in the middle. Inside a document nothing may be special.",
        """
def join_documents(documents, encoding):
    text = "".join(document + "<|endoftext|>" for document in documents)
    return encoding.encode(text, allowed_special={"<|endoftext|>"})
""",
    ),
    Mistake(
        "Your end of a document is seven ordinary tokens. Append the number 50256 instead of the characters.",
        """
def join_documents(documents, encoding):
    text = "".join(document + "<|endoftext|>" for document in documents)
    return encoding.encode(text, disallowed_special=())
""",
    ),
    Mistake(
        "Without a word about special tokens, `encode` refuses a text that holds one. Say that nothing is forbidden as text: `disallowed_special=()`.",
        """
def join_documents(documents, encoding):
    ids = []
    for document in documents:
        ids += encoding.encode(document) + [50256]
    return ids
""",
    ),
    Mistake(
        "The last document has no end. Each document is followed by 50256, the last one too.",
        """
def join_documents(documents, encoding):
    ids = []
    for i, document in enumerate(documents):
        ids += [50256] if i else []
        ids += encoding.encode(document, disallowed_special=())
    return ids
""",
    ),
    Mistake(
        "You put 50256 before each document. Here it follows each.",
        """
def join_documents(documents, encoding):
    ids = []
    for document in documents:
        ids += [50256] + encoding.encode(document, disallowed_special=())
    return ids
""",
    ),
    Mistake(
        "You gave a list for each document. The result is one row of ids: use `+=` or `extend`, not `append`.",
        """
def join_documents(documents, encoding):
    return [
        encoding.encode(document, disallowed_special=()) + [50256]
        for document in documents
    ]
""",
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
