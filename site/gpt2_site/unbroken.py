"""Sphinx extension: names, numbers with their nouns and formulas with their commas stay whole."""

import re

from docutils import nodes
from sphinx.application import Sphinx

from gpt2_site.search import typed

LONG = 25  # characters of code that may be parted after all
WORDY = 40  # characters of a table's cell that need room
NARROW = 20  # characters of a formula that fits into a line of a phone, with what is around it
# Code, pictures and what scripts draw stay as they are.
KEPT = re.compile(
    r"(<(pre|code|svg|math|script|style|textarea|gpt2-[\w-]+)\b.*?</\2>|<[^>]*>)"
    r"|GPT-\d"
    r"|(?P<noun>\b(?:[Cc]hapter|[Ff]igure|[Pp]art)s?)\s(?=(?:<a\b[^>]*>)?\d)"
    r"|(?P<number>\d)\s(?=%)",
    re.S,
)
CELL = re.compile(rf"<td>(?=<p>(?:(?:<(?!/p>)[^>]*>)*[^<]){{{WORDY}}})")
PIECE = re.compile(rf'<span class="pre">(?=[^<]{{{LONG},}}<)')
BEFORE, AFTER = re.compile(r"[(\[“‘]+$"), re.compile(r"[.,;:!?)\]’”]+")


def unbroken(body: str) -> str:
    """A page's text with names and numbers kept in one line, and what is long marked."""

    def kept(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        word = found["noun"] or found["number"]
        return f"{word}\u00a0" if word else f'<span class="whole">{found[0]}</span>'

    marked = CELL.sub('<td class="wordy">', PIECE.sub('<span class="pre long">', body))
    return KEPT.sub(kept, marked)


def keep_punctuation(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Formulas with their brackets and commas: a browser parts them, as it does pictures."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        at = parent.index(formula)
        around = [parent[at - 1] if at else None, *parent[at + 1 : at + 2]]
        texts = [str(node) if isinstance(node, nodes.Text) else "" for node in around]
        before, after = BEFORE.search(texts[0]), AFTER.match("".join(texts[1:]))
        if len(typed(formula.astext())) > NARROW or not (before or after):
            continue
        whole = nodes.inline(classes=["whole"])
        parent[at] = whole
        whole += formula
        if after:
            whole += nodes.Text(after[0])
            parent[at + 1] = nodes.Text(texts[1][after.end() :])
        if before:
            whole.insert(0, nodes.Text(before[0]))
            parent[at - 1] = nodes.Text(texts[0][: before.start()])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", keep_punctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
