"""The exercises: their files, what a check says to whom, and the progress that is kept.

Every exercise is tried with all that is written for it: the solution passes, the start is "not
yet", and each known mistake is told by its own words. So a new file needs no test of its own.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
import re
import signal
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
import torch

from gpt2_edu import GPT2, exercises
from gpt2_edu.exercises import calling, check, checking, own, parts, progress, record
from gpt2_edu.exercises.exercise import Case, Mistake, Rank, changed, steps
from gpt2_edu.exercises.exercise import exercises as all_exercises
from gpt2_edu.machine.files import locked
from gpt2_site import lists, make_practice
from gpt2_site.chapters import chapters
from gpt2_site.reviews import reviews
from tests.exercises.conftest import EACH_SIXTH, missing_names

ROOT = Path(__file__).resolve().parents[2]
ALL = all_exercises()
CHECKED = [name for name, exercise in ALL.items() if exercise.checked]
CODING = [name for name in CHECKED if ALL[name].cases]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Progress is kept in a folder of the test's own, as for a reader."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)
    return tmp_path


# ---- The files


def test_each_chapter_has_a_core_and_more():
    ranks = collections.defaultdict(collections.Counter)
    for exercise in ALL.values():
        ranks[exercise.chapter][exercise.rank] += 1
    for count in ranks.values():
        assert count.keys() <= set(get_args(Rank))
        assert 1 <= count["core"] <= 3 < count.total()


def test_the_ten_to_do_first_are_of_the_core():
    page = (ROOT / "book" / "practice.md").read_text(encoding="utf-8")
    names = re.findall(r'exercise\("(\w+)"\)', page)
    assert len(names) == 10 and names == [name for name in ALL if name in names], "in order"
    assert {ALL[name].rank for name in names} == {"core"}
    shown = lists.filled("book/practice", page)
    assert f"[{ALL[names[0]].title}](../notebooks/practice/" in shown


def test_chapters_and_kinds_of_exercises_are_complete():
    assert {e.chapter for e in ALL.values()} == {chapter.number for chapter in chapters()}
    assert {e.kind for e in ALL.values()} == set(make_practice.KINDS)


@pytest.mark.parametrize("exercise", ALL.values(), ids=lambda exercise: exercise.name)
def test_exercise_has_what_a_reader_needs(exercise):
    assert exercise.level in make_practice.LEVELS
    assert 1 <= exercise.minutes <= 60
    assert exercise.title and exercise.task and exercise.solution
    assert 1 <= len(exercise.hints) <= 3
    if exercise.checked:
        assert len({mistake.message for mistake in exercise.mistakes}) >= 3


@pytest.mark.parametrize("name", CHECKED)
def test_the_solution_passes_and_the_start_says_not_yet(name, capsys):
    report = checking.examine(ALL[name], parts.solutions(name))
    assert report.passed and report.diagnosis is None, str(report)
    assert check(name, parts.execute(ALL[name], ALL[name].start, parts.solutions)) is False
    assert "Not yet" in capsys.readouterr().out


@EACH_SIXTH
@pytest.mark.parametrize("name", CHECKED)
def test_each_known_mistake_is_told_by_its_own_words(name, some, execute_once):
    exercise = ALL[name]
    for mistake in exercise.mistakes[some]:
        report = checking.examine(exercise, execute_once(exercise, exercise.code_of(mistake)))
        assert not report.passed, mistake.message
        assert report.diagnosis == mistake.message, f"{mistake.message}\n{report}"
        assert not missing_names(exercise, mistake), mistake.message


@pytest.mark.parametrize("exercise", [*ALL.values(), *steps().values()], ids=lambda e: e.name)
def test_each_edit_of_a_mistake_occurs_once(exercise):
    for mistake in exercise.mistakes:
        code = exercise.solution
        for old, new in mistake.edits:
            assert code.count(old) == 1 and old != new, (mistake.message, old)
            code = code.replace(old, new)
        assert exercise.code_of(mistake) == (code if mistake.edits else mistake.code)


def test_an_edit_that_does_not_fit_names_the_exercise():
    with pytest.raises(ValueError, match="head_size: 'absent' occurs 0 times"):
        ALL["head_size"].code_of(Mistake("a message", ("absent", "")))


def test_a_wrong_answer_is_not_told_of_another_mistake():
    """Asked of a layer that changes what it reads, it says what a mistake about axes says."""
    exercise = ALL["looks_ahead"]
    code = changed(exercise.solution, ("before = layer(x)", "before = x"))
    report = checking.examine(exercise, parts.execute(exercise, code))
    assert not report.passed and report.diagnosis is None


# ---- What a check says to whatever it is given


def told(capsys, name, answer):
    assert check(name, answer) is False
    said = capsys.readouterr().out
    assert "Traceback" not in said
    return said


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(dim=-1, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(x.var(dim=-1, keepdim=True, correction=0) + eps) + beta


_CANNOT = "  (Not for later exercises: it needs other cells, or is not called layer_norm.)\n"


def raises(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred @ centred


def in_place(x, gamma, beta, eps=1e-5):
    x -= x.mean(dim=-1, keepdim=True)
    return gamma * x / torch.sqrt((x**2).mean(dim=-1, keepdim=True) + eps) + beta


def without_end(x, gamma, beta, eps=1e-5):
    while True:
        x = x + 1


def leaves(x, gamma, beta, eps=1e-5):
    sys.exit("enough")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3, "This is an int, not a function"),
        (torch.nn.LayerNorm, "This is a class, not a function"),
        (lambda x: x, r"It takes \(x\), but is called with 3 arguments"),
        (lambda x, g, b: x.tolist(), "it gives a list, not a tensor"),
        (lambda x, g, b: (x, layer_norm(x, g, b)), "only the value at place 1 is asked for"),
        (lambda x, g, b: x.sum(), r"the shape \(\) where \(1, 1, 3\) is right"),
        (lambda x, g, b: layer_norm(x, g, b).double(), "torch.float64 where"),
        (lambda x, g, b: x / 0 * 0, r"contains NaN at \[0, 0, 0\]"),
        (lambda x, g, b: print("here"), "It printed:\n    here"),
        (lambda x, g, b: None, r"returns nothing: is a `return` missing\?"),
        (
            raises,
            r"RuntimeError: Expected size for first two .* \(line 3 of the function",
        ),
        (in_place, "changes what it was given, in place"),
        (leaves, r"SystemExit: enough \(line 2 of the function\)"),
        (None, "Not yet"),
        (..., "Not yet"),
    ],
)
@pytest.mark.usefixtures("no_search")
def test_whatever_is_wrong_is_said_in_a_sentence(capsys, answer, words):
    assert re.search(words, told(capsys, "layer_norm", answer))


def test_a_function_without_end_is_stopped(capsys, monkeypatch):
    monkeypatch.setattr(calling, "SECONDS", 0.3)
    assert "does not end: it was stopped after" in told(capsys, "layer_norm", without_end)
    monkeypatch.setattr(calling, "SECONDS", 10.0)
    assert check("layer_norm", layer_norm)
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0


def test_other_threads_do_not_use_up_the_time(monkeypatch):
    """As torch's do: ten seconds would pass in less than one where it has sixteen."""
    monkeypatch.setattr(calling, "WAITING", 1000)

    def hashed(size):
        with ThreadPoolExecutor(1) as pool:  # which computes without holding Python's lock
            return pool.submit(lambda: hashlib.sha256(bytes(size)).hexdigest()).result()

    begun = time.process_time()
    outcome = calling.call(hashed, Case("", (2**28,)), seconds=0.05)
    assert time.process_time() - begun > 0.05
    assert not outcome.timed_out and len(outcome.value) == 64


def test_a_function_is_called_in_other_threads_too():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(check, "layer_norm", layer_norm).result()


def test_what_a_right_answer_prints_is_shown(capsys):
    def talks(x, gamma, beta, eps=1e-5):
        print("here I am")
        return layer_norm(x, gamma, beta, eps)

    assert check("layer_norm", talks)
    assert capsys.readouterr().out.endswith("It printed:\n    here I am\n" + _CANNOT)


@pytest.mark.parametrize("line", ["1 // 0", "while True: pass", "x = x * float('nan')"])
def test_a_right_answer_that_fails_on_the_trained_model_passes_and_is_not_shown(
    line, capsys, monkeypatch
):
    exercise = ALL["logit_lens"]
    assert check("logit_lens", parts.solutions("logit_lens"))
    assert "Your lens, at the crane" in capsys.readouterr().out
    monkeypatch.setattr(checking, "SHOWN", 0.2)
    fails = f"    if x.size(-1) == 128:\n        {line}\n    return "
    code = changed(exercise.solution, ("    return ", fails))
    assert check("logit_lens", parts.execute(exercise, code, parts.solutions))
    assert "Your lens" not in capsys.readouterr().out


def test_arguments_are_fresh_for_every_answer(capsys):
    told(capsys, "layer_norm", in_place)
    assert check("layer_norm", layer_norm)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (1600, "width of the whole model"),
        (torch.tensor(25), "number of heads"),
        (63, "Not right: it gives 63."),
        ("abc", "it gives a str, not a number."),
        ([6], "it gives a list, not a number."),
        (True, "it gives a bool, not a number."),
        (float("nan"), "Not right"),
        (lambda: 6, "not a number"),
    ],
)
def test_a_wrong_value_is_told_without_the_right_one(capsys, answer, words):
    said = told(capsys, "head_size", answer)
    assert words in said and "64" not in said


def test_a_wrong_length_is_told_without_the_right_one(capsys):
    assert "Not right: it has length 3.\n" in told(capsys, "looks_at_place", [2, 1, 0])


def test_a_right_value_may_be_a_tensor():
    assert check("head_size", 64) and check("head_size", 64.0)
    assert check("head_size", torch.tensor(64))


def test_an_exercise_that_is_not_there_has_the_nearest_name():
    with pytest.raises(ValueError, match="Did you mean 'layer_norm'"):
        check("layernorm", layer_norm)
    with pytest.raises(ValueError, match="in quotes"):
        check(layer_norm, "layer_norm")


# ---- Progress


def test_what_passed_is_noted_and_can_be_built_on(folder, capsys):
    check("layer_norm", layer_norm)
    check("head_size", 64)
    stored = json.loads((folder / "progress.json").read_text(encoding="utf-8"))
    assert sorted(stored["passed"]) == ["head_size", "layer_norm"]
    assert stored["passed"]["layer_norm"]["source"].startswith("def layer_norm(x, gamma")
    assert stored["passed"]["head_size"]["source"] is None
    capsys.readouterr()
    x, one = torch.randn(1, 2, 3), torch.ones(3)
    assert torch.equal(own("layer_norm")(x, one, one), layer_norm(x, one, one))
    assert capsys.readouterr().out == ""
    text = str(progress())
    assert "[x] LayerNorm, all of it" in text and f"2 of {len(CHECKED)} exercises done" in text
    assert "✓" in progress()._repr_html_()


def test_what_passed_is_built_on_what_stands_before_its_function(folder, capsys):
    exercise = all_exercises()["leave_out"]
    record.mark_passed("leave_out", exercise.solution[exercise.solution.index("def ") :])
    args = exercise.cases()[0].args
    assert torch.equal(own("leave_out")(*args), exercise.right(*args))
    assert capsys.readouterr().out == "The book's own: attend\n"


def test_the_books_solution_stands_in_and_it_is_said(capsys):
    own("layer_norm")
    assert capsys.readouterr().out == "The book's own: layer_norm\n"
    with pytest.raises(ValueError, match="no exercise 'norm'"):
        own("norm")


def test_an_answer_that_needs_names_of_other_cells_passes_but_is_not_built_on(folder, capsys):
    helper = layer_norm

    def mine(x, gamma, beta, eps=1e-5):
        return helper(x, gamma, beta, eps)

    assert check("layer_norm", mine)
    assert json.loads(Path("progress.json").read_text())["passed"]["layer_norm"]["source"] is None
    assert _CANNOT in capsys.readouterr().out
    assert check("layer_norm", layer_norm) and check("layer_norm", mine)
    kept = json.loads(Path("progress.json").read_text())["passed"]["layer_norm"]["source"]
    assert kept.startswith("def layer_norm"), "a text that can be built on is not given up"


def test_a_stored_text_that_does_not_run_is_replaced_by_the_books_and_named(folder, capsys):
    broken = {"layer_norm": {"on": "2026-01-01", "source": "def layer_norm(x:"}}
    store("progress.json", broken)
    assert own("layer_norm")(torch.ones(1, 1, 2), 1.0, 0.5) is not None
    assert "layer_norm (the one in progress.json does not run: " in capsys.readouterr().out


def test_a_function_that_is_mended_but_still_raises_is_told_to_lose_the_line(capsys):
    def mended(ids, pair, new):
        raise NotImplementedError("find the bug, mend it, delete this line")

    assert "delete the line with `raise`" in told(capsys, "glue", mended)


@pytest.mark.usefixtures("no_search")
def test_wrong_answers_and_the_book_itself_leave_no_trace(folder, monkeypatch):
    check("layer_norm", raises)
    check("head_size", 3)
    monkeypatch.setenv("GPT2_EDU_BOOK", "1")
    check("head_size", 64)
    assert list(folder.iterdir()) == []


UNDATED = '{"format": "gpt2-edu progress", "version": 1, "passed": {"b": {"on": "z"}}}'
HALF = '{"format": "gpt2-edu progress", "version": 1, "passed": {}, "questions": {"b": {}}}'


DAMAGED = ["", "{", "[]", '{"format": "x"}', "\udcff", UNDATED, HALF, "[" * 100_000]


@pytest.mark.parametrize("damage", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_progress_file_is_renamed(folder, capsys, damage):
    (folder / "progress.json").write_bytes(damage.encode("utf-8", "surrogateescape"))
    check("head_size", 64)
    assert "It was kept as progress-damaged-" in capsys.readouterr().out
    (kept,) = folder.glob("progress-damaged-*.json")
    assert kept.read_bytes() == damage.encode("utf-8", "surrogateescape")
    assert "head_size" in progress().passed


def test_a_damaged_progress_file_is_said_where_it_is_built_on(folder, capsys):
    (folder / "progress.json").write_text("{")
    own("layer_norm")
    assert "It was kept as progress-damaged-" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_said_and_the_answer_stays_right(capsys, monkeypatch):
    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(record.os, "open", refuse)
    assert check("head_size", 64) is True
    assert "cannot be written in this folder, Permission denied" in capsys.readouterr().out


def test_a_lock_that_is_held_for_long_is_reported(folder, monkeypatch, capsys):
    monkeypatch.setattr(record, "_LOCK_TIMEOUT", 0.1)
    with locked(folder):
        check("head_size", 64)
    assert "Not recorded: progress.json cannot be written" in capsys.readouterr().out
    check("head_size", 64)
    assert "head_size" in progress().passed


def test_progress_is_exported_and_merged(folder):
    check("head_size", 64)
    exercises.export(folder / "kept.json")
    os.remove("progress.json")
    check("layer_norm", layer_norm)
    merged = exercises.merge(folder / "kept.json")
    assert set(merged.passed) == {"head_size", "layer_norm"} == set(progress().passed)
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        exercises.export(folder)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        exercises.export(folder / "nowhere" / "a.json")


def store(name, passed, questions=None):
    Path(name).write_text(record._to_json(record.StoredProgress(passed, questions or {})))


def test_the_later_of_two_answers_stays():
    old = {"layer_norm": {"on": "2001-01-01", "source": "old"}}
    new = {"layer_norm": {"on": "2999-01-01", "source": "new"}}
    store("progress.json", old)
    for other in (new, old):
        store("other.json", other)
        assert exercises.merge("other.json").passed["layer_norm"]["source"] == "new"


def test_answers_of_a_page_are_kept(folder):
    """A page stores answers to questions, and of exercises only that they were right."""
    check("layer_norm", layer_norm)
    right = {"b": {"on": "2026-01-01", "first": True, "right": True}}
    store("page.json", {"layer_norm": {"on": "2999-01-01", "source": None}}, right)
    merged = exercises.merge("page.json").passed["layer_norm"]
    assert merged["on"] == "2999-01-01" and merged["source"].startswith("def layer_norm")
    store("page.json", {}, {"b": {"on": "2999-01-01", "first": False, "right": False}})
    exercises.merge("page.json")
    check("head_size", 64)
    kept = json.loads((folder / "progress.json").read_text())["questions"]
    assert kept == {"b": {"on": "2999-01-01", "first": False, "right": True}}


def test_other_files_are_not_merged():
    with pytest.raises(FileNotFoundError, match="nothing"):
        exercises.merge("nothing.json")
    for text, message in (
        ("{}", "is no progress file"),
        ('{"format": "gpt2-edu progress", "version": 9}', "its version is 9"),
    ):
        Path("other.json").write_text(text)
        with pytest.raises(ValueError, match=message):
            exercises.merge("other.json")


# ---- The reader's own GPT-2


def test_the_parts_put_together_are_gpt2():
    """From the solutions alone: the same logits as the package, with the shipped weights."""
    model = GPT2.from_pretrained("crane")
    idx = torch.randint(model.config.vocab_size, (2, 19), generator=torch.manual_seed(0))
    logits = parts.solutions("gpt2_of_functions")(idx)
    torch.testing.assert_close(logits, model(idx)[0].detach(), atol=1e-5, rtol=1e-5)


def test_the_readers_own_gpt2_writes_a_story(capsys):
    assert check("gpt2_of_functions", parts.solutions("gpt2_of_functions"))
    assert "The judge: grammatical" in capsys.readouterr().out


# ---- Questions


ASKED = {chapter.slug: chapter for chapter in chapters()}
ASKED |= {f"review {review.slug}": review for review in reviews()}
QUESTIONS = {
    name: [question for question in make_practice.questions(of) if "options" in question]
    for name, of in ASKED.items()
}


@pytest.mark.parametrize("slug", QUESTIONS)
def test_every_option_of_every_question_is_answered(slug):
    assert QUESTIONS[slug]
    for question in QUESTIONS[slug]:
        options = question["options"]
        assert 3 <= len(options) <= 4, question["text"]
        assert sum(bool(o.get("right")) for o in options) == 1, question["text"]
        for key in ("text", "says"):
            assert len({o[key] for o in options}) == len(options), question["text"]
        for option in options:
            assert len(option["says"].split()) >= 4, option
            assert option["says"].startswith("Right") == bool(option.get("right")), option
            assert "$" not in option["text"], "a fold's title shows no formula"


def test_the_right_answers_stand_in_every_place_equally_often():
    places = collections.Counter(
        [bool(o.get("right")) for o in question["options"]].index(True)
        for questions in QUESTIONS.values()
        for question in questions
        if len(question["options"]) == 4
    )
    n = sum(places.values())
    # Four standard deviations of a fair draw.
    assert all(abs(places[i] - n / 4) < 4 * (n * 3 / 16) ** 0.5 for i in range(4)), places


def test_the_right_answer_is_not_told_by_its_length():
    questions = [q for found in QUESTIONS.values() for q in found]
    longest = sum(
        max(q["options"], key=lambda o: len(o["text"])).get("right", False) for q in questions
    )
    assert longest < 0.5 * len(questions), f"{longest} of {len(questions)}"


# ---- The pages


def test_every_question_file_belongs_to_a_chapter():
    files = sorted((ROOT / "book" / "practice").glob("*.toml"))
    assert files == sorted(chapter.questions for chapter in chapters())
    for file in files:
        assert list(tomllib.loads(file.read_text(encoding="utf-8"))) == ["question"]
