"""An assignment: what is handed out holds no solution, and nbgrader can read both versions."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
import torch

from gpt2_edu.exercises import graded, grading, parts
from gpt2_edu.exercises.checking import examine
from gpt2_edu.exercises.exercise import Case, exercises
from gpt2_site import make_assignment
from gpt2_site.chapters import chapters, find

CODING = [e for e in exercises().values() if e.cases is not None]
ANY_DRAW = 77_777


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("course")
    make_assignment.write(find("heads"), folder)
    return folder


def cells(course: Path, version: str) -> list[nbformat.NotebookNode]:
    name = find("heads").name
    nb = nbformat.read(course / version / name / f"{name}.ipynb", as_version=4)
    nbformat.validate(nb)
    return nb.cells


def about(cell: nbformat.NotebookNode) -> dict:
    return cell.metadata.get("nbgrader", {})


def test_solutions_and_hidden_tests_stand_in_the_source_alone(course):
    files = {path for path in course.rglob("*") if path.is_file()}
    told = {path.relative_to(course).parts[0]: path.read_text(encoding="utf-8") for path in files}
    assert set(told) == {"source", "release", "README.md", "nbgrader_config.py"}
    for mark in ("BEGIN SOLUTION", "BEGIN HIDDEN", "draw="):
        assert [name for name, text in told.items() if mark in text] == ["source"]
    given = "\n".join(cell.source for cell in cells(course, "release"))
    whole = "\n".join(cell.source for cell in cells(course, "source"))
    for exercise in exercises().values():
        if exercise.chapter == find("heads").number:
            assert exercise.solution in whole and exercise.solution not in given
            # a bug to be found shares most of its lines with the solution
            fresh = set(exercise.solution.splitlines()) - set(exercise.start.splitlines())
            assert not [line for line in fresh if line.strip() and line in given.splitlines()]


@pytest.mark.parametrize("version", ["source", "release"])
def test_cells_have_the_metadata_that_nbgrader_needs(course, version):
    """Its schema of version 3: keys and their types, and no id twice."""
    kinds = {"schema_version": int, "grade_id": str, "cell_type": str, "task": bool}
    kinds |= {"solution": bool, "locked": bool, "grade": bool}
    metas = [about(cell) for cell in cells(course, version) if cell.cell_type == "code"]
    for meta in metas:
        assert {key: type(meta[key]) for key in kinds} == kinds
        assert (meta["schema_version"], meta["cell_type"], meta["task"]) == (3, "code", False)
        assert set(meta) - set(kinds) == ({"points"} if meta["grade"] else set())
        assert re.fullmatch(r"\w+", meta["grade_id"])
        assert meta["locked"] != meta["solution"]
    assert len({meta["grade_id"] for meta in metas}) == len(metas)


def test_each_exercise_has_its_start_its_test_and_its_points(course):
    given = {about(cell).get("grade_id"): cell for cell in cells(course, "release")}
    for exercise in exercises().values():
        if exercise.chapter == find("heads").number and exercise.checked:
            assert given[exercise.name].source == exercise.start
            test = given[f"test_{exercise.name}"]
            assert about(test)["points"] == exercise.level and not test.metadata.editable


def run(course: Path, **answers: str) -> dict[str, bool]:
    """Whether each test of the source version passes, with these answers instead of solutions."""
    space: dict = {}
    passed = {}
    for cell in cells(course, "source"):
        name = about(cell).get("grade_id", "")
        if cell.cell_type != "code":
            continue
        code = cell.source.replace("    %pip", "    pass  # %pip")
        try:
            exec(answers.get(name, code), space)
            passed[name] = True
        except AssertionError:
            passed[name] = False
    return {name.removeprefix("test_"): ok for name, ok in passed.items() if "test_" in name}


def test_a_mistake_costs_the_points_of_its_exercise_alone(course, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert all(run(course).values())
    exercise = exercises()["split_heads"]
    mistake = exercise.mistakes[0]
    found = run(course, split_heads=exercise.code_of(mistake))
    assert [name for name, ok in found.items() if not ok] == ["split_heads"]
    assert mistake.message in capsys.readouterr().out
    starts = {name: exercises()[name].start for name in found}
    assert not any(run(course, **starts).values())
    assert list(tmp_path.iterdir()) == [], "grading records nothing"


@pytest.mark.parametrize("exercise", CODING, ids=lambda exercise: exercise.name)
def test_a_hidden_test_has_other_inputs_and_the_same_solution(exercise):
    """Or more of them; that the start fails is known of all inputs, not of half of them."""
    seen, again = grading.visible(exercise), grading.hidden(exercise, ANY_DRAW)
    report = examine(again, parts.solutions(exercise.name))
    assert report.passed, str(report)
    if len(seen.cases()) < len(again.cases()):
        assert not examine(seen, parts.execute(exercise, exercise.start, parts.solutions)).passed
    else:
        assert grading.differ(seen.cases(), again.cases())


def test_any_other_number_is_another_input():
    one, other = ([Case("", (torch.tensor([value]),))] for value in (1.0, 1.001))
    assert grading.differ(one, other) and not grading.differ(one, one)


def test_an_answer_learned_by_heart_fails_the_hidden_test(capsys):
    exercise = exercises()["merge_heads"]
    assert grading.draws(exercise)
    known = {str(case.args): exercise.right(*case.args) for case in exercise.cases()}

    def merge_heads(heads):
        return known.get(str((heads,)), heads.transpose(1, 2).flatten(start_dim=2) * 0)

    assert graded("merge_heads", merge_heads)
    assert not graded("merge_heads", merge_heads, draw=ANY_DRAW)
    assert "With other inputs: merge_heads" in capsys.readouterr().out


def test_a_warning_costs_no_points(capfd):
    """nbgrader gives no points for a cell that has written to the stream of errors."""

    def split_heads(x, n_head):
        import sys

        print("careful", file=sys.stderr)
        return parts.solutions("split_heads")(x, n_head)

    assert graded("split_heads", split_heads)
    assert capfd.readouterr().err == ""


def test_a_chapter_is_named_by_number_or_name():
    heads = find("heads")
    for name in (str(heads.number), heads.slug, heads.name):
        assert make_assignment.chosen(name) == (heads,)
    assert make_assignment.chosen("all") == chapters()
    with pytest.raises(ValueError, match="Chapters: 1 tokens, "):
        make_assignment.chosen("99")


def test_the_course_keeps_starts_and_names_its_grader(course):
    config = (course / "nbgrader_config.py").read_text(encoding="utf-8")
    assert 'code_stub = {"python": ""}' in config
    assert "add_missing_cells = True" in config
    readme = (course / "README.md").read_text(encoding="utf-8")
    assert make_assignment.grader() in readme and "$" not in readme
