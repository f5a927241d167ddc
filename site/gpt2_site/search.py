"""Sphinx extension: what the search of the site finds, in one script of its own.

An entry is a place that a link can lead to, and what it is: a section, a term of the glossary, a
tensor, a function or class, a question, an exercise. What is written here is a script, so that it
loads from a disk as well; MiniSearch ranks the entries in the page (_static/find-rank.js).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, pairwise
from textwrap import shorten
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

from gpt2_site.folds import deeper_title

KINDS = ("section", "deeper", "term", "tensor", "code", "question", "exercise")
QUESTIONS = "Questions people ask"
SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.S)
CARD = re.compile(r'class="question" id="([^"]+)"')
DEFINED = re.compile(r"^(?:def|class) (\w+)", re.M)
NEVER = ("search", "book/contents")  # lists of what stands elsewhere
ASSETS = ("searchtools.js", "language_data.js", "doctools.js")


SIGNS = {
    **{"sqrt": "√", "cdot": "·", "times": "×", "top": "ᵀ", "sum": "Σ", "infty": "∞", "approx": "≈"},
    **{"le": "≤", "ge": "≥", "to": "→", "in": "∈", "ne": "≠", "ldots": "…", "odot": "⊙"},
    **{"epsilon": "ε", "varepsilon": "ε", "mu": "μ", "sigma": "σ", "Phi": "Φ", "theta": "θ"},
    **{"beta": "β", "gamma": "γ", "eta": "η", "tau": "τ", "lambda": "λ"},
    **{"alpha": "α", "partial": "∂"},
    **dict.fromkeys(("left", "right", "quad", "qquad", "limits", "big", "Big"), ""),
}


class Entry(NamedTuple):
    """A place: its anchor on the page, what it is, what it is called, and its text."""

    anchor: str
    kind: str
    title: str
    text: str


def collect(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document) -> None:
    """Take down the places of a page."""
    if doctree is None or page in NEVER:
        return
    title = re.sub(r"<[^>]+>", "", context["title"])
    found = list(places(page, doctree))
    if found:
        index(app).append((page, title, found))


def index(app: Sphinx) -> list[Any]:
    return vars(app).setdefault("places_to_find", [])


def places(page: str, doctree: nodes.document) -> Iterator[Entry]:
    tests = "/practice/" in page or page.startswith("book/review_")
    for section in doctree.findall(nodes.section):
        heading = read(section[0])
        anchor = section["ids"][0]
        own = [node for node in section[1:] if not isinstance(node, nodes.section)]
        kind = "section"
        if page == "book/glossary" and section.parent is not doctree:
            kind = "term"
        elif "/practice/" in page and re.match(r"\d+\. ", heading):
            kind = "exercise"
        elif isinstance(section[0], deeper_title):
            kind = "deeper"
        text = words(own)
        if tests:  # the task; what follows would give the answer away
            text = "" if heading == "Questions" else shorten(text, 400, placeholder="")
        elif page == "book/questions":  # each question is a place of its own
            text = ""
        yield Entry(anchor, kind, heading, text)
        yield from asked(anchor, heading, own)
        if page == "book/notation":
            for name, *rest in rows(own, "name"):
                yield Entry(anchor, "tensor", name, "; ".join(rest))
        for block in (b for node in own for b in node.findall(nodes.literal_block)):
            for name in DEFINED.findall(block.astext()):
                yield Entry(anchor, "code", name, signature(block.astext(), name))


def words(own: list[nodes.Node]) -> str:
    """What is read there: prose, tables and formulas; of code the comments and names are enough."""
    read_here = (nodes.paragraph, nodes.math_block)
    leaves = (leaf for node in own for leaf in node.findall(lambda n: isinstance(n, read_here)))
    return squeeze(" ".join(map(read, leaves)))


def read(leaf: nodes.Node) -> str:
    """A paragraph or a heading, its formulas as a person would type them."""
    parts = []
    for part in leaf.findall(lambda n: isinstance(n, (nodes.Text, nodes.math, nodes.math_block))):
        if isinstance(part, nodes.Text):
            inside = isinstance(part.parent, (nodes.math, nodes.math_block))
            parts.append(typed(part.astext()) if inside else part.astext())
    return squeeze("".join(parts).replace("**", ""))


def typed(formula: str) -> str:
    r"""LaTeX as plain signs: ``\sqrt{d}`` is √d."""
    formula = re.sub(r"\\(?:mathrm|text|operatorname|mathbf)\{([^}]*)\}", r"\1", formula)
    formula = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", formula)
    formula = re.sub(r"\\([A-Za-z]+) ?", lambda found: SIGNS.get(found[1], found[1] + " "), formula)
    return re.sub(r"\\[,;!: ]|[{}]", "", formula)


def squeeze(text: str) -> str:
    return " ".join(text.replace("\u00ad", "").split())


def signature(code: str, name: str) -> str:
    return squeeze(re.search(rf"(?:def|class) {name}\b.*", code)[0])


def asked(anchor: str, heading: str, own: list[nodes.Node]) -> Iterator[Entry]:
    """Questions: those that people ask, in their folds, and those of the practice pages."""
    if heading == QUESTIONS:
        raw = "".join(n.astext() for node in own for n in node.findall(nodes.raw))
        for question in SUMMARY.findall(raw):
            yield Entry(anchor, "question", squeeze(re.sub(r"<[^>]+>", "", question)), "")
    elif heading == "Questions":
        for card, question in pairwise(own):  # practice.py sets them in cards
            if found := CARD.search(card.astext()):
                yield Entry(found[1], "question", squeeze(question.astext()), "")
    elif heading not in ("References", "The projects"):
        for question, *rest in rows(own, "question"):
            yield Entry(anchor, "question", question, " ".join(rest))


def rows(own: list[nodes.Node], first: str) -> Iterator[list[str]]:
    """The rows of tables whose first column has that name."""
    for table in (t for node in own for t in node.findall(nodes.table)):
        if table.next_node(nodes.entry).astext() == first:
            for row in list(table.findall(nodes.row))[1:]:
                yield [squeeze(cell.astext()) for cell in row]


def once(pages: list[Any]) -> list[Any]:
    """Of functions of one name the first that a chapter defines, or else the first of all."""
    order = sorted(pages, key=lambda one: ("/practice/" in one[0], one[0]))
    first: dict[str, Entry] = {}
    for entry in chain.from_iterable(entries for *_, entries in order):
        if entry.kind == "code":
            first.setdefault(entry.title, entry)
    return [
        (page, title, [e for e in entries if e.kind != "code" or first[e.title] is e])
        for page, title, entries in order
    ]


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    pages = once(index(app))
    stored = {
        "kinds": KINDS,
        "pages": [[page, title] for page, title, _ in pages],
        "places": [
            [number, entry.anchor, KINDS.index(entry.kind), entry.title, entry.text]
            for number, (*_, entries) in enumerate(pages)
            for entry in entries
        ],
    }
    text = json.dumps(stored, ensure_ascii=False, separators=(",", ":"))
    static = app.outdir / "_static"
    (static / "find-index.js").write_text(f"globalThis.gpt2Find = {text};\n", encoding="utf-8")
    for name in ASSETS:  # of the search that this one replaces
        (static / name).unlink(missing_ok=True)
    (app.outdir / "searchindex.js").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
