"""What a check says of a wrong answer that is no known mistake, or more than one, or does harm."""

from __future__ import annotations

import contextlib
import linecache
import os
import random
import signal
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gpt2_edu.exercises import calling, check
from gpt2_edu.exercises.calling import call
from gpt2_edu.exercises.checking import examine
from gpt2_edu.exercises.comparing import difference, in_words, is_telling, side_by_side
from gpt2_edu.exercises.exercise import Case, Exercise, Mistake, changed, find, find_step
from gpt2_edu.exercises.mine import _examine
from gpt2_edu.exercises.parts import execute
from gpt2_edu.exercises.source import definitions, source_of
from tests.fuzz import answers

SOLUTION = """
def blend(x, y):
    scaled = x / math.sqrt(x.size(-1))
    return (scaled + y).softmax(dim=-1)
"""
ROOT = Mistake("the root is missing", ("math.sqrt(x.size(-1))", "x.size(-1)"))
AXIS = Mistake("the axis is wrong", ("dim=-1", "dim=0"))
SUM = Mistake("y is subtracted", ("scaled + y", "scaled - y"))


def cases() -> list[Case]:
    generator = torch.Generator().manual_seed(1)
    sizes = (2, 2), (3, 5), (4, 3)
    return [Case(f"{n} rows", tuple(torch.randn(2, n, m, generator=generator))) for n, m in sizes]


def exercise(**more) -> Exercise:
    start = "def blend(x, y):\n    ..."
    space = Exercise("blend", "Blend", 1, start=start, solution=SOLUTION, cases=cases)
    right = execute(space, SOLUTION)
    given = {"right": right, "mistakes": (ROOT, AXIS, SUM), **more}
    return Exercise("blend", "Blend", 1, start=start, solution=SOLUTION, cases=cases, **given)


def report(code: str, **more):
    made = exercise(**more)
    return examine(made, execute(made, code))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)


# ---- Which mistake it is


def test_two_mistakes_at_once_are_both_named():
    said = report(changed(SOLUTION, *ROOT.edits, *SUM.edits)).diagnosis
    assert said == "Two mistakes at once. the root is missing And: y is subtracted"
    assert report(changed(SOLUTION, *SUM.edits)).diagnosis == "y is subtracted"


def test_what_two_mistakes_have_in_common_is_said_once():
    more = ". Look again. Then go on."
    both = tuple(Mistake(m.message + more, *m.edits) for m in (ROOT, SUM))
    code = changed(SOLUTION, *ROOT.edits, *SUM.edits)
    said = report(code, mistakes=both).diagnosis
    assert said == (
        "Two mistakes at once. the root is missing. Look again. Then go on. And: y is subtracted."
    )
    same = tuple(Mistake("The sum is wrong.", *m.edits) for m in (ROOT, SUM))
    assert report(code, mistakes=same).diagnosis == "In two places: The sum is wrong."


def test_the_search_for_two_mistakes_tries_so_many(monkeypatch):
    monkeypatch.setattr("gpt2_edu.exercises.checking.PAIRS", 0)
    assert report(changed(SOLUTION, *ROOT.edits, *SUM.edits)).diagnosis is None


def test_a_mistake_that_explains_a_case_alone_is_tried_first(monkeypatch):
    monkeypatch.setattr("gpt2_edu.exercises.checking.PAIRS", 3)
    late = Mistake("y is lost in the first", ("scaled + y", "scaled + y * (len(x) > 2)"))
    code = changed(SOLUTION, *ROOT.edits, *late.edits)
    said = report(code, mistakes=(AXIS, SUM, ROOT, late)).diagnosis
    assert said == "Two mistakes at once. the root is missing And: y is lost in the first"


def test_a_mistake_is_named_though_later_cases_raise_an_error():
    raises = "    if len(x) == 3:\n        raise IndexError\n    return"
    code = changed(SOLUTION, ("    return", raises), *ROOT.edits)
    assert report(code).diagnosis == "the root is missing"


def test_a_mistake_is_named_though_the_least_part_of_the_wrong_cases_is_another():
    code = changed(SOLUTION, ("    return", "    y = y + (len(x) == 4)\n    return"), *SUM.edits)
    assert report(changed(code, ("(len(x) == 4)", "x * (len(x) == 4)"))).diagnosis == (
        "y is subtracted (That explains most of the wrong cases, not all.)"
    )
    code = changed(code, ("(len(x) == 4)", "x * (len(x) > 2)"))
    assert report(code).diagnosis is None, "only the first case has it"


def test_a_mistake_is_not_named_where_a_later_case_is_right():
    late = "    y = -y if len(x) == 2 else y\n    return"
    code = changed(SOLUTION, ("    return", late))
    assert report(code).diagnosis is None


def built(name: str, parts: dict[str, str]):
    step = find_step(name)
    return _examine(step, definitions(step.solution) | parts, {})[0]


@pytest.mark.parametrize("body", ["...", "pass", '"""The head."""'])
def test_a_mistake_is_named_while_another_part_is_unfinished(body):
    step = find_step("attention")
    start = definitions(step.start)
    scale = next(m for m in step.mistakes if "division is missing" in m.message)
    wrong = definitions(step.code_of(scale))["attention"]
    head = start["Head"].replace("...", body)
    found = built("attention", {"attention": wrong, "Head": head})
    assert found.diagnosis == scale.message
    assert found.lines[-1].startswith("Not yet: write Head")
    found = built("attention", {"Head": head})
    assert not found.passed and found.lines[-1].startswith("Not yet: write Head")
    assert "returns nothing" not in str(found) and "no parameter" not in str(found)


@pytest.mark.thorough
def test_answers_of_learners_are_judged_rightly_and_their_mistakes_named():
    """A sample; tests/fuzz tries all of them."""
    found = [(answer, answers.verdict(answer)) for answer in answers.sample(100, seed=1)]
    for answer, verdict in found:
        assert verdict.passed == (answer.kind in ("right", "harmless")), answer
    named = [verdict.named for answer, verdict in found if answer.kind == "wrong"]
    assert sum(named) >= 0.9 * len(named)


def test_a_result_that_is_drawn_at_random_is_said_to_be():
    code = changed(SOLUTION, ("scaled + y", "nn.Linear(x.size(-1), x.size(-1))(x)"))
    assert "drawn at random" in report(code).diagnosis
    assert report(changed(SOLUTION, ("scaled + y", "scaled + y * y"))).diagnosis is None


@pytest.mark.parametrize("body", ["yield x", "return object()", "return map(abs, x)"])
def test_an_object_that_equals_no_other_is_not_said_to_be_drawn(body):
    assert report(f"def blend(x, y):\n    {body}").diagnosis is None


# ---- Two tables and a sentence


def test_two_small_tables_stand_side_by_side():
    text = str(report(changed(SOLUTION, ("scaled + y", "scaled + y * y"))))
    head, first, second = text.splitlines()[2:5]
    assert head.split() == ["yours", "right"]
    assert len(first.split()) == len(second.split()) == 4
    assert first.count("*") == second.count("*") == 2


def test_only_wrong_entries_of_the_first_wrong_table_are_marked():
    right = torch.arange(12.0).view(2, 2, 3)
    got = right.clone()
    got[1, 0, 2] = 7.5
    assert side_by_side(got, right, 1e-5) == [
        "yours, at [1]     right",
        "  6    7  7.5*     6   7   8",
        "  9   10   11      9  10  11",
    ]
    assert side_by_side([1, 2], [1, 3, 4], 1e-5) == ["yours    right", "1  2     1  3  4"]
    assert side_by_side(torch.zeros(9, 9), torch.ones(9, 9), 1e-5) == []
    assert side_by_side("a", [1], 1e-5) == side_by_side([], [1], 1e-5) == []


B = torch.tensor([[0.25, 0.75, 0.0], [0.5, 0.125, 0.375], [0.2, 0.3, 0.5]])


@pytest.mark.parametrize(
    ("got", "wanted", "words"),
    [
        (B.mT, B, "with its last two axes swapped, rows and columns"),
        (B[:2].mT, B[:2], "with its last two axes swapped."),
        (B.view(1, 9), B, "only the shape is not"),
        (-B, B, "except for the sign"),
        (B * 3 - 1, B * 3 - 2, "Every number is 1 too large"),
        (B * 6, B * 3, "Every number is 2 times the right one"),
        (B * 2, B, "Row 0 sums to 2, and should sum to 1"),
        (B[[1, 0, 2]], B, "in another order"),
        (B.view(3, 1, 3), B.view(1, 3, 3), "only the shape is not"),
        (torch.stack([B, -B], 1), torch.stack([B, -B]), "with axes 0 and 1 swapped"),
        (B * 1.0001, B, None),
        ([3, 1, 2], [1, 2, 3], "in another order"),
        (B + B.mT, B * 3, None),
        (B.double(), B, None),
        ([2, 2], [1, 1], None),
    ],
)
def test_a_simple_relation_is_put_into_words(got, wanted, words):
    said = in_words(got, wanted, 1e-5)
    assert said is None if words is None else words in said


def test_an_exercise_can_say_what_is_wrong_with_a_value():
    def properties(value, x, y):
        return "the first row is of zeros" if not value[0].any() else None

    code = changed(SOLUTION, ("dim=-1)", "dim=-1) * (x > 99)"))
    assert "  the first row is of zeros" in str(report(code, properties=properties)).splitlines()
    text = str(report(code, properties=lambda *_: 1 / 0))
    assert "Traceback" not in text and "Zero" not in text


def test_a_right_value_is_not_shown():
    for answer in (63, [1, 2], torch.ones(2, 2)):
        text = str(examine(find("head_size"), answer))
        assert "64" not in text and "right" not in text.replace("Not right", "")


@pytest.mark.parametrize(
    ("value", "telling"),
    [
        (0.3180, True),
        (0.5, False),
        (3, False),
        (True, False),
        ([1, 2, 3, 4, 5], True),
        ({}, False),
        (134_515_008, True),
        (40_000, False),
    ],
)
def test_a_value_that_many_mistakes_share_names_none(value, telling):
    assert is_telling(value) is telling


# ---- What is compared


def test_the_source_of_a_class_without_methods_is_found():
    code = "from torch import nn\n\nclass Own(nn.LayerNorm):\n    pass"
    linecache.cache["<cell>"] = (len(code), None, code.splitlines(True), "<cell>")
    exec(compile(code, "<cell>", "exec"), space := {"__name__": "__main__"})
    assert source_of(space["Own"]) == "class Own(nn.LayerNorm):\n    pass"


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (np.int64(64), 64),
        (np.float32(0.5), 0.5),
        (np.bool_(False), False),
        ([np.int64(1), 2], [1, 2]),
        (np.array([1, 2]), [1, 2]),
        (torch.tensor([1, 2]), [1, 2]),
        (torch.tensor([]), []),
        ((torch.tensor(1), 2), (1, 2)),
        (np.float32(0.5), torch.tensor(0.5)),
        ({"a": np.float32(0.5)}, {"a": torch.tensor(0.5)}),
    ],
)
def test_numbers_of_numpy_and_torch_are_numbers(got, wanted):
    assert difference(got, wanted, 1e-5) is None


def test_wrong_numbers_of_numpy_are_shown_like_others():
    """Not as np.int64(3), and with the tables and the relation that Python's numbers have."""
    wrong, right = [np.int64(3), np.float32(1.5), np.bool_(True)], [1, 1.5, 3]
    assert difference(wrong, right, 1e-5) == "gives 3 where 1 is right (at index 0)"
    assert difference({np.int64(3): 1}, {}, 1e-5) == "has the unexpected key 3"
    assert difference(-np.float32(np.inf), None, 1e-5) == "gives -inf where None is right"
    assert side_by_side(wrong, right, 1e-5)[1].split() == "3* 1.5 1* 1 1.5 3".split()
    assert in_words(list(np.array([3, 1, 2])), [1, 2, 3], 1e-5) and is_telling(np.float32(0.318))


class Unreadable:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "got",
    [
        torch.ones(2, 2).to_sparse(),
        torch.ones(2, 2, device="meta"),
        10**5000,
        Unreadable(),
        torch.tensor([]),
        [],
    ],
    ids=range(6),
)
@pytest.mark.parametrize("wanted", [torch.zeros(2, 2), 1.0, [1], [[]], {"a": 1}, "text", None])
def test_whatever_is_given_is_compared(got, wanted):
    assert isinstance(difference(got, wanted, 1e-5), str)
    in_words(torch.ones(2), torch.ones(2), 1e-5)


def test_an_error_inside_the_check_is_not_shown():
    code = definitions(find_step("training").solution)
    train = "def train(*args, **kwargs):\n    return {'a': 1}, 2"
    said = str(_examine(find_step("training"), code | {"train": train}, {})[0])
    assert "a result has another kind or shape" in said
    assert "object" not in said


# ---- What a call leaves as it was


def outcome(function):
    return call(function, Case("a case", ()))


class Silent(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, SystemExit, Silent])
def test_any_exception_is_reported(kind):
    def raises():
        raise kind

    assert outcome(raises).error.startswith(f"{kind.__name__}: ")


@pytest.mark.parametrize(
    "version",
    [
        "expected one of: * (tuple of Tensors tensors, int dim = 0)",
        "argument 'tensors' must be tuple of Tensors, not Tensor",
    ],
)
def test_what_torch_says_of_cat_is_explained_in_each_version(version):
    def raises():
        raise TypeError(f"cat(): {version}")

    assert "in square brackets" in outcome(raises).error


def test_the_readers_own_interrupt_ends_the_check():
    with pytest.raises(KeyboardInterrupt):
        outcome(lambda: os.kill(os.getpid(), signal.SIGINT) or time.sleep(5))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def swallows():
    while True:
        try:
            time.sleep(9)
        except BaseException:
            return None


@pytest.mark.parametrize("waits", [lambda: time.sleep(9), lambda: threading.Lock().acquire(False)])
def test_a_function_that_waits_is_stopped(monkeypatch, waits):
    monkeypatch.setattr(calling, "SECONDS", 0.05)

    def forever():
        while True:
            waits()

    begin = time.monotonic()
    assert outcome(forever).timed_out
    assert outcome(swallows).value is None
    assert time.monotonic() - begin < 5
    for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
        assert signal.getitimer(timer)[0] == 0


def test_settings_and_seeds_are_as_before():
    def wild():
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.set_grad_enabled(False)
        torch.set_num_threads(threads + 1)
        torch.manual_seed(5), random.seed(5)
        os.chdir("/")
        sys.stdout = sys.stderr = None
        return 1

    threads = torch.get_num_threads()
    draws, folder, streams = random.getstate(), os.getcwd(), (sys.stdout, sys.stderr)
    state = torch.get_rng_state()
    said = "\n".join(outcome(wild).notes)
    assert torch.get_default_dtype() is torch.float32 and torch.is_grad_enabled()
    assert torch.ones(1).device.type == "cpu" and torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state) and random.getstate() == draws
    assert os.getcwd() == folder and (sys.stdout, sys.stderr) == streams
    for words in ("default type", "default device", "gradients", "threads", "directory"):
        assert words in said


def test_the_end_of_a_call_is_not_interrupted():
    """Both timers may run down during one long operation; the second must not leave them on."""
    with calling._time_limit(9):
        stop = signal.getsignal(signal.SIGALRM)
        stop(signal.SIGALRM, SimpleNamespace(f_code=calling.attempt.__code__))
        with pytest.raises(calling.OutOfTime):
            stop(signal.SIGALRM, sys._getframe())
    stop(signal.SIGALRM, sys._getframe())


def interrupted():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("ends", [lambda: None, lambda: 1 / 0, swallows, interrupted])
def test_a_call_has_one_thread_and_the_notebook_its_own_afterwards(ends, monkeypatch):
    """Torch's threads wait for each other where others use the processor, and a check for them."""
    monkeypatch.setattr(calling, "SECONDS", 0.05)
    seen, before = [], torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            outcome(lambda: seen.append(torch.get_num_threads()) or ends())
        assert (seen, torch.get_num_threads()) == ([1], 3)
    finally:
        torch.set_num_threads(before)


def test_a_thread_that_still_runs_is_reported():
    stop = threading.Event()
    assert outcome(lambda: threading.Thread(target=stop.wait).start()).notes == (
        "It started a thread that still runs.",
    )
    stop.set()


def test_a_million_lines_and_a_long_one_are_cut(capsys):
    def talks(x, gamma, beta, eps=1e-5):
        print("x" * 3_000_000)
        sys.stdout.close()

    assert check("layer_norm", talks) is False
    said = capsys.readouterr().out
    assert "\n    " + 200 * "x" in said and len(said) < 1000


def test_no_call_depends_on_earlier_draws():
    def draws():
        return torch.rand(3).tolist(), random.random()

    before = outcome(draws)
    draws()
    assert outcome(draws) == before


def test_a_result_that_is_the_same_in_every_case_is_said_to_be():
    def double(n):
        return 2 * n

    made = Exercise("double", "Double", 1, start="def double(n):\n    ...", right=double,
                    solution="def double(n):\n    return 2 * n",
                    cases=lambda: [Case("3", (3,)), Case("5", (5,))])  # fmt: skip
    assert "the same in every case" in examine(made, lambda n: 6).diagnosis
    assert examine(made, lambda n: n + 3).diagnosis is None
