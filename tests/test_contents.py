"""What the pages promise is in the chapters: places, numbers, length, pictures, terms.

Every row of the two indexes leads to a heading that exists. Every number in a chapter's prose is in
one of its cells. No chapter is too long, or goes on for too long without a picture.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from myst_parser.mdit_to_docutils.base import default_slugify

from gpt2_edu import course
from gpt2_edu.config import PRESETS

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@cache
def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def markdown_of(path: Path) -> str:
    if path.suffix == ".ipynb":
        return "\n\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
    return path.read_text(encoding="utf-8")


# A guess to choose, with what is said of it: mostly not true, and read only by who chose it.
GUESS = re.compile(r'<details class="guess">.*?</details>', re.S)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


# Places: the last cell of a row says where, as
# [chapter 5, The triangle](../notebooks/05_mask.ipynb#the-triangle)

PLACE = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]*)\)")
QUOTED = re.compile(r'"([^"]+)"')


def plain(heading: str) -> str:
    """A heading's text, without links, emphasis and code marks."""
    return re.sub(r"[`*$]", "", re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading)).strip()


@cache
def headings(path: Path) -> dict[str, str]:
    """The anchors that a page's headings get on the site, with the headings' text."""
    found: dict[str, str] = {}
    for heading in re.findall(r"^#{1,3} (.+)$", without_code(markdown_of(path)), re.M):
        anchor = default_slugify(plain(heading))
        assert anchor not in found, f"{path.name}: two headings are called {plain(heading)!r}"
        found[anchor] = plain(heading)
    return found


@cache
def questions_of(path: Path) -> set[str]:
    summaries = re.findall(r"<summary>(.*?)</summary>", markdown_of(path), re.S)
    return {html.unescape(re.sub(r"<[^>]+>", "", summary)) for summary in summaries}


def what_is_wrong_with(page: Path, text: str, target: str, rest: str) -> str | None:
    """None, or why a link of an index does not lead where it says."""
    file, _, anchor = target.partition("#")
    goal = (page.parent / file).resolve() if file else page
    if not goal.is_file():
        return f"there is no {file}"
    if not anchor:
        return "it names no heading"
    if anchor not in headings(goal):
        return f"{goal.name} has no heading #{anchor}"
    number, _, heading = text.partition(", ")
    if heading != headings(goal)[anchor]:
        return f"the heading is {headings(goal)[anchor]!r}, the link says {heading!r}"
    if goal.suffix == ".ipynb" and number != f"chapter {int(goal.stem[:2])}":
        return f"{goal.stem} is not {number!r}"
    if anchor == "questions-people-ask":
        quoted = QUOTED.match(rest.lstrip(": "))
        if not quoted or quoted[1] not in questions_of(goal):
            return f"no such question: {rest[:60]!r}"
    return None


@dataclass
class Row:
    page: str
    cells: list[str]

    def __str__(self) -> str:
        return f"{self.page}: {self.cells[0][:70]}"

    def problems(self) -> list[str]:
        page, places = BOOK / self.page, self.cells[-1]
        found = []
        for link in PLACE.finditer(places):
            text, target = link.groups()
            wrong = what_is_wrong_with(page, text, target, places[link.end() :])
            if wrong:
                found.append(f"[{text}]({target}): {wrong}")
        if not PLACE.search(places):
            found.append("it has no place")
        return found


def rows(page: str) -> list[Row]:
    """The rows of all tables of a page, without their heads."""
    found: list[Row] = []
    for table in re.findall(r"(?:^\|.*\n)+", (BOOK / page).read_text(encoding="utf-8"), re.M):
        lines = table.strip().splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines[2:]]
        found += [Row(page, row) for row in cells]
    return found


@pytest.mark.parametrize("page", ["questions.md", "contents.md"])
def test_every_row_of_an_index_leads_to_a_heading_that_exists(page):
    assert rows(page)
    problems = [f"{row}\n    {problem}" for row in rows(page) for problem in row.problems()]
    assert not problems, "\n" + "\n".join(problems)


def test_every_chapter_is_in_the_contents():
    listed = (BOOK / "contents.md").read_text(encoding="utf-8")
    assert [path.stem for path in NOTEBOOKS if f"{path.stem}.ipynb#" not in listed] == []


def test_an_index_names_no_row_twice():
    for page in ("questions.md", "contents.md"):
        names = [row.cells[0] for row in rows(page)]
        assert len(names) == len(set(names))


# The instructors' table says what the chapters say of themselves.


def instructors_row(path: Path) -> str:
    text = markdown_of(path)
    title = plain(re.search(r"^# (.+)$", text, re.M)[1])
    minutes = re.search(r"\*\*Time\*\*: (\d+) minutes to read", text)[1]
    needed = re.search(r"\*\*You need\*\*(.*?)\*\*Time", text, re.S)[1]
    builds_on = ", ".join(str(int(n)) for n in re.findall(r"\((\d\d)_\w+\.ipynb\)", needed))
    number = int(path.stem[:2])
    return f"| [{number} {title}](../notebooks/{path.name}) | {minutes} | {builds_on or '–'} |"


def test_the_instructors_table_says_what_the_chapters_say():
    page = (BOOK / "instructors.md").read_text(encoding="utf-8")
    table = re.search(r"^\| chapter \| minutes .*\n.*\n((?:\|.*\n)*)", page, re.M)[1]
    expected = "".join(f"{instructors_row(path)}\n" for path in NOTEBOOKS)
    assert table == expected, f"the table should be:\n{expected}"


# Numbers: what the prose says, a cell has computed.

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
    "01_tokens": {
        "255": "the largest byte, by definition",
        "150,000": "about so many characters are in Unicode",
        "100,000": "the vocabularies of later models",
    },
    "02_embeddings": {"42": "an id taken at will"},
    "04_attention": {"0.9999": "a weight that is supposed"},
    "11_gpt2": {
        "117": "printed in the paper",
        "0.01": "in OpenAI's code",
        "50,304": "in other people's code",
    },
    "13_training": {
        "2.85": "reported by the authors of nanoGPT",
        "3.12": "reported by the authors of nanoGPT",
    },
    "14_generation": {
        "0.0001": "a probability taken at will",
        "95": "the level of the intervals, as evals draws them",
        "0.95": "what others use",
        "50,304": "in other people's code",
    },
    "17_fast": {"46": "reported by Chowdhery et al. 2022"},
}


def prose(path: Path) -> str:
    """A chapter's sentences and tables, without what makes no claim about a number."""
    text = GUESS.sub("", markdown_of(path)).replace("{,}", ",").replace("−", "-").replace("\\,", "")
    for pattern in NO_CLAIM.values():
        flags = re.M | re.S if pattern.startswith(("^```", "^## ")) else re.M
        text = re.sub(pattern, " ", text, flags=flags)
    return text


def value(number: str) -> float:
    return float(number.replace(",", "").replace("_", ""))


def decimals(number: str) -> int:
    return len(number.partition(".")[2])


def evidence(path: Path) -> str:
    """What a chapter's code cells hold and show, as text."""
    parts: list[str] = []
    for cell in read(path).cells:
        if cell.cell_type == "code":
            parts += [cell.source, *shown(cell)]
    return "\n".join(parts).replace("−", "-")


def shown(cell: Any) -> list[str]:
    texts = []
    for output in cell.outputs:
        texts.append(output.get("text", ""))
        data = output.get("data", {})
        texts.append(data.get("text/plain", ""))
        texts.append(re.sub(r"<[^>]*>", " ", data.get("text/html", "")))
    return texts


def is_computed(number: str, unit: str, computed: set[float]) -> bool:
    """Is the number there, or one that it rounds, or gives in percent or in millions?"""
    said, half = abs(value(number)), 0.5 * 10 ** -decimals(number) + 1e-9
    if said <= SMALL and said == int(said) and not unit:
        return True
    if unit in MANY:
        return any(abs(x / MANY[unit] - said) <= half for x in computed)
    rounded = "." in number  # a whole number must be there as such, unless it is a percentage
    return any(
        x == said or (rounded and abs(x - said) <= half) or (x <= 1 and abs(100 * x - said) <= half)
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


def test_arithmetic_in_the_prose_is_right(path):
    wrong = [f"{e} = {r}, not {work_out(e)}" for e, r in equations(prose(path)) if not holds(e, r)]
    assert not wrong, "\n".join(["", *wrong])


def test_arithmetic_is_found_and_worked_out():
    text = "$\\ln 11 = 2.398$, 0.7 · 0.9 + 0.7 · 0.1 = 0.70, (0.05 + 0.55) / 4 ≈ 0.15; x^2 + 3 = 7"
    assert equations(text) == [
        ("ln 11", "2.398"),
        ("0.7 * 0.9 + 0.7 * 0.1", "0.70"),
        ("(0.05 + 0.55) / 4", "0.15"),
    ]
    assert all(holds(*equation) for equation in equations(text))
    assert not holds("ln 11", "2.389")


def unproven(path: Path) -> dict[str, str]:
    """The numbers in a chapter's prose that no cell has, each with the words around it."""
    text, found = prose(path), {}
    proofs = [evidence(path), *(" ".join(e) for e in equations(text) if holds(*e))]
    computed = {abs(value(n)) for n in NUMBER.findall("\n".join(proofs))} | SIZES
    for match in NUMBER.finditer(text):
        unit = re.match(r"\W?(\w*)", text[match.end() :])[1]
        if not is_computed(match[0], unit, computed):
            around = text[max(match.start() - 50, 0) : match.end() + 30]
            found.setdefault(match[0], " ".join(around.split()))
    return found


def test_every_number_in_the_prose_is_in_a_cell(path):
    found = unproven(path)
    lines = [f"{n}  in  … {words} …" for n, words in found.items() if n not in excepted(path)]
    assert not lines, "\n".join(["", "no cell computes", *lines])
    stale = set(excepted(path)) - set(found)
    assert not stale, f"exceptions that are not needed (any more): {stale}"


def excepted(path: Path) -> dict[str, str]:
    return EXCEPTIONS.get(path.stem, {})


# Length, pictures, terms.

WORDS = range(1_200, 3_001)  # of a chapter's Markdown, without the guesses
WORDS_PER_PICTURE = 400  # on average over the story
WITHOUT_A_PICTURE = 600  # the longest way without picture, table or formula
LINES = 30  # of a code cell: a screen
UNCOMPARED = 1 / 6  # of the code cells
STORY_ENDS = re.compile(r"^## (?:What this chapter added|Questions people ask)$", re.M)


def words(markdown: str) -> int:
    """How many words the reader sees, without signs that stand alone."""
    seen = re.sub(r"<[^>]+>|\]\([^)]*\)", " ", markdown)
    return sum(bool(re.search(r"\w", word)) for word in seen.split())


def is_picture(cell: Any) -> bool:
    """Does the cell show a figure or an exhibit?"""
    kinds = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any("image/png" in k or 'class="g2' in k.get("text/html", "") for k in kinds)


def story(path: Path) -> list[Any]:
    """A chapter's cells up to its ledger at the end, without the guesses."""
    found = []
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            cell = nbformat.v4.new_markdown_cell(GUESS.sub("", cell.source))
        end = cell.cell_type == "markdown" and STORY_ENDS.search(cell.source)
        if end:
            return [*found, nbformat.v4.new_markdown_cell(cell.source[: end.start()])]
        found.append(cell)
    return found


def ways_without_a_picture(path: Path) -> list[int]:
    """Words from each picture, table or formula of the story to the next."""
    ways = [0]
    for cell in story(path):
        if cell.cell_type == "code":
            ways += [0] * is_picture(cell)
            continue
        for block in re.split(r"\n\s*\n", cell.source):
            if re.match(r"\s*(\||\$\$|```)", block):
                ways.append(0)
            else:
                ways[-1] += words(block)
    return ways


def test_a_chapter_is_neither_short_nor_long(path):
    assert words(GUESS.sub("", markdown_of(path))) in WORDS


def test_a_chapter_has_a_picture_every_few_hundred_words(path):
    told = sum(words(cell.source) for cell in story(path) if cell.cell_type == "markdown")
    pictures = sum(is_picture(cell) for cell in story(path))
    assert told <= WORDS_PER_PICTURE * pictures, f"{told} words, {pictures} pictures"
    longest = max(ways_without_a_picture(path))
    assert longest <= WITHOUT_A_PICTURE, f"{longest} words without picture, table or formula"


def test_a_chapter_asks_for_two_guesses_before_it_shows(path):
    """Three or four to choose from, and each is answered."""
    asked = markdown_of(path).split("**Predict before you look.**")[1:]
    assert len(asked) >= 2
    for prediction in asked:
        question, *rest = prediction.split('<details class="guess">')
        assert 3 <= len(rest) <= 4 or len(GUESS.findall(prediction)) in (3, 4), question
        assert "?" in question or ":" in question, question
    for guess in GUESS.findall(markdown_of(path)):
        summary, answer = re.search(
            r"<summary>(.+?)</summary>\n\n(.+?)\n\n</details>", guess, re.S
        ).groups()
        assert words(summary) and words(answer) >= 3, guess
        assert not re.search(r"[$`*]", summary), f"a fold's title is read as HTML: {summary}"


def test_a_code_cell_fits_a_screen(path):
    code = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    long = [source for source in code if len(source.splitlines()) > LINES]
    assert not long, "\n\n".join(f"{len(s.splitlines())} lines:\n{s[:200]} …" for s in long)


def test_few_cells_are_not_compared(path):
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    tags = [set(cell.metadata.get("tags", [])) for cell in code]
    ignored = sum(bool(t & {"nbval-ignore-output", "nbval-skip"}) for t in tags)
    assert ignored <= UNCOMPARED * len(code), f"{ignored} of {len(code)}"


def terms() -> dict[str, str]:
    """The glossary's anchors with their terms."""
    return {k: v for k, v in headings(BOOK / "glossary.md").items() if v != "Glossary"}


def test_every_term_of_the_glossary_is_linked_from_a_chapter():
    linked = set().union(
        *(re.findall(r"glossary\.md#([\w-]+)", markdown_of(path)) for path in NOTEBOOKS)
    )
    assert {anchor: term for anchor, term in terms().items() if anchor not in linked} == {}


def test_a_chapter_links_only_terms_that_the_glossary_has(path):
    linked = set(re.findall(r"glossary\.md#([\w-]+)", markdown_of(path)))
    assert linked, "a chapter explains or uses terms: link them"
    assert linked - set(terms()) == set()


def test_every_term_ends_with_the_chapter_that_explains_it():
    for body in (BOOK / "glossary.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        place = re.search(r"\[Chapter (\d+)\]\(\.\./notebooks/(\d\d)_\w+\.ipynb\)\.\s*$", body)
        assert place, f"no chapter at the end of: {body.splitlines()[0]}"
        assert int(place[1]) == int(place[2])
