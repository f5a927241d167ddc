"""By-hand answers in the page: what people type is read as they mean it, judged as in Python."""

from __future__ import annotations

import math

import pytest

from gpt2_edu.exercises.checking import difference
from gpt2_edu.exercises.exercise import Exercise, Mistake, exercises
from gpt2_site.practice_tasks import answered_in_page, task

VALUES = [e for e in exercises().values() if answered_in_page(e)]
IN_NUMBERS = [e for e in VALUES if not isinstance(e.right, str) and e.name != "three_merges"]


def read(node, *texts: str, **options) -> list[dict]:
    return node("run_answers.mjs", {"read": [[text, options] for text in texts]})["read"]


def judged(node, exercise: Exercise, answers: list[list[str]]) -> list[dict]:
    data = task(exercise)
    return node("run_answers.mjs", {"judge": [[data, typed] for typed in answers]})["judge"]


READ = {
    "1/3": 1 / 3,
    "0,333": 0.333,
    "0.333": 0.333,
    ".5": 0.5,
    ",5": 0.5,
    "5.": 5,
    "5.0": 5,
    "−∞": "-Infinity",
    "-inf": "-Infinity",
    "+Infinity": "Infinity",
    "1e-3": 0.001,
    "1E3": 1000,
    "1.5 × 10⁻³": 0.0015,
    "1.5 * 10^3": 1500,
    "10^-5": 1e-5,
    "10⁷": 1e7,
    "1 000": 1000,
    "1\u00a0000\u202f000": 1_000_000,
    "1'000": 1000,
    "1_000": 1000,
    "1,000,000": 1_000_000,
    "1.000.000": 1_000_000,
    "1.000,5": 1000.5,
    "1,000.5": 1000.5,
    "12,34,567": 1_234_567,
    "\uff11\uff12\uff0e\uff15": 12.5,
    "٣٫٥": 3.5,
    "ln 2": math.log(2),
    "ln(2)": math.log(2),
    "2 ln 2": 2 * math.log(2),
    "ln64/3": math.log(64) / 3,
    "math.log(20)": math.log(20),
    "log2(8)": 3,
    "log10 1000": 3,
    "sqrt(2)": math.sqrt(2),
    "√2": math.sqrt(2),
    "2/√3": 2 / math.sqrt(3),
    "2√3": 2 * math.sqrt(3),
    "1/√(11)": 1 / math.sqrt(11),
    "e^1.5": math.exp(1.5),
    "exp(1.5)": math.exp(1.5),
    "e": math.e,
    "2π": 2 * math.pi,
    "2**10": 1024,
    "2³": 8,
    "-2^2": -4,
    "(1 + 2) * 3": 9,
    "1 1/2": 1.5,
    "1½": 1.5,
    "-1½": -1.5,
    "½": 0.5,
    "⅔": 2 / 3,
    "3 : 4": 0.75,
    "3 ÷ 4": 0.75,
    "3·4": 12,
    "0.5 nats": 0.5,
    "0.5nats": 0.5,
    "about 0.3": 0.3,
    "approx. 0.3": 0.3,
    "≈ 0.3": 0.3,
    "~0.3": 0.3,
    "I think it is about 4": 4,
    "= 4": 4,
    "perplexity = 4": 4,
    "answer: 4": 4,
    "ln 4 = 1.386": 1.386,
    "4.": 4,
    "4!": 4,
    " 4 ": 4,
    "[4]": 4,
    "(4)": 4,
    '"4"': 4,
    "$4$": 4,
    "–3": -3,
    "—3": -3,
    "+3": 3,
    "--3": 3,
    "18 MiB": 18 * 2**20,
    "18.9 MB": 18.9e6,
    "19 million": 19e6,
    "24.6k": 24_600,
    "1500 numbers": 1500,
    "4.48 times": 4.48,
    "4.48x": 4.48,
    "4.48 ×": 4.48,
    "1.5 x 10^3": 1500,
    "1.5x10³": 1500,
    "64 dimensions": 64,
    "64 dimensions per head": 64,
    "12 heads": 12,
    "3 layers in all": 3,
    "1,500 numbers each": 1500,
    "0.333...": 0.333,
    "0.333…": 0.333,
}
ASKED = {
    "four": "“four” is no number that I can read. One number is enough here, such as 0.25.",
    "": "Type a number first.",
    "   ": "Type a number first.",
    "banana": "“banana” is no number that I can read. One number is enough here, such as 0.25.",
    "?": "number",
    "3 4": "One number is enough here, such as 0.25.",
    "3, 4": "One number is enough here, such as 0.25.",
    "[3, 4]": "One number is enough here, such as 0.25.",
    "3; 4": "One number is enough here, such as 0.25.",
    "1.2.3": "One number is enough here, such as 0.25.",
    "1e999": "That number is too large to be read.",
    "12 apples": "“apples” I cannot read. One number is enough here, such as 0.25.",
    "1/0": "That divides by 0.",
    "√(-1)": "That has no value: look at the root or the logarithm.",
    "(1 + 2": "A bracket is not closed.",
    "1 +": "Something is missing. One number is enough here, such as 0.25.",
    "4 bits": "Bits are not asked for here. Give the number that the task asks for.",
    "33 %": "A plain number is wanted here, without a per cent sign.",
    "0.3 ± 0.1": "“± 0.1” I cannot read. One number is enough here, such as 0.25.",
    "alert(1)": "“alert(1)” I cannot read.",
    "__proto__": "is no number that I can read",
    "constructor 1": "I cannot read",
    "x" * 500: "That is long.",
    "(" * 190: "number",
    "(" * 90 + "1" + ")" * 90: None,
}


def test_numbers_are_read_as_they_are_meant(node):
    for text, found in zip(READ, read(node, *READ)):
        assert found["values"][:1] == pytest.approx([READ[text]]), (text, found)


def test_what_is_no_number_is_asked_about(node):
    for (text, says), found in zip(ASKED.items(), read(node, *ASKED)):
        if says is None:
            assert found["values"] == [1]
        else:
            assert says in found.get("ask", ""), (text, found)


def test_a_share_may_be_in_per_cent(node):
    found = read(node, "33 %", "33%", "33,3 per cent", "33 percent", "1/4 %", share=True)
    assert [one["values"][0] for one in found] == pytest.approx([0.33, 0.33, 0.333, 0.33, 0.0025])


def test_bits_are_no_nats(node):
    assert "ln 2 = 0.693" in read(node, "4.3 bits", unit="nats")[0]["ask"]


def test_a_separator_that_may_mean_two_things_is_read_in_both_ways(node):
    found = read(node, "1,500", "1.500", "0,500", "1,50", "1500,250")
    assert [one["values"] for one in found] == [[1500, 1.5], [1.5, 1500], [0.5], [1.5], [1500.25]]


@pytest.mark.parametrize(
    ("text", "count", "parts"),
    [
        ("[1, 2]", 2, ["1", "2"]),
        ("(1024, 4096)", 2, ["1024", "4096"]),
        ("1024 x 4096", 2, ["1024", "4096"]),
        ("1024×4096", 2, ["1024", "4096"]),
        ("0,1; 0,2", 2, ["0,1", "0,2"]),
        ("1/7 2/7 4/7 0 0", 5, ["1/7", "2/7", "4/7", "0", "0"]),
        ("a = [1, 2, 3]", 3, ["1", "2", "3"]),
        ("2,1", 2, ["2,1"]),
        ("6 225", 2, ["6 225"]),
        ("2,3,4", 0, ["2", "3", "4"]),
        ("2 and 3", 2, ["2", "3"]),
        ("2, 3 and 4", 3, ["2", "3", "4"]),
        ("2, 3, and 4", 0, ["2", "3", "4"]),
        ("tensor([2.1000, 2.2000])", 2, ["2.1000", "2.2000"]),
        ("torch.tensor([2., 2.], dtype=torch.float32)", 2, ["2.", "2."]),
        ("np.array([1, 2])", 2, ["1", "2"]),
        ("2 3 4", 0, ["2", "3", "4"]),
    ],
)
def test_a_list_is_cut_where_its_writer_meant(node, text, count, parts):
    assert node("run_answers.mjs", {"split": [[text, count]]})["split"] == [parts]


# ---- Every exercise of the book whose answer is a value


def flat(value) -> list:
    return list(value) if isinstance(value, list | tuple) else [value]


def typed(exercise: Exercise, spelled) -> list[str]:
    parts = [spelled(part) for part in flat(exercise.right)]
    return [" ".join(parts)] if task(exercise)["kind"] == "list" else parts


SPELLINGS = {
    "as Python": repr,
    "decimal comma": lambda v: repr(v).replace(".", ",") if isinstance(v, float) else repr(v),
    "true minus": lambda v: repr(v).replace("-", "−"),
    "full width": lambda v: "".join(
        chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in f"{v:.12g}" if "e" not in f"{v:.12g}"
    ),
    "six digits": lambda v: f"{v:.6g}" if isinstance(v, float) else f"{v:,}",
    "about": lambda v: f"about {v!r}",
    "power of ten": lambda v: f"{v:.10e}",
    "groups": lambda v: f"{v:,}".replace(",", " ") if isinstance(v, int) else repr(v),
}


@pytest.mark.parametrize("exercise", IN_NUMBERS, ids=lambda e: e.name)
def test_the_right_value_passes_in_many_spellings(node, exercise):
    spellings = SPELLINGS
    if task(exercise)["kind"] == "list":  # one field, in which blanks separate
        spellings = {name: SPELLINGS[name] for name in ("as Python", "true minus", "full width")}
    answers = [typed(exercise, spelled) for spelled in spellings.values()]
    pasted = [str(exercise.right)] + [""] * (len(answers[0]) - 1)
    for answer, found in zip([*answers, pasted], judged(node, exercise, [*answers, pasted])):
        assert found["verdict"] == "right", (answer, found)


@pytest.mark.parametrize("exercise", VALUES, ids=lambda e: e.name)
def test_each_mistake_gets_its_message_and_none_passes(node, exercise):
    data = task(exercise)
    values = [exercise.answer(mistake.code) for mistake in exercise.mistakes]
    assert len(data["mistakes"]) == len(values)
    answers, wanted = [], []
    for value, mistake in zip(values, data["mistakes"]):
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in flat(value))
        comma = lambda v: repr(v).replace(".", ",")  # noqa: E731
        for way in (repr, "{:.6g}".format, comma) if numbers else (str,):
            parts = [way(part) for part in flat(value)]
            answers.append(["; ".join(parts)] if data["kind"] == "list" else parts)
            wanted.append(mistake["says"])
    for answer, says, found in zip(answers, wanted, judged(node, exercise, answers)):
        assert (found["verdict"], found.get("why")) == ("wrong", says), (answer, found)


def rounded(v: float, digits: int) -> str:
    """Rounded by hand: with its zeros, and never as a power of ten."""
    if v == 0 or isinstance(v, int):
        return str(v)
    places = digits - 1 - math.floor(math.log10(abs(v)))
    return f"{v:.{max(places, 0)}f}"


@pytest.mark.parametrize("exercise", IN_NUMBERS, ids=lambda e: e.name)
def test_no_rounded_mistake_passes(node, exercise):
    """Unless it is also within the tolerance that Python allows."""
    tried = []
    for mistake in exercise.mistakes:
        value = exercise.answer(mistake.code)
        if not any(isinstance(v, bool) for v in flat(value)):
            tried += [[rounded(v, digits) for v in flat(value)] for digits in range(1, 6)]
    one_field = task(exercise)["kind"] == "list"
    answers = [[" ".join(parts)] if one_field else parts for parts in tried]
    for parts, found in zip(tried, judged(node, exercise, answers)):
        numbers = [float(part) for part in parts]
        many = isinstance(exercise.right, list | tuple)
        wanted = list(exercise.right) if many else exercise.right
        if found["verdict"] == "right":
            given = numbers if many else numbers[0]
            assert difference(given, wanted, exercise.tolerance) is None, (parts, found)


@pytest.mark.parametrize("exercise", IN_NUMBERS, ids=lambda e: e.name)
def test_three_digits_of_the_right_value_pass(node, exercise):
    parts = [rounded(v, 3) for v in flat(exercise.right)]
    answer = [" ".join(parts)] if task(exercise)["kind"] == "list" else parts
    found = judged(node, exercise, [answer])[0]
    assert found["verdict"] == "right", (answer, found)


# ---- The rules, on exercises of their own


def made(right, *mistakes: str, tolerance: float = 1e-5) -> Exercise:
    return Exercise(
        name="x",
        title="",
        chapter=1,
        order=1,
        kind="paper",
        level=1,
        minutes=1,
        task="",
        hints=(),
        start="x = ...",
        solution="",
        right=right,
        cases=None,
        mistakes=tuple(Mistake(f"mistake {i}", code) for i, code in enumerate(mistakes)),
        tolerance=tolerance,
        after=None,
    )


@pytest.mark.parametrize(
    ("right", "text", "verdict", "says"),
    [
        (2 / 3, "0.67", "right", "Right, to two digits."),
        (2 / 3, "0.667", "right", "Right, to three digits."),
        (2 / 3, "0.66…", "right", "Right, to two digits."),
        (2 / 3, "0.66", "wrong", "Not yet right."),
        (2 / 3, "0.68", "wrong", "Not yet right."),
        (2 / 3, "67 %", "right", "Right, to two digits."),
        (2 / 3, "2/3", "right", "Right."),
        (0.25, "25", "ask", "Is that per cent? Then add the sign, or give a share of 1."),
        (2 / 3, "0.7", "ask", "That may be right, but it is too coarse to tell. Give more digits."),
        (2 / 3, "1", "ask", "That may be right, but it is too coarse to tell. Give more digits."),
        (2 / 3, "0", "wrong", "Not yet right."),
        (4, "4", "right", "Right."),
        (4, "4.4", "wrong", "Not yet right."),
        (6931.0, "6930", "wrong", "Not yet right."),
        (6931.0, "about 6930", "right", "Right, to three digits."),
        (6931.0, "6.9e3", "right", "Right, to two digits."),
        (6931.0, "6.9 thousand", "right", "Right, to two digits."),
        (float("-inf"), "−∞", "right", "Right."),
        (float("-inf"), "-1e9", "wrong", "Not yet right."),
        (0.001, "1e-3", "right", "Right."),
    ],
)
def test_rounding(node, right, text, verdict, says):
    found = judged(node, made(right), [[text]])[0]
    assert (found["verdict"], found["says"]) == (verdict, says)


def test_too_few_digits_to_tell_it_from_a_mistake(node):
    exercise = made(0.6667, "x = 0.6712")
    say = [found["verdict"] for found in judged(node, exercise, [["0.67"], ["0.667"], ["0.671"]])]
    assert say == ["ask", "right", "wrong"]
    assert judged(node, exercise, [["0.671"]])[0]["why"] == [["", "mistake 0"]]


@pytest.mark.parametrize(
    ("right", "texts", "verdict"),
    [
        ([[1, 2], [3, 4]], ["1", "2", "3", "4"], "right"),
        ([[1, 2], [3, 4]], ["1", "3", "2", "4"], "wrong"),
        ({"rows": 2, "columns": 3}, ["2", "3"], "right"),
        ({"rows": 2, "columns": 3}, ["3", "2"], "wrong"),
        ("no mask", ["“No  mask”"], "right"),
        ("no mask", ["mask"], "wrong"),
        ("mask after softmax", ["`The mask-after-softmax`."], "right"),
        ("transformer.h.2.attn.out", ["transformer.h[2].attn.out"], "right"),
        ("no mask", [" "], "ask"),
        (["in", " tin"], ["in", "␣tin"], "right"),
        (["in", " tin"], ["in", '" tin"'], "right"),
        (["in", " tin"], ['["in", " tin"]', ""], "right"),
        (["in", " tin"], ["in", "tin"], "wrong"),
        ([0.1, 0.2], ["0.1", ""], "ask"),
        ([0.1, 0.2], ["0.1", "x"], "ask"),
        ([0.1, 0.2], ["0.1 0.2 0.3", ""], "ask"),
    ],
)
def test_other_forms(node, right, texts, verdict):
    assert judged(node, made(right), [texts])[0]["verdict"] == verdict
