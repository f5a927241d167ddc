"""What the pages promise is in the chapters: places, answers, terms.

Every row of the indexes leads to a heading that exists.
"""

from __future__ import annotations

import ast
import html
import json
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

from gpt2_edu import GPT2Config, flops
from gpt2_site import chapters, gpu_figures, in_page_figures, lists

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
GUESS = re.compile(r'<details class="guess">.*?</details>', re.S)  # an answer to choose
CHAPTERS = {page.path: page for page in chapters.pages()}


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@cache
def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def markdown_of(path: Path) -> str:
    return CHAPTERS[path].markdown if path in CHAPTERS else path.read_text(encoding="utf-8")


def test_contents_list_every_heading(monkeypatch):
    table = lists.contents()
    for page in (chapters.find("mask"), *chapters.find("fast").pages):
        for anchor, heading in headings(page.path).items():
            if heading not in (*lists.UNLISTED, page.title):
                place = f"(../notebooks/{page.name}.ipynb#{anchor})"
                assert f"[chapter {page.number}, {heading}]{place}" in table
    monkeypatch.setattr(lists.tomllib, "loads", lambda text: {"mask": {"A": "no-such-heading"}})
    with pytest.raises(ValueError, match="05_mask has no 'no-such-heading'"):
        lists.contents()


def test_tables_for_instructors():
    assert lists.chapter_rows().count("\n") == len(chapters.chapters()) - 1
    minutes = chapters.find("mask").minutes + chapters.find("heads").minutes
    assert lists.in_class("mask", "heads").endswith(f"heads.ipynb): {round(1.25 * minutes)} min")
    assert re.fullmatch(r"assignments 5 and 6, \d+ min", lists.at_home("mask", "heads"))


def test_tables_on_the_engine_have_a_row_for_each_contender():
    assert re.fullmatch(
        r"In \w+ runs on \d+ cores .* after \d+ to \d+ seconds, .* \d+ to \d+ .*",
        in_page_figures.waited(),
    )
    assert re.search(r"0\.\d\d times .* \d+ times .* \d\.\d times", in_page_figures.pace())
    measured = {who for task, who in in_page_figures.medians() if task == "Crane: ready"}
    assert len(in_page_figures.small().splitlines()) == len(measured) >= 4
    assert in_page_figures.large().splitlines()[-1].startswith("| onnxruntime-web |")
    assert in_page_figures.power(2.4e-5) == "2·10⁻⁵" and in_page_figures.power(0.31) == "0.3"


def test_what_the_page_on_gpus_concludes_follows_from_its_tables():
    gpt2 = GPT2Config.preset("gpt2")

    def shortest(devices: int, rate: float) -> float:
        sent = flops.ddp_bytes_per_step(gpt2, devices)
        return gpu_figures.step(gpt2, devices, sent, rate).shortest_seconds

    eight = shortest(8, gpu_figures.INSIDE)
    assert eight / 2 < shortest(16, 12.5e9) < shortest(32, 12.5e9) < eight < shortest(16, 1.25e9)
    assert gpu_figures.fitting(1024).splitlines()[0].startswith("| gpt2 | 4 | 11 | 19 |")
    t4, *_, h100 = (row.split(" | ") for row in gpu_figures.ceilings().splitlines())
    assert t4[2] == "–" and 14 < float(h100[3]) / float(h100[1]) < 16


def test_the_page_on_gpus_shows_the_newest_report(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_figures, "RESULTS", tmp_path)
    assert "No report is stored yet" in gpu_figures.measured()
    report = {"quick": False, "machine": {"gpu": "NVIDIA H200", "torch": "2.13.0"}}
    for day, found in (("2026-01-01", "slow"), ("2026-02-02", "fast | right")):
        parts = [{"part": "Training", "state": "ok", "found": found}]
        made = report | {"date": f"{day}T00:00:00+00:00", "parts": parts}
        (tmp_path / f"gpu-{day}.json").write_text(json.dumps(made))
    (tmp_path / "gpu-x.json").write_text(json.dumps(made | {"quick": True, "date": "2027-01-01"}))
    shown = gpu_figures.measured()
    assert "on 2026-02-02 on one NVIDIA H200" in shown and "slow" not in shown
    assert shown.endswith("| Training | ok | fast \\| right |")


def rows(name: str) -> list[dict]:
    """What a stored report measured."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def test_measurements_that_chapter_18_repeats_are_stored():
    """They are written out in its cells, because a notebook in Colab has no results beside it."""

    def told(page: chapters.Page, name: str) -> dict:
        cells = "\n".join(c.source for c in read(page.path).cells if c.cell_type == "code")
        return ast.literal_eval(re.search(rf"^{name} = (\{{.*?^\}})", cells, re.S | re.M)[1])

    why, costs = chapters.find("fast").pages
    speeds = rows("speed_ladder-amd-epyc-2026-11-21")  # the third is a control: the same code
    for values, row in zip(told(why, "measured").values(), speeds, strict=False):
        assert values == [round(value) for value in row["values"]]
    medians = {
        row["contender"]: row["median"]
        for row in rows("cpu_generation-intel-r-xeon-r-processor-2026-11-24")[:3]
    }
    names = ("ours, float32, not packed", "ours")
    for (speed, *_), name in zip(told(costs, "decoded").values(), names, strict=True):
        assert medians[name] == pytest.approx(speed, abs=0.05)
    peak = int(rows("memory-amd-epyc-2026-11-21")[0]["median"])
    assert f"{peak:_}" in costs.path.read_text(encoding="utf-8")


def test_the_speeds_that_chapter_21_names_are_stored():
    def speeds(kind: str) -> dict[str, float]:
        rows_of = rows(f"cpu_generation-amd-epyc-{kind}2026-11-27")
        return {row["contender"]: row["median"] for row in rows_of if row["task"] == "decode"}

    said = chapters.find("bits").path.read_text(encoding="utf-8")
    for found in (speeds("avx2-"), speeds("")):
        assert found["ours, int8, compiled"] / found["ours"] == pytest.approx(2, abs=0.2)
    assert "about twice as many tokens per second in this way as in bfloat16" in said
    four, eight = (speeds("avx2-")[f"ours, int{bits}"] for bits in (4, 8))
    assert four / eight == pytest.approx(1, abs=0.05)
    assert "With AVX2 alone they were no faster than 8 bits without the compiler" in said
    four, eight = (speeds("")[f"ours, int{bits}"] for bits in (4, 8))
    assert four / eight == pytest.approx(1.5, abs=0.1)
    assert "with AVX-512 about one and a half times as fast" in said


# Places: the last cell of a row says where, as
# [chapter 5, The triangle](../notebooks/05_mask.ipynb#the-triangle)

PLACE = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]*)\)(?:[: ]*\"([^\"]+)\")?")


@cache
def headings(path: Path) -> dict[str, str]:
    """The anchors that a page's headings get on the site, with the headings' text."""
    return chapters.headings(markdown_of(path))


@cache
def questions_of(path: Path) -> set[str]:
    summaries = re.findall(r"<summary>(.*?)</summary>", markdown_of(path), re.S)
    return {html.unescape(re.sub(r"<[^>]+>", "", summary)) for summary in summaries}


def test_every_question_is_asked_once_and_leads_to_its_answer():
    """Under the heading that the link says, and where that has many answers, to which of them."""
    asked: list[str] = []
    for row in re.findall(r"^\| (.*) \|$", (BOOK / "questions.md").read_text("utf-8"), re.M):
        question, *_, places = row.split(" | ")
        if question in ("question", "---"):
            continue
        asked.append(question)
        links = PLACE.findall(places)
        assert links, row
        for text, target, quoted in links:
            file, _, anchor = target.partition("#")
            goal = (BOOK / (file or "questions.md")).resolve()
            assert text.partition(", ")[2] == headings(goal)[anchor], row
            assert anchor != "questions-people-ask" or quoted in questions_of(goal), row
    assert len(asked) == len(set(asked)) > 50


def test_a_link_to_a_chapter_says_its_number():
    pages = [*CHAPTERS, *BOOK.glob("*.md"), ROOT / "README.md"]
    link = re.compile(r"\[(?:[Cc]hapter )?(\d+)(?:,[^\]]*)?\]\([^)]*?(\w+)\.ipynb")
    number = {chapter.name: chapter.number for chapter in CHAPTERS.values()}
    wrong = [
        f"{page.name}: {found[0]}"
        for page in pages
        for found in link.finditer(markdown_of(page))
        if number.get(found[2]) != int(found[1])
    ]
    assert not wrong, "\n".join(wrong)


# Predictions, comparisons, terms.

UNCOMPARED = 1 / 6  # of the code cells


def test_a_prediction_has_a_few_answers_and_each_is_commented(path):
    """Three or four to choose from."""
    for prediction in markdown_of(path).split("**Predict before you look.**")[1:]:
        question, *rest = prediction.split('<details class="guess">')
        assert 3 <= len(rest) <= 4 or len(GUESS.findall(prediction)) in (3, 4), question
    for guess in GUESS.findall(markdown_of(path)):
        summary, answer = re.search(
            r"<summary>(.+?)</summary>\n\n(.+?)\n\n</details>", guess, re.S
        ).groups()
        assert summary.strip() and answer.strip(), guess
        assert not re.search(r"[$`*]", summary), f"a fold's title is read as HTML: {summary}"


@pytest.mark.parametrize("chapter", chapters.chapters(), ids=lambda chapter: chapter.slug)
def test_a_chapter_opens_with_one_paragraph_a_guess_and_its_picture(chapter):
    """Chapter 13 has its picture before the guess: it has to be started."""
    _, _, opening, picture, *_ = read(chapter.pages[0].path).cells
    lead, then, *_ = opening.source.split("\n\n")
    assert "g2-live" in str(picture.outputs)
    if chapter.slug != "training":
        assert then.startswith("**Predict before you look.**")
        assert len(re.sub(r"\]\([^)]*\)", "]", lead).split()) <= 75


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
        *(re.findall(r"glossary\.md#([\w-]+)", markdown_of(path)) for path in CHAPTERS)
    )
    assert {anchor: term for anchor, term in terms().items() if anchor not in linked} == {}


def test_a_chapter_links_only_terms_that_the_glossary_has(path):
    linked = set(re.findall(r"glossary\.md#([\w-]+)", markdown_of(path)))
    assert linked - set(terms()) == set()


def test_every_term_ends_with_the_chapter_that_explains_it():
    for body in (BOOK / "glossary.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        place = re.search(r"\[Chapter \d+\]\(\.\./notebooks/\w+\.ipynb\)\.\s*$", body)
        assert place, f"no chapter at the end of: {body.splitlines()[0]}"
