"""Practice without a kernel: cards, fields that answer, and what the browser keeps of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page

from gpt2_edu import exercises
from gpt2_edu.exercises.exercise import exercises as all_exercises
from gpt2_edu.exercises.exercise import steps
from gpt2_site import lab_address
from gpt2_site.chapters import chapter_of, chapters, find
from gpt2_site.execute_notebooks import STEP
from gpt2_site.lab_address import Place
from gpt2_site.make_colab import for_colab
from gpt2_site.make_practice import anchor, exercises_of, questions
from gpt2_site.practice import asked_in, guessed_in
from gpt2_site.practice_tasks import answered_in_page, task
from gpt2_site.reviews import reviews
from tests.site.conftest import ROOT
from tests.site.waiting import until

pytestmark = pytest.mark.browser
MASK = find("mask")
KEY = "gpt2-edu progress"
OPEN = Callable[..., Page]


def practice(opened: OPEN, chapter=MASK, **settings) -> Page:
    narrow = {"viewport": {"width": 390, "height": 800}}
    return opened(f"notebooks/practice/{chapter.name}.html", **narrow | settings)


def progress(opened: OPEN) -> Page:
    return opened("book/progress.html", viewport={"width": 390, "height": 800})


def form(page: Page, name: str) -> Locator:
    return page.locator(f"form[data-exercise={name}]")


def answer(page: Page, name: str, *typed: str) -> str:
    """Type an answer, press Enter, and read what is said."""
    fields = form(page, name).locator("input")
    for place, text in enumerate(typed):
        fields.nth(place).fill(text)
    fields.nth(len(typed) - 1).press("Enter")
    return form(page, name).get_by_role("status").inner_text()


def stored(page: Page) -> dict:
    return json.loads(page.evaluate("(key) => localStorage.getItem(key)", KEY))


def opened_by(command: str) -> Place:
    """What `make lab NB=06 CELL=split_heads` opens."""
    make, lab, *settings = command.split()
    assert (make, lab) == ("make", "lab")
    names, values = zip(*(one.split("=") for one in settings), strict=True)
    assert names == ("NB", "CELL")
    return lab_address.place(*values)


# ---- Questions


def test_a_practice_page_has_every_card_field_and_solution(soup, chapter):
    page = soup(f"notebooks/practice/{chapter.name}")
    cards = page.select(".question")
    assert [card["id"] for card in cards] == [q.anchor for q in asked_in(chapter)]
    for card, question in zip(cards, questions(chapter), strict=True):
        options = card.select("details")
        assert len(options) == len(question["options"])
        assert len(card.select("details.right")) == 1
        assert {option["name"] for option in options} == {card["data-question"]}
    given = exercises_of(chapter)
    forms = [form["data-exercise"] for form in page.select("form.answer")]
    assert forms == [exercise.name for exercise in given if answered_in_page(exercise)]
    shown = {code.get_text().strip("\n") for code in page("pre")}
    assert {exercise.solution for exercise in given if exercise.checked} <= shown
    cells = {cell["metadata"].get("id"): cell for cell in nbformat.read(chapter.practice, 4).cells}
    links = {link["href"] for link in page.select("a[href*=colab]")}
    for exercise in given:
        place = anchor(exercise)
        assert page.find(id=place) is not None
        assert exercise.title in cells[place].source
        if exercise.checked:
            assert any(link.endswith(f"{chapter.name}.ipynb#scrollTo={place}") for link in links)
    ways = [framed.select("pre")[-1].get_text() for framed in page.select(".in-notebook")]
    opened = [opened_by(command) for command in ways]
    headings = [f"{n}. {e.title}" for n, e in enumerate(given, 1) if e.checked]
    assert opened == [Place(f"practice/{chapter.practice.name}", h) for h in headings]
    text = "\n".join(cell.source for cell in cells.values())
    assert all(f"### {heading}\n" in text for heading in headings)
    story = soup(f"notebooks/{chapter.name}")
    for link in page.select(f"a[href^='../{chapter.name}.html#gpt2-']"):
        assert story.find(id=link["href"].partition("#")[2]) is not None


@pytest.mark.thorough
def test_a_card_says_what_was_chosen_and_remembers(opened):
    page = practice(opened)
    card = page.locator(".question").first
    wrong, right = card.locator("details.wrong").first, card.locator("details.right")
    wrong.locator("summary").press("Enter")
    assert wrong.locator("p").first.inner_text().startswith("No.")
    assert card.locator(".state").inner_text() == "Not yet right"
    right.locator("summary").press("Enter")
    assert not wrong.locator("p").first.is_visible(), "one answer is open at a time"
    assert right.locator("p").first.inner_text().startswith("Right.")
    assert card.locator(".state").inner_text() == "✓ Right, not at once"
    second = page.locator(".question").nth(1)
    second.locator("details.right summary").click()
    wrong.locator("summary").click()  # to see what it says takes nothing away
    states = [card.locator(".state"), second.locator(".state")]
    page.reload()
    told = [state.inner_text() for state in states]
    assert told == ["✓ Right, not at once", "✓ Right at once"]
    first = stored(page)["questions"][asked_in(MASK)[0].id]
    assert (first["first"], first["right"]) == (False, True)


# ---- Guesses in the chapters


def test_every_guess_of_a_chapter_is_a_card_with_one_right_answer(soup, told):
    cards = soup(f"notebooks/{told.name}").select(".question")
    assert [card["id"] for card in cards] == [q.anchor for q in guessed_in(told)]
    for card in cards:
        assert len(card.select("details.right")) == 1, card["id"]
        assert 3 <= len(card.select("details.guess")) <= 4, card["id"]


@pytest.mark.thorough
def test_a_guess_is_told_again_above_the_exhibit_and_counted(opened):
    chapter = find("crane")
    page = opened(f"notebooks/{chapter.name}.html", viewport={"width": 390, "height": 800})
    card = page.locator(".question:has(~ .cell .g2-live)").first
    wrong = card.locator("details.wrong summary").first
    chosen, right = (one.inner_text() for one in (wrong, card.locator("details.right summary")))
    wrong.press("Enter")
    told = f"You said “{chosen}”. The answer is “{right}”."
    assert page.locator(".guessed + .cell .g2-live").count() == 1
    page.reload()
    assert page.locator(".guessed").inner_text() == told
    assert card.locator(".state").inner_text() == "Not yet right"
    card.locator("details.right summary").click()
    assert page.locator(".guessed").inner_text() == told, "what counts is the first guess"
    list_ = progress(opened)
    assert ", 1 of " in list_.locator(".total").inner_text()


def test_no_chapter_shows_what_its_reader_could_not_fill_in(soup, told):
    text = soup(f"notebooks/{told.name}").find("article").get_text()
    assert "Not yet: " not in text and "has none of them yet" not in text


# ---- Reviews


@pytest.mark.parametrize("review", reviews(), ids=lambda review: review.slug)
def test_a_review_has_a_card_for_each_question(soup, review):
    page = soup(review.page)
    cards = page.select(".question")
    assert [card["id"] for card in cards] == [q.anchor for q in asked_in(review)]
    for card, question in zip(cards, questions(review), strict=True):
        options = question.get("options", ())
        assert len(card.select("details.guess")) == len(options)
        assert len(card.select("details.right")) == bool(options)
        assert (
            len(card.select("form.answer")) == len(card.select("details.solved")) == (not options)
        )
    listed = soup("book/progress").select(f".stage h3 a[href='{Path(review.page).name}.html']")
    assert [link.get_text() for link in listed] == [review.title]


@pytest.mark.thorough
def test_a_typed_answer_of_a_review_is_kept_as_a_question_is(opened):
    page = opened(f"{reviews()[0].page}.html", viewport={"width": 390, "height": 800})
    number = next(i for i, q in enumerate(questions(reviews()[0]), 1) if "right" in q)
    card, name = page.locator(".question").nth(number - 1), f"question_{number}"
    assert "16" not in answer(page, name, "")
    assert card.locator(".state").inner_text() == ""
    assert "That is √C." in answer(page, name, "32")
    assert card.locator(".state").inner_text() == "Not yet right"
    assert answer(page, name, "16").startswith("Right. With 4 heads")
    page.reload()
    assert card.locator(".state").inner_text() == "✓ Right, not at once"
    assert (stored(page)["passed"], len(stored(page)["questions"])) == ({}, 1)
    list_ = progress(opened)
    stage = list_.locator(".stage", has_text=reviews()[0].title)
    assert stage.locator(".sum").inner_text() == "1 of 10 questions"


# ---- Answers by hand


@pytest.mark.thorough
def test_right_in_other_words_and_it_is_remembered(opened):
    page = practice(opened)
    assert answer(page, "causal_row", "1/7", "2/7", "4/7", "0", "0").startswith("Right.")
    done = page.locator(f"section:has(> #{anchor(all_exercises()['causal_row'])}) .state").first
    page.reload()
    assert re.fullmatch(r"✓ done \d{4}-\d\d-\d\d", done.inner_text())


@pytest.mark.thorough
def test_rounded_answers_pass_and_a_refusal_leads_to_a_hint(opened):
    page = practice(opened)
    for typed in (("0,143", "0,286", "0,571"), ("14.3 %", "28.6%", "57.1 %")):
        assert answer(page, "causal_row", *typed, "0", "0") == "Right."  # as Python allows
    page.goto(page.url.replace(MASK.name, find("layernorm").name))
    assert answer(page, "quiet_token", "1/√11") == "Right."
    assert "give three decimals or more" in answer(page, "quiet_token", "0.3")
    page.goto(page.url.replace(find("layernorm").name, find("heads").name))
    assert answer(page, "head_size", "\uff16\uff14") == "Right."  # full-width digits
    assert answer(page, "head_size", "−∞").startswith("Not yet right.")
    page.goto(page.url.replace(find("heads").name, find("crane").name))
    assert answer(page, "river_crane", "0.1", "0.2") == "Not yet right. A hint below may help."
    assert "These are the two weights" in answer(page, "river_crane", "0.5", "0.5")


def test_every_known_mistake_is_told_as_in_python(opened):
    page = practice(opened)
    exercise = all_exercises()["causal_row"]
    for known in task(exercise)["mistakes"]:
        typed = [repr(v) for v in known["value"]]
        told = "".join(text for _, text in known["says"])
        assert answer(page, "causal_row", *typed) == f"Not yet right. {told}"
    assert page.evaluate("(key) => localStorage.getItem(key)", KEY) is None
    # What cannot be read is asked about where it stands.
    first = form(page, "causal_row").locator("input").first
    for typed, says in (
        ("", "Number 1 is missing."),
        ("nothing at all", "no number that I can read"),
        ("<img src=x onerror=alert(1)>", "“alert(1)>” I cannot read."),
        ("1/0", "Number 1: That divides by 0."),
    ):
        assert says in answer(page, "causal_row", typed, "1", "1", "1", "1")
        assert first.get_attribute("aria-invalid") == "true"
        assert first.evaluate("(e) => e === document.activeElement")
        first.fill("1")
        assert form(page, "causal_row").get_by_role("status").inner_text() == ""


def test_answers_cannot_be_read_in_the_source_at_a_glance(site):
    text = (site / f"notebooks/practice/{MASK.name}.html").read_text("utf-8")
    before_solution = text[text.index("data-exercise") : text.index("<summary>Solution")]
    assert "0.142857" not in before_solution and "0.5714" not in before_solution


def test_without_javascript_the_fields_are_not_there_and_all_else_is(opened):
    page = practice(opened, java_script_enabled=False)
    assert form(page, "causal_row").is_hidden()
    guess = page.locator("details.guess").first
    guess.locator("summary").focus()
    page.keyboard.press("Enter")
    assert guess.locator("p").first.inner_text().startswith(("Right", "No"))
    assert page.locator("details.in-python summary").first.is_visible()
    solution = page.locator("details:has(> summary:text-is('Solution'))").first
    assert solution.is_visible() and not solution.locator("pre").first.is_visible()
    page = opened("book/progress.html", java_script_enabled=False)
    assert page.locator(".stage").count() == len(chapters()) + len(reviews())
    assert page.locator(".desk").is_hidden()


STEPS = [chapter for chapter in chapters() if chapter.slug in steps()]


@pytest.mark.parametrize("step", STEPS, ids=lambda chapter: chapter.name)
def test_a_step_has_its_answer_and_says_where_its_cell_can_be_run(soup, step):
    """Chapters 18 and 19 were once published with an empty one."""
    solution = steps()[step.slug].solution
    page = soup(f"notebooks/{step.name}")
    (title,) = page.find_all("summary", string="The book's answer")
    assert title.parent.find("pre").get_text().strip("\n") == solution
    assert f"\n```python\n{solution}\n```\n" in step.markdown
    (framed,) = page.select("#now-write-it .in-notebook")
    cell, command = framed.select("pre")
    assert f'build("{step.slug}"' in cell.get_text()
    link = framed.select_one(".elsewhere a")
    assert link["href"].endswith(f"/notebooks/{step.name}.ipynb#scrollTo={STEP}")
    assert opened_by(command.get_text()) == Place(step.path.name, "Now write it")
    nb = for_colab(nbformat.read(step.path, as_version=4), f"notebooks/{step.name}", "")
    (cell,) = (cell for cell in nb.cells if cell.metadata.get("id") == STEP)
    assert cell.source.startswith("## Now write it")


def test_what_make_lab_cannot_open_is_named():
    assert lab_address.place("6") == lab_address.place("06") == Place("06_heads.ipynb")
    with pytest.raises(ValueError, match="Chapters: 1 tokens, "):
        lab_address.place("99")
    with pytest.raises(ValueError, match="Cells: now-write-it, head_size"):
        lab_address.place("06", "gelu")


def test_a_chapter_ends_with_the_way_to_its_questions(soup, told):
    goal = soup(f"notebooks/{told.name}").select_one(".stuck a")["href"]
    assert goal == f"practice/{chapter_of(told).name}.html#questions"


# ---- My progress


@pytest.mark.thorough
def test_what_was_done_is_listed_saved_and_read_by_the_package(opened, tmp_path, monkeypatch):
    page = practice(opened)
    answer(page, "causal_row", "1/7", "2/7", "4/7", "0", "0")
    page.locator(".question details.right summary").first.click()
    list_ = progress(opened)
    assert "1 of " in list_.locator(".total").inner_text()
    assert "✓" in list_.locator("li[data-exercise=causal_row]").inner_text()
    with list_.expect_download() as file:
        list_.get_by_role("button", name="Save to a file").click()
    file.value.save_as(tmp_path / "from-page.json")
    monkeypatch.chdir(tmp_path)
    assert set(exercises.merge("from-page.json").passed) == {"causal_row"}
    assert exercises.check("head_size", 64)
    list_.get_by_role("button", name="Forget all").click()
    list_.locator(".sure .yes").click()
    assert list_.locator(".total").inner_text().startswith("0 of ")
    list_.locator("input[type=file]").set_input_files(tmp_path / "progress.json")
    list_.get_by_text("3 entries came from progress.json.").wait_for()
    assert list_.locator(".total").inner_text().startswith("2 of ")
    assert ", 1 of " in list_.locator(".total").inner_text()


@pytest.mark.thorough
def test_forgetting_asks_first_and_a_file_that_is_none_changes_nothing(opened):
    page = practice(opened)
    page.locator(".question details.right summary").first.click()
    list_ = progress(opened)
    list_.get_by_role("button", name="Forget all").press("Enter")
    list_.keyboard.press("Enter")  # the focus is on "Keep it"
    assert ", 1 of " in list_.locator(".total").inner_text()
    forget = list_.get_by_role("button", name="Forget all").first
    forget.press("Enter")
    list_.keyboard.press("Escape")
    assert list_.locator(".sure").is_hidden()
    assert forget.evaluate("(e) => e === document.activeElement")
    kept = stored(list_)
    assert len(kept["questions"]) == 1
    damaged = '"passed": {"a": {"on": "zzzz"}}'
    for name, text, says in (
        ("a.json", "", "what it holds is no JSON"),
        ("b.json", "[1]", "it does not say that its format is “gpt2-edu progress”"),
        ("c.json", f'{{"format": "{KEY}", "version": 9}}', "its version is 9"),
        ("d.json", f'{{"format": "{KEY}", "version": 1, {damaged}}}', "its list of exercises is"),
    ):
        told = dropped(list_, name, text)
        assert told.startswith(f"{name} cannot be used: {says}")
        assert told.endswith(". Nothing was changed.")
        assert stored(list_) == kept


def dropped(page: Page, name: str, text: str) -> str:
    page.evaluate(
        """([name, text]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], name));
          const init = { dataTransfer: data, bubbles: true, cancelable: true };
          document.body.dispatchEvent(new DragEvent("drop", init));
        }""",
        [name, text],
    )
    until(page, "name => document.querySelector('.desk .said').textContent.includes(name)", name)
    return page.locator(".desk .said").inner_text()


def test_hostile_names_in_a_file_stay_names(opened):
    list_ = progress(opened)
    entry = {"on": "2999-01-01", "source": "<img src=x onerror=alert(1)>"}
    passed = {"__proto__": entry, "constructor": entry, "<b>": entry, "head_size": entry}
    text = json.dumps({"format": KEY, "version": 1, "passed": passed})
    assert dropped(list_, "a.json", text) == "4 entries came from a.json."
    assert set(stored(list_)["passed"]) == set(passed)
    assert list_.locator(".total").inner_text().startswith("1 of ")


OFF = """Object.defineProperty(window, "localStorage", { get() {
  throw new DOMException("The operation is insecure.", "SecurityError"); } });"""
FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("exceeded the quota", "QuotaExceededError"); };"""


@pytest.mark.thorough
@pytest.mark.parametrize("trouble", [OFF, FULL], ids=["storage off", "storage full"])
def test_where_nothing_is_kept_the_page_says_so_and_works(opened, trouble):
    page = practice(opened, before=trouble)
    page.locator(".question details.right summary").first.click()
    assert page.locator(".question .state").first.inner_text() == "✓ Right at once"
    assert answer(page, "causal_row", "1/7", "2/7", "4/7", "0", "0") == "Right."
    assert "This browser keeps nothing for this page" in page.locator(".progress-note").inner_text()


def keep(page: Page, text: str) -> None:
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])
    page.reload()


@pytest.mark.thorough
def test_what_cannot_be_read_is_set_aside_and_not_lost(opened):
    page = progress(opened)
    for kept in ("{", '{"format": "gpt2-edu progress", "version": 2, "passed": {}}'):
        keep(page, kept)
        assert "It was set aside as" in page.locator(".trouble").inner_text()
        assert kept in page.evaluate("Object.values(localStorage)")
    page.goto(page.url.replace("book/progress", f"notebooks/practice/{MASK.name}"))
    page.locator(".question details.right summary").first.click()
    assert len(stored(page)["questions"]) == 1
    assert kept in page.evaluate("Object.values(localStorage)")


@pytest.mark.thorough
def test_on_paper_nothing_is_given_away_and_the_record_names_what_was_done(opened):
    page = practice(opened)
    answer(page, "causal_row", "x", "", "", "", "")
    assert form(page, "causal_row").locator("[aria-invalid]").count() == 1
    form(page, "causal_row").locator("input").first.fill("1/7")
    assert form(page, "causal_row").locator("[aria-invalid]").count() == 0
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("article details[open]").count() == 0
    assert not page.locator("summary", has_text="Solution").first.is_visible()
    assert page.locator(".guess summary").first.is_visible()
    assert form(page, "causal_row").locator("input").first.is_visible()
    page.emulate_media(media="screen")
    answer(page, "causal_row", "1/7", "2/7", "4/7", "0", "0")
    list_ = progress(opened)
    list_.emulate_media(media="print")
    list_.evaluate("dispatchEvent(new Event('beforeprint'))")
    record = list_.locator(".record")
    assert record.is_visible() and not list_.locator(".desk").is_visible()
    title = all_exercises()["causal_row"].title
    assert title in record.inner_text() and "Name:" in record.inner_text()


def test_the_record_of_an_earlier_version_opens(opened):
    page = progress(opened)
    keep(page, (ROOT / "tests" / "saved" / "progress.json").read_text())
    page.get_by_text("3 of").first.wait_for()
    assert stored(page)["passed"].keys() == {"gelu", "head_size", "layer_norm"}
