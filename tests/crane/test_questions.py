"""Questions about stories have the answers that the stories' words give, and are marked by them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import pytest

from gpt2_edu import crane
from gpt2_edu.crane.grammar import Grammar
from gpt2_edu.crane.notation import Slot
from gpt2_edu.crane.questions import Questions, crane_questions
from tests.crane.reference import crane_page, said
from tests.crane.small_grammars import page

pytestmark = pytest.mark.slow

WAYS = (None, "form", "thing")
GOLDEN = "458aa9280df98669cfd2b40d83123826d7bfe2ccfe30d02ee2399754234b5279"


@pytest.fixture(scope="module")
def asked():
    return {way: [crane.ask(seed, held_out=way) for seed in range(300)] for way in WAYS}


def entries(rule: str) -> str:
    """The alternatives of a rule or the keys of a table, as a pattern."""
    if rule in crane_page().tables:
        return "|".join(crane_page().tables[rule].keys)
    return "|".join(" ".join(map(str, way.items)) for way in crane_page().rules[rule])


def column(name: str) -> dict[str, list[str]]:
    return {key: said(cell) for key, cell in crane_page().tables["sense"].cells[name].items()}


def found_in_words(exchange: crane.Exchange) -> str:
    """The answer, by patterns in the story's words: no grammar is parsed."""
    story, question = exchange.story, exchange.question
    names = re.findall(rf"\b({entries('person')})\b", story)
    if exchange.kind == "who":
        return names[0]
    if exchange.kind == "friend":
        return next(name for name in names if name != names[0])
    if exchange.kind == "colour":
        return re.search(rf"\b({entries('colour')}) ({entries('thing')})\b", story)[1]
    if exchange.kind == "count":
        if "sat" in question or "at first" in question:
            return re.search(rf"(\w+) ({entries('flock')}) sat", story)[1].lower()
        return re.search(r"There are (\w+),|so (\w+) \w+ were left", story).expand(r"\1\2")
    if exchange.kind == "sense":
        deeds = column("does")
        (sense,) = (key for key in deeds if any(deed in story for deed in deeds[key]))
        return sense.partition("-")[2]
    if re.search(entries("flock") + "|they", question):
        return re.search(rf"sat ({entries('perch')})", story)[1]
    if named := re.search(rf"\b({entries('thing')})\b", question):
        pattern = rf"{named[0]} is ({entries('spot')}),|{named[0]} ({entries('corner')})[.,]"
        return re.search(pattern, story).expand(r"\1\2")
    if re.search(r" it\?", question):
        return re.search(rf"({entries('spot')}),|({entries('corner')})[.,]", story).expand(r"\1\2")
    places = "|".join({place for cell in column("place").values() for place in cell})
    before = re.match(rf"({places}),", story[0].lower() + story[1:])
    told = before or re.search(rf"(?:but|rested|looked|saw it happen) ({places})", story)
    return told[1]


@pytest.mark.parametrize("way", WAYS)
def test_answers_are_those_that_the_words_give(asked, way):
    for exchange in asked[way]:
        assert exchange.answer == found_in_words(exchange), exchange


@pytest.mark.parametrize("way", WAYS)
def test_the_judge_accepts_the_answer_and_no_other_of_its_kind(asked, way):
    others = {}
    for exchange in asked[way]:
        others.setdefault(exchange.kind, set()).add(exchange.answer)
    for exchange in asked[way][:100]:
        story, question, answer = exchange.story, exchange.question, exchange.answer
        assert crane.judge_answer(story, question, answer)
        assert crane.judge_answer(story, question, f" {answer}\n")
        for wrong in [*others[exchange.kind] - {answer}, "", answer + ".", f"{answer} {answer}"]:
            assert not crane.judge_answer(story, question, wrong), (exchange, wrong)


def test_no_two_questions_share_a_text_and_have_different_answers():
    """The judge would accept both."""
    for seed in range(200):
        answers: dict[str, set] = {}
        for way in WAYS:
            for one in crane.questions_about(crane.ask(seed).story, held_out=way):
                answers.setdefault(one.question, set()).add(one.answer)
        assert len(answers) > 3
        assert all(len(found) == 1 for found in answers.values()), answers


@pytest.mark.parametrize("way", WAYS)
def test_what_is_asked_is_among_all_that_can_be_asked(asked, way):
    for exchange in asked[way]:
        assert exchange in crane.questions_about(exchange.story, held_out=way)


def test_kinds_are_asked_equally_often_and_all_forms_occur(asked):
    counts = Counter(exchange.kind for exchange in asked[None])
    assert tuple(crane.kinds()) == ("who", "friend", "where", "colour", "count", "sense")
    assert counts.keys() == set(crane.kinds())
    assert all(30 <= n <= 75 for n in counts.values())
    assert {exchange.kind for exchange in asked["form"]} == set(crane.kinds())
    assert {exchange.kind for exchange in asked["thing"]} == {"who", "friend", "where", "colour"}


def shape(line) -> str:
    """A form with a dash for each slot, to compare questions with."""
    return re.sub(r"\s+", " ", " ".join("-" if isinstance(i, Slot) else i for i in line))


def test_forms_kept_for_tests_are_new_but_their_words_are_not():
    rows = crane_questions().rows
    usual = {shape(line) for row in rows for line in row.asked}
    kept = {shape(line) for row in rows for line in row.otherwise}
    words = {word for form in usual for word in form.split()}
    for row in rows:  # a form may be usual for another question, but not for this one
        assert not {shape(line) for line in row.otherwise} & {shape(line) for line in row.asked}
    assert len(kept - usual) >= 15
    assert {word for form in kept for word in form.split()} <= words


def test_training_never_asks_about_some_things_and_the_test_only_about_those(asked):
    unasked = re.compile(r"\b(coat|drum|map)\b")
    exchanges = [crane.ask(seed) for seed in range(1500)]
    assert not any(unasked.search(exchange.question) for exchange in exchanges)
    assert sum(bool(unasked.search(exchange.story)) for exchange in exchanges) > 20
    assert all(unasked.search(exchange.question) for exchange in asked["thing"])
    about = [exchange for exchange in exchanges if exchange.kind == "colour"]
    assert not any(unasked.search(exchange.story) for exchange in about)


def test_held_out_forms_are_asked_about_the_same_stories(asked):
    pairs = list(zip(asked[None], asked["form"]))
    assert all(usual.story == other.story for usual, other in pairs)
    assert all(usual.kind == other.kind for usual, other in pairs)


@pytest.mark.thorough
def test_begun_sentences_are_those_of_stories():
    """For each question that has one, it stands in some story with the answer after it."""
    literal: Counter[str] = Counter()
    for seed in range(3000):
        exchange = crane.ask(seed)
        if exchange.begun and f"{exchange.begun} {exchange.answer}" in exchange.story:
            literal[re.sub(r"[^A-Za-z]+", " ", exchange.begun).split()[0]] += 1
    rows = [row for row in crane_questions().rows if row.begun]
    assert len(rows) == 16
    assert sum(literal.values()) > 300
    assert {"Off", "Gladly", "At", "In", "So"} <= literal.keys()


def test_stories_of_exchanges_are_of_the_training_distribution(asked):
    for exchange in asked[None][:20]:
        crane.surprisals(exchange.story)  # raises for others


def test_a_seed_gives_the_same_everywhere(asked):
    text = "".join(f"{exchange}\n" for way in WAYS for exchange in asked[way])
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN


# ---- What cannot be asked ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "held_out", "error", "message"),
    [
        (-1, None, ValueError, "from 0 to"),
        (1 << 64, None, ValueError, "from 0 to"),
        (1.0, None, TypeError, "whole number"),
        (True, None, TypeError, "whole number"),
        (0, "object", ValueError, "form, thing, got 'object'"),
    ],
)
def test_a_wrong_argument_is_named(seed, held_out, error, message):
    with pytest.raises(error, match=message):
        crane.ask(seed, held_out=held_out)


def test_only_a_story_is_asked_about_and_only_in_known_ways():
    with pytest.raises(ValueError, match=r"no story of Crane World: 'A crane ate fish\.'"):
        crane.questions_about("A crane ate fish.")
    with pytest.raises(ValueError, match="form, thing, got 'forms'"):
        crane.questions_about(crane.story(0), held_out="forms")


def test_the_judge_says_what_it_cannot_judge(asked):
    exchange = next(one for one in asked[None] if one.kind == "sense")
    story, question, answer = exchange.story, exchange.question, exchange.answer
    with pytest.raises(ValueError, match="no question about this story"):
        crane.judge_answer(story, "How many unicorns were left?", answer)
    with pytest.raises(ValueError, match="no question about this story"):
        crane.judge_answer(story, "", answer)
    with pytest.raises(ValueError, match="no story of Crane World"):
        crane.judge_answer(story[:-8], question, answer)
    with pytest.raises(ValueError, match="no story of Crane World"):
        crane.judge_answer(story + " It was red?", question, answer)
    with pytest.raises(TypeError, match="answer must be a text, got NoneType"):
        crane.judge_answer(story, question, None)


def test_a_form_kept_for_tests_may_ask_about_a_thing_kept_for_tests(asked):
    exchange = next(one for one in asked["thing"] if one.kind == "colour")
    thing = re.search("coat|drum|map", exchange.question)[0]
    assert crane.judge_answer(exchange.story, f"Which colour was the {thing}?", exchange.answer)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  asked", "  put", "lacks the column question.asked"),
        ("prompt  begun", "hint  begun", "lacks the column prompt.begun"),
        ("    runner  So", "    walker  So", "'prompt' has a row of an unknown name"),
        ("unasked: x", "p  size\n    Bob  tall", "'p' has a row of an unknown name"),
    ],
)
def test_a_page_without_a_column_or_with_an_unknown_row_is_refused(old, new, message):
    cells = {"{after}": "story", "{answer}": "{who}", "{asked}": "Who ran {home}?"}
    rules = RULES.replace(old, new)
    for name, cell in cells.items():
        rules = rules.replace(name, cell)
    with pytest.raises(ValueError, match=re.escape(message)):
        Questions(page(rules), Grammar(STORY))


def test_stories_with_pairs_withheld_from_training_can_be_asked_about():
    story = crane.story(3, held_out="object")
    colour, thing = re.search(rf"\b({entries('colour')}) ({entries('thing')})\b", story).groups()
    assert crane.judge_answer(story, f"What colour was the {thing}?", colour)


STORY = page("story: {who: p} ran {home}.\n\nsentence: no\n\nhome: home / away\n\np: Ann / Ben")
RULES = """
unasked: x

question  kind  after  answer
    runner  who  {after}  {answer}

question  asked
    runner  {asked}

question  otherwise
    runner  Who ran?

prompt  begun
    runner  So
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"after": "flight"}, "no story fills a slot 'flight'"),
        ({"asked": "Who met {nobody}?"}, "no story fills a slot 'nobody'"),
        ({"answer": "{who.size}"}, "no story fills a slot 'who.size'"),
        ({"answer": "{^who}"}, "a question only repeats"),
        ({"asked": "{who: p} ran?"}, "a question only repeats"),
        ({"asked": "Who {ran?"}, "syntax error"),
    ],
)
def test_an_inconsistent_page_raises_and_names_the_slot(changes, message):
    good = {"after": "story", "answer": "{who}", "asked": "Who ran {home}?"}

    def made(cells):
        rules = RULES
        for name, cell in cells.items():
            rules = rules.replace(f"{{{name}}}", cell)
        return Questions(page(rules), Grammar(STORY))

    facts = {"story": "", "who": "Ben", "home": "away"}
    questions = made(good)
    assert questions.texts(questions.rows[0], facts) == ["Who ran away?"]
    with pytest.raises(ValueError, match=re.escape(message)):
        made(good | changes)
