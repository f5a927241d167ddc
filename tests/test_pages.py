"""The book's other pages: their code runs, and their numbers are those that code computes."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, course, load_tokenizer, trace
from gpt2_edu.exercises.exercise import exercises, steps
from gpt2_edu.web import save_for_page
from gpt2_site.chapters import chapters, pages
from gpt2_site.lists import filled

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted((ROOT / "book").glob("*.md")), ROOT / "README.md"]


def text_of(name: str) -> str:
    """A page of book/, with its tables."""
    path = ROOT / "book" / name
    return filled(f"book/{path.stem}", path.read_text(encoding="utf-8"))


def section(name: str, label: str) -> str:
    return text_of(name).split(f"({label})=")[1].split("\n(")[0]


def numbers(block: str) -> list[list[float]]:
    return [[float(word) for word in line.split()] for line in block.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_on_a_page_runs(page, capsys, tmp_path, monkeypatch):
    if page.stem == "train":  # a file that its reader has saved
        monkeypatch.chdir(tmp_path)
        file = tmp_path / "my-crane-8000-steps.safetensors"
        save_for_page(GPT2.from_pretrained("crane"), load_tokenizer("crane"), file)
    for source in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        source = source.replace("range(1000)", "range(100)")  # to be quick
        exec(compile(source, page.name, "exec"), {"__name__": "page"})


def test_errata_tokenized():
    right = re.search(r"\| right \| ([\d ]+) \|", section("errata.md", "errata-tokenized"))[1]
    assert load_tokenizer("gpt2").encode("This will be tokenized") == list(map(int, right.split()))


def test_errata_masked_softmax():
    blocks = re.findall(r"```text\n(.*?)```", section("errata.md", "errata-mask"), re.S)
    scores, printed = torch.tensor(numbers(blocks[0])), numbers(blocks[1])
    visible = torch.ones(4, 4, dtype=torch.bool).tril()
    weights = scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)
    for t, row in enumerate(printed):
        assert row == pytest.approx(weights[t, : t + 1].tolist(), abs=6e-5)


def test_the_notation_page_names_every_noted_tensor_with_its_axes():
    table = text_of("notation.md").split("## Names of tensors")[1].split("\n(naming")[0]
    table = table.replace("\N{NO-BREAK SPACE}", " ")
    told = {}
    for names, axes in re.findall(r"^\| (`.*?) \| ([A-Z ]+) \|", table, re.M):
        told |= dict.fromkeys(re.findall(r"`([\w.]+)`", names), axes)

    model = GPT2(course.TOY).eval()
    with trace(model) as t:
        model(course.toy_batch())
    rows = [row for row in t.ledger().rows() if "h.1" not in row[0]]
    assert {name.removeprefix("transformer.h.0."): axes for name, axes, _ in rows} == told


def test_the_notation_page_has_the_sizes_of_the_toy_and_of_gpt2():
    table = text_of("notation.md").split("## Names of tensors")[0]
    rows = dict(re.findall(r"^\| ([A-Z]) \| .*? \| ([\d,]+) \| [\w ,]+ \|", table, re.M))
    toy = {letter: f"{size:,}" for letter, size in (course.SIZES | {"N": 2}).items()}
    assert rows == toy
    gpt2 = GPT2Config.preset("gpt2")
    for letter, size in (("C", gpt2.n_embd), ("H", gpt2.n_head), ("D", gpt2.head_size)):
        assert re.search(rf"^\| {letter} \|.*\| {size} \|$", table, re.M)


def test_the_least_loss_of_the_small_language_is_its_entropy():
    sentences, floor = course.small_language()
    assert sentences.shape == (32, 5) and len(sentences.unique()) == 19
    seen: dict[tuple, Counter[int]] = {}
    for row in sentences.tolist():
        for t in range(1, len(row)):
            seen.setdefault(tuple(row[:t]), Counter())[row[t]] += 1
    counts = [n for after in seen.values() for n in after.values()]
    whole = [after.total() for after in seen.values() for _ in after]
    loss = -sum(n * math.log(n / total) for n, total in zip(counts, whole, strict=True))
    assert loss / (32 * 4) == pytest.approx(floor)


def test_every_work_that_a_chapter_names_is_in_the_bibliography():
    bibliography = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    titles = re.sub(r"\s+", " ", re.sub(r"[{}]", "", bibliography)).lower()
    for page in pages():
        references = page.markdown.partition("## References")[2]
        for title in re.findall(r"\d{4}, \*(.+?)\*", references):
            assert title.lower() in titles, f"{page.name}: {title}"


def test_the_hours_of_the_book_are_those_of_its_chapters():
    hours = sum(chapter.minutes for chapter in chapters()) / 60
    assert 11.5 <= hours <= 12.5
    for page in (ROOT / "README.md", ROOT / "book" / "start.md"):
        told = f"{len(chapters())} chapters, about twelve hours"
        assert told in page.read_text(encoding="utf-8"), page


def units(plan: str) -> list[tuple[list, int, str]]:
    """The rows of a plan to teach: chapters, minutes in class, and what is handed in."""
    table = text_of("instructors.md").split(f"## {plan}\n")[1].split("\n## ")[0]
    by_name = {chapter.name: chapter for chapter in chapters()}
    found = []
    row = re.compile(r"^\| \d.*? \| (.*): (\d+) min \| .* \*Handed in:\* (.*)\. \|$", re.M)
    for names, minutes, handed_in in row.findall(table):
        told = [by_name[name] for name in re.findall(r"/(\w+)\.ipynb", names)]
        found.append((told, int(minutes), handed_in))
    assert found
    return found


@pytest.mark.parametrize("plan, most", [("Three days", 120), ("Twelve weeks", 90)])
def test_a_plan_gives_each_chapter_time_after_what_it_builds_on(plan, most):
    seen: set[str] = set()
    for told, minutes, _ in units(plan):
        assert minutes == round(1.25 * sum(chapter.minutes for chapter in told)) <= most
        for chapter in told:
            assert seen.issuperset(chapter.needs), chapter.name
            seen.add(chapter.name)


def test_twelve_weeks_tell_the_chapters_in_order_and_how_long_their_assignments_are():
    numbers = [chapter.number for told, *_ in units("Twelve weeks") for chapter in told]
    assert numbers == sorted(set(numbers)) and len(numbers) >= 19
    for told, _, handed_in in units("Twelve weeks"):
        tasks = [e for e in exercises().values() if e.checked]
        minutes = sum(e.minutes for e in tasks if e.chapter in [c.number for c in told])
        numbers = " and ".join(str(chapter.number) for chapter in told)
        assert handed_in == f"assignment{'s' * (len(told) > 1)} {numbers}, {minutes} min"


def test_three_days_hand_in_the_parts_that_their_chapters_ask_for():
    for told, _, handed_in in units("Three days"):
        asked = [name for chapter in told for name in steps()[chapter.slug].parts]
        assert re.findall(r"`(\w+)`", handed_in) == list(dict.fromkeys(asked))
