"""Every number in a chapter's prose is in one of its cells, and its arithmetic is right."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest

from gpt2_edu import course
from gpt2_edu.config import PRESETS
from gpt2_site.chapters import Page, pages
from tests.test_contents import GUESS


@pytest.fixture(params=pages(), ids=lambda page: page.name)
def chapter(request: pytest.FixtureRequest) -> Page:
    return request.param


# Up to a dozen, numbers count things that are in view, and name axes, heads and steps.
SMALL = 12
NUMBER = re.compile(
    r"(?<![\w.,/#-])"  # not within a name (GPT-2, float32), a path or a longer number
    r"-?\d+(?:[,_]\d{3})*(?:\.\d+)?"
    r"(?![\w]|\.\d|[,_]\d{3})"  # but 50 in "50%" and 0.9 in "0.9)"
)
MANY = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
# What carries a number without claiming one: each pattern says what it takes out.
NO_CLAIM = {
    "code blocks": r"^```.*?^```",
    "references to works": r"^## References.*",
    "how long a chapter takes": r"\*\*Time\*\*.*",
    "link targets": r"\]\([^)]*\)",
    "references within a work": r"\b(?:section|footnote|table|appendix|figure|page)s? [\d.]+",
    "references to chapters": r"\b[Cc]hapters? \d+(?:(?:, | and | to |–)\d+)*",
    "years": r"(?<![\d.])(?:19[89]\d|20[0-3]\d)\b",
    "code within a line": r"`[^`\n]*[^`\d\n][^`\n]*`",
}
# What is no chapter's own result: the sizes of the models, which tests of the package assert.
SIZES = {
    float(size)
    for c in PRESETS.values()
    for size in (c.vocab_size, c.block_size, c.n_embd, c.head_size, c.n_head, c.n_layer)
    + (3 * c.n_embd, 4 * c.n_embd)
} | {float(size) for size in course.SIZES.values()}
# A number that a chapter may say without computing it, and why.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "tokens": {
        "255": "the largest byte, by definition",
        "150,000": "about so many characters are in Unicode",
        "100,000": "the vocabularies of later models",
    },
    "mlp": {"70": "reported by Voita et al. 2023"},
    "gpt2": {
        "117": "printed in the paper",
        "50,304": "in other people's code",
        "47": "50,304 less 50,257",
        "8": "reported by Radford et al. 2019",
        "40": "reported by Radford et al. 2019",
        "175": "reported by Brown et al. 2020",
    },
    "weights": {"30": "a size taken at will"},
    "training": {
        "2.85": "reported by the authors of nanoGPT",
        "3.12": "reported by the authors of nanoGPT",
    },
    "generation": {
        "29": "the last but one of 30, in a sum",
        "40": "reported by Radford et al. 2019",
        "0.0001": "a probability taken at will",
        "50,304": "in other people's code",
    },
    "fast_cost": {"46": "reported by Chowdhery et al. 2022"},
    "bits": {"6.7": "reported by Dettmers et al. 2022"},
    "ask": {"13,000": "reported by Ouyang et al. 2022"},
    "how_big": {
        "5.76": "the budget of Hoffmann et al. 2022, which a cell has in FLOPs",
        "280": "reported by Hoffmann et al. 2022",
        "70": "reported by Hoffmann et al. 2022",
        "0.73": "reported by Kaplan et al. 2020",
    },
}


def prose(chapter: Page) -> str:
    """A chapter's sentences and tables, without what makes no claim about a number."""
    text = GUESS.sub("", chapter.markdown).replace("{,}", ",").replace("−", "-").replace("\\,", "")
    for pattern in NO_CLAIM.values():
        flags = re.M | re.S if pattern.startswith(("^```", "^## ")) else re.M
        text = re.sub(pattern, " ", text, flags=flags)
    return text


def value(number: str) -> float:
    return float(number.replace(",", "").replace("_", ""))


def decimals(number: str) -> int:
    return len(number.partition(".")[2])


def evidence(chapter: Page, *, lasting: bool) -> str:
    """What a chapter's code cells hold and show, as text; ``lasting`` leaves out times and such."""
    parts: list[str] = []
    for cell in nbformat.read(chapter.path, as_version=4).cells:
        if cell.cell_type == "code":
            passing = "nbval-ignore-output" in cell.metadata.get("tags", [])
            parts += [cell.source, *([] if lasting and passing else shown(cell))]
    return "\n".join(parts).replace("−", "-")


def shown(cell: Any) -> list[str]:
    texts = []
    for output in cell.outputs:
        texts.append(output.get("text", ""))
        data = output.get("data", {})
        texts.append(data.get("text/plain", ""))
        page = re.sub(
            r'<svg class="g2-drawing".*?</svg>', " ", data.get("text/html", ""), flags=re.S
        )
        texts.append(re.sub(r"<[^>]*>", " ", page))  # a number on an axis proves nothing
    return texts


PERCENT = re.compile(  # "5 %", "5%", "5 percent", and the 4 of "4 and 5 %"
    rf"(?:(?:,|,? and|,? or| to|–| %,?) ?{NUMBER.pattern})*\W? ?(?:%|percent|per cent)"
)


def is_computed(number: str, unit: str, percent: bool, computed: set[float]) -> bool:
    """Is the number there, or one that it rounds, or gives in percent or in millions?"""
    said, half = abs(value(number)), 0.5 * 10 ** -decimals(number) + 1e-9
    if said <= SMALL and said == int(said) and not unit:
        return True
    if unit in MANY:
        return any(abs(x / MANY[unit] - said) <= half for x in computed)
    rounded = "." in number  # a whole number must be there as such, unless it is a percentage
    return any(
        x == said
        or (rounded and abs(x - said) <= half)
        or (percent and x <= 1 and abs(100 * x - said) <= half)
        for x in computed
    )


# Arithmetic in a sentence, such as "ln 11 = 2.398" or "0.7 · 0.9 + 0.1 = 0.73", is worked out.
FIGURE = r"-?\d+(?:,\d{3})*(?:\.\d+)?"
TERM = rf"(?:ln |√)?\(*{FIGURE}\)*"
EQUATION = re.compile(rf"({TERM}(?: ?[-+*/] ?{TERM})*) = ({FIGURE})(?![\w*/^]| [-+*/])")
SIGNS = {"\\ln": "ln", "\\cdot": "*", "·": "*", "×": "*", "\\times": "*", "\\approx": "=", "≈": "="}


def equations(text: str) -> list[tuple[str, str]]:
    """All sums, products and logarithms of plain numbers, with what is said to come out."""
    for sign, plain_sign in SIGNS.items():
        text = text.replace(sign, plain_sign)
    text = re.sub(r" +", " ", text.replace("$", ""))
    found = []
    for match in EQUATION.finditer(text):
        before = text[: match.start()].rstrip()[-1:]
        whole = match[1].count("(") == match[1].count(")") and before not in [*"^_+-*/}"]
        if whole and re.search(r"[+*/ln√]|\d ?-", match[1]):
            found.append((match[1], match[2]))
    return found


def work_out(expression: str) -> float:
    source = re.sub(r"(ln |√)(\(*-?[\d.,]+\)*)", r"\1(\2)", expression)
    source = source.replace("ln ", "log").replace("√", "sqrt").replace(",", "")
    return float(eval(source, {"log": math.log, "sqrt": math.sqrt}))


def holds(expression: str, result: str) -> bool:
    """Up to one in the last place, since what is added was rounded as well."""
    return abs(work_out(expression) - value(result)) <= 1.01 * 10 ** -decimals(result)


def test_arithmetic_in_the_prose_is_right(chapter):
    wrong = [
        f"{e} = {r}, not {work_out(e)}" for e, r in equations(prose(chapter)) if not holds(e, r)
    ]
    assert not wrong, "\n".join(["", *wrong])


def unproven(chapter: Page, *, lasting: bool = False) -> dict[str, str]:
    """The numbers in a chapter's prose that no cell has, each with the words around it."""
    text, found = prose(chapter), {}
    proofs = [
        evidence(chapter, lasting=lasting),
        *(" ".join(e) for e in equations(text) if holds(*e)),
    ]
    computed = {abs(value(n)) for n in NUMBER.findall("\n".join(proofs))} | SIZES
    for number, around in claims(text, computed):
        found.setdefault(number, around)
    return found


def claims(text: str, computed: set[float]) -> Iterator[tuple[str, str]]:
    """The numbers of a text that nothing proves, each with the words around it."""
    for match in NUMBER.finditer(text):
        unit = re.match(r"\W?(\w*)", text[match.end() :])[1]
        percent = PERCENT.match(text, match.end()) is not None
        if not is_computed(match[0], unit, percent, computed):
            yield match[0], " ".join(text[max(match.start() - 50, 0) : match.end() + 30].split())


def test_every_number_in_the_prose_is_in_a_cell(chapter):
    found = unproven(chapter)
    lines = [f"{n}  in  … {words} …" for n, words in found.items() if n not in excepted(chapter)]
    assert not lines, "\n".join(["", "no cell computes", *lines])
    stale = set(excepted(chapter)) - set(unproven(chapter, lasting=True))
    assert not stale, f"exceptions that are not needed (any more): {stale}"


def excepted(chapter: Page) -> dict[str, str]:
    return EXCEPTIONS.get(chapter.slug, {})
