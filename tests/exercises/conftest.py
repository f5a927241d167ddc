"""What the tests of exercises share."""

from __future__ import annotations

import re
import signal

import pytest

from gpt2_edu.exercises import calling, checking, parts, repairing
from tests.thorough import thorough

# Of three thousand known mistakes make test tries a sixth, from all over each exercise.
EACH_SIXTH = pytest.mark.parametrize(
    "some", [slice(None, None, 6), thorough(slice(None))], ids=["a sixth", "all"]
)


def missing_names(exercise, mistake) -> set[str]:
    """The names that a known mistake lacks and its message does not speak of."""
    if exercise.cases is None:
        return set()
    found = " ".join(o.error or "" for o in checking._known_outcomes(exercise, mistake))
    return {n for n in re.findall(r"NameError: name '(\w+)'", found) if n not in mistake.message}


@pytest.fixture(autouse=True)
def default_interrupts():
    """As in a kernel. What drives Chromium in the same process may have left a handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.default_int_handler)


@pytest.fixture
def no_search(monkeypatch):
    """Without the search for two mistakes, or for one change: test_explanations.py and
    test_repairing.py have it, and it takes seconds."""
    monkeypatch.setattr(checking, "_two_mistakes", lambda *_: None)
    monkeypatch.setattr(repairing, "SECONDS", 0)


@pytest.fixture
def execute_once(monkeypatch):
    """Execute code once, though it is both an answer and the mistake that answers are told by."""
    functions: dict = {}
    outcomes: dict = {}

    def execute(exercise, code, own=parts.solutions):
        key = exercise.name, exercise.parts, code
        if key not in functions:
            functions[key] = parts.execute(exercise, code, own)
        return functions[key]

    def call(function, case, *limit):
        key = function, case.label
        if key not in outcomes:
            outcomes[key] = calling.call(function, case, *limit)
        return outcomes[key]

    monkeypatch.setattr(checking, "execute", execute)
    monkeypatch.setattr(checking, "call", call)
    return execute
