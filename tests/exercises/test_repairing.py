"""The one change that makes an answer right: which it is, and that it is one."""

from __future__ import annotations

import ast
import linecache
import time

import pytest
import torch

from gpt2_edu.exercises import checking, repairing
from gpt2_edu.exercises.borrowing import borrowed
from gpt2_edu.exercises.changes import POWER, changes, parsed
from gpt2_edu.exercises.checking import examine
from gpt2_edu.exercises.exercise import Case, Exercise, changed, find, find_step
from gpt2_edu.exercises.mine import _examine
from gpt2_edu.exercises.parts import solutions
from gpt2_edu.exercises.redrawing import redrawn
from gpt2_edu.exercises.repairing import power
from gpt2_edu.exercises.source import definitions

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPT2_EDU_BOOK", raising=False)
    monkeypatch.setattr(repairing, "SECONDS", 30.0)  # enough on a slow machine, too
    monkeypatch.setattr(repairing, "WAITING", 300.0)


def answer(code: str):
    """A function as a notebook's cell defines it."""
    name = code.partition("def ")[2].partition("(")[0]
    file = f"<cell {hash(code)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    exec(compile(code, file, "exec"), space := {"torch": torch, "__name__": "cell"})
    return space[name]


def total(code: str, **more):
    """What is said of an answer to the exercise of adding up the squares of a list."""

    def right(numbers):
        return sum(n * n + 0.125 for n in numbers)

    made = Exercise(
        "total", "Total", 1, start="def total(numbers):\n    ...", right=right,
        solution="def total(numbers):\n    return sum(n * n + 0.125 for n in numbers)",
        cases=lambda: [Case("three", ([1, 2, 4],)), Case("two", ([3, 7],)), Case("none", ([],))],
        **more,
    )  # fmt: skip
    return examine(made, answer(code))


LOOP = """
def total(numbers):
    found = 0
    for n in numbers:
        found += n**2 + 0.125
    return found
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("n**2", "n**3", "in line 4, `n ** 2` in place of `n ** 3`"),
        ("+ 0.125", "* 0.125", "in line 4, `n ** 2 + 0.125` in place of `n ** 2 * 0.125`"),
        ("found = 0", "found = 1", "in line 2, `found = 0` in place of `found = 1`"),
        ("in numbers", "in numbers[1:]", "in line 3, `numbers` in place of `numbers[1:]`"),
        ("n**2", "found**2", "in line 4, `n ** 2` in place of `found ** 2`"),
        ("    return", "        return", "in line 5, move `return found` out of the loop"),
        ("    return", "    found = n\n    return", "in line 5, leave out `found = n`"),
        ("return found", "return -found", "in line 5, `return found` in place of `return -found`"),
        ("return found", "return [found]", "in line 5, `found` in place of `[found]`"),
    ],
)  # fmt: skip
def test_the_change_that_makes_an_answer_right_is_named(old, new, said):
    report = total(LOOP.strip("\n").replace(old, new))
    assert not report.passed and report.diagnosis == f"One change makes it right: {said}."


SQUARES = """
def total(numbers):
    found = 0
    left = list(numbers)
    while left:
        found = found + left[0] * left[0]
        left = left[1:]
    return found + len(numbers) / 8
"""


def test_two_changes_are_named_where_one_is_not_enough():
    code = changed(LOOP.strip("\n"), ("n**2", "n**3"), ("0.125", "5"))
    assert total(code).diagnosis == (
        "Two changes make it right: in line 4, `found += n ** 2 + 0.125` in place of "
        "`found += n ** 3 + 5`."
    )


@pytest.mark.thorough
def test_a_change_that_is_needed_in_several_places_is_named_once():
    code = SQUARES.strip("\n").replace("left[0] * left[0]", "left[1] * left[1]")
    said = total(code).diagnosis
    assert (
        said == "One change makes it right: in line 5, `left[0]` in place of `left[1]`, each time."
    )


def test_a_change_of_one_name_in_different_code_is_named_without_it():
    code = """def leave_out(q, keys, values, j):
    keys = torch.cat([keys[: j - 1], keys[j:]])
    values = torch.cat([values[: j - 1], values[j:]])
    return (keys @ q).softmax(0) @ values"""
    assert examine(find("leave_out"), answer(code)).diagnosis == (
        "One change makes it right: in line 2, `j + 1` in place of `j`, each time, and likewise "
        "in line 3."
    )


def test_an_index_over_the_first_axes_is_tried():
    exercise = find("project")
    code = """def project(x, weight, bias):
    both, n = x @ weight.T + bias, x.size(-1)
    return both[:, :n], both[:, n : 2 * n], both[:, 2 * n :]"""
    said = examine(exercise, answer(code)).diagnosis
    assert (
        said
        == "One change makes it right: in line 3, `[..., :n]` in place of `[:, :n]`, each time."
    )


def test_nothing_is_said_where_two_changes_are_not_enough(monkeypatch):
    monkeypatch.setattr(repairing, "SECONDS", 0.5)
    code = SQUARES.strip("\n").replace("left[0] * left[0]", "17").replace("/ 8", "% 7")
    assert total(code).diagnosis is None


SOLUTION = """
def f(x, T):
    \"\"\"A text.\"\"\"
    x = note("x", x.clone(), "B T")
    visible = torch.ones(T, T).tril(1 - T)
    scores = x[:, -1:].masked_fill(visible == 0, -torch.inf)
    return scores.mean(dim=-1, keepdim=True) * 0.125
"""


def test_the_solution_lends_what_fits_into_other_code():
    lent = borrowed(SOLUTION)
    assert set(lent.constants) == {"-1", "torch.inf", "-torch.inf", "0.125"}
    assert lent.indices == {":, -1:": set()}
    assert lent.arguments["tril"] == {"1 - T": {"T"}}
    assert "keepdim=True" in lent.arguments["mean"] and "note" not in lent.arguments
    assert "@.clone()" in lent.around and "@.mean(dim=-1, keepdim=True)" in lent.around
    assert lent.statements["x = x.clone()"] == {"x"}


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        ("to_int8", ("/ 127", "/ 100"), " / 127` in place of `weight"),
        ("first_difference", ('"none"', '"nothing"'), "`return 'none'` in place of"),
        ("knock_out", ("heads.clone()", "heads.new_ones(8)"), "`x = heads.clone()` in place of"),
    ],
)
def test_what_the_solution_has_is_tried(name, edit, said, monkeypatch):
    monkeypatch.setattr(
        checking, "_diagnose", lambda *_: (None, None)
    )  # leave out the known mistakes
    exercise = find(name)
    assert said in examine(exercise, answer(changed(exercise.solution, edit))).diagnosis


def test_a_misspelt_name_is_told_and_nothing_is_searched(monkeypatch):
    monkeypatch.setattr(checking, "repaired", lambda *_: pytest.fail("searched"))
    code = LOOP.strip("\n").replace("return found", "return fuond")
    assert total(code).lines[-1].endswith("(line 5 of the function). Did you mean `found`?")


def test_what_writes_into_its_argument_is_told_to_copy_it():
    code = LOOP.strip("\n").replace("found = 0", "found = 0\n    left = numbers")
    code = code.replace("    return", "    left.append(1)\n    return")
    assert "leave out `left.append(1)`" in total(code).diagnosis
    code = changed(find("knock_out").solution, ("heads.clone()", "heads"))
    said = examine(find("knock_out"), answer(code)).diagnosis
    assert said.startswith("The numbers are right, but they were written into the caller's tensor")


LIMIT = "limit / length.item() if length > limit**2 else 1.0"


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("hears", ("others[1:, :, 0]", "others[0]")),  # moves text 0 by 1, which most norms ignore
        ("clip_together", ("min(1.0, limit / length.item())", LIMIT)),  # as of what is above limit²
    ],
)
def test_what_is_right_in_most_cases_does_not_pass(name, edit):
    assert not examine(find(name), answer(changed(find(name).solution, edit))).passed


def test_an_error_in_another_method_is_another_mistake():
    """`split(3)` and a v that is split twice both leave too many values to unpack."""
    step = find_step("heads")
    edit = 'note("v", self.split_heads(v)', 'note("v", self.split_heads(k)'
    report, _ = _examine(step, definitions(changed(step.solution, edit)), {})
    assert "`split` takes the size" not in report.diagnosis
    assert report.diagnosis.endswith("`self.split_heads(v)` in place of `self.split_heads(k)`.")


def test_a_change_that_is_right_by_chance_is_not_named(monkeypatch):
    """It must be right with other random numbers, too."""
    monkeypatch.setattr(repairing, "SECONDS", 0.5)

    def cases():
        generator = torch.Generator().manual_seed(0)
        return [Case("one", (torch.randn(1, generator=generator).abs(),))]

    def right(x):
        return (x + 10.25).floor()

    made = Exercise("near", "Near", 1, start="def near(x):\n    ...", right=right, cases=cases,
                    solution="def near(x):\n    return (x + 10.25).floor()")  # fmt: skip
    wrong = answer("def near(x):\n    return (x * 0 + 9.5).round() * 7")
    assert "One change" not in str(examine(made, wrong))
    assert redrawn(cases, 1)()[0].args != cases()[0].args


def test_a_change_in_a_method_is_named_with_the_method():
    step = find_step("llama")
    parts = definitions(step.solution)
    wrong = parts["RMSNorm"].replace("self.weight * (x", "self.weight + (x")
    report, _ = _examine(step, parts | {"RMSNorm": wrong}, {})
    assert report.diagnosis.startswith("One change makes it right: in `RMSNorm.forward`, `self.")


def test_code_is_as_before_after_all_changes():
    tree = parsed(find("places").solution)
    before = ast.dump(tree)
    seen = [ast.dump(tree) for _ in changes(tree)]
    assert ast.dump(tree) == before
    assert before not in seen and len(set(seen)) > 100


def test_the_answer_itself_is_not_changed():
    function = solutions("places")
    wrong = answer("def places(start, swaps):\n    return [start for _ in swaps]")
    assert examine(find("places"), wrong).passed is False
    assert wrong(1, [(1, 2)]) == [1] and examine(find("places"), function).passed


def test_powers_that_take_for_ever_are_refused():
    tree = parsed("def f(a, b):\n    return a ** b")
    assert POWER in ast.unparse(tree)
    assert power(2, 10) == 1024 and power(2.0, 3) == 8.0 and power(2, -1) == 0.5
    with pytest.raises(OverflowError):
        power(10**9, 10**9)


def test_the_search_ends_in_time(monkeypatch):
    monkeypatch.setattr(repairing, "SECONDS", 0.05)
    begin = time.thread_time()
    code = LOOP.strip("\n").replace("n**2", "17").replace("0.125", "len(numbers)")
    code = code.replace("    return", "    while numbers == 3:\n        pass\n    return")
    assert total(code).diagnosis is None
    assert time.thread_time() - begin < 1.5


def test_a_search_through_code_that_waits_ends_by_the_clock(monkeypatch):
    monkeypatch.setattr(repairing, "WAITING", 0.2)
    begin = time.monotonic()
    code = LOOP.strip("\n").replace("n**2", "17").replace("0.125", "len(numbers)")
    code = code.replace("    return", "    import time\n    time.sleep(0.05)\n    return")
    assert total(code).diagnosis is None
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("line", ["open('x')", "os.remove('x')", "input()"])
def test_code_that_reaches_outside_is_not_tried(line):
    code = LOOP.strip("\n").replace("n**2", "n**3")
    code = code.replace("    return", f"    if numbers == 5:\n        {line}\n    return")
    assert total(code).diagnosis is None


def test_an_answer_without_source_is_left_alone():
    space: dict = {}
    exec("def total(numbers):\n    return 3 * sum(n * n + 0.125 for n in numbers)", space)
    made = find("places")
    assert repairing.repaired(space["total"], lambda changed: 1.0, "") is None
    assert made.checked


def test_a_search_that_ends_early_leaves_the_code_as_it_was():
    tree = parsed(find("places").solution)
    before = ast.dump(tree)
    for kind in (changes, repairing.quick_changes):
        for n in (1, 40, 400):
            found = kind(tree)
            assert len([*zip(range(n), found, strict=False)]) <= n
            found.close()
            assert ast.dump(tree) == before


def test_what_is_computed_and_lost_is_returned_or_kept():
    code = LOOP.strip("\n")
    said = total(code.replace("return found", "sum([found])")).diagnosis
    assert said.endswith("in line 5, `return sum([found])` in place of `sum([found])`.")
    said = total("def total(numbers):\n    found = sum(n * n + 0.125 for n in numbers)").diagnosis
    assert "put `return found` after `found = sum(" in said
    edit = "p = p * (1 - lr * decay)", "p.mul_(1 - lr * decay)"
    wrong = changed(find("adamw_step").solution, edit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "_diagnose", lambda *_: (None, None))
        said = examine(find("adamw_step"), answer(wrong)).diagnosis
    assert "`p = p.mul(1 - lr * decay)` in place of `p.mul_(1 - lr * decay)`" in said


def test_a_mistake_that_explains_most_cases_is_told_only_if_no_change_is_found():
    """`kept[0]` is right as `kept`; where a layer runs once, `kept[-1]` gives the same."""
    code = changed(find("recorded").solution, ("    return kept", "    return [*kept[:1]]"))
    assert "in place of `kept[:1]`" in examine(find("recorded"), answer(code)).diagnosis


def test_a_list_in_itself_ends_no_process():
    """A change may put a list into itself, which torch.tensor does not survive."""
    code = "def total(numbers):\n    row = [1, [2]]\n    row[1].append(row)\n"
    for last in ("return torch.tensor(row)", "return row", "return torch.tensor([row, numbers])"):
        assert "does one contain itself" in total(f"{code}    {last}").lines[0]


def test_what_a_changed_answer_prints_is_not_shown(capsys):
    code = LOOP.strip("\n").replace("n**2", "17").replace("0.125", "len(numbers)")
    total(code.replace("    return", "    print('!', file=sys.stderr)\n    return").replace(
        "    found = 0", "    import sys\n    found = 0"))  # fmt: skip
    assert capsys.readouterr() == ("", "")


def test_a_tensor_is_not_told_to_be_a_list():
    code = changed(
        find("padded_rows").solution, ("len(rows), T), end)", "len(rows), T), end * 1.0)")
    )
    said = examine(find("padded_rows"), answer(code)).diagnosis
    assert "`end` in place of `end * 1.0`" in said
