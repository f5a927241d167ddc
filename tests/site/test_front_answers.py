"""The first page and "Open the model" in Chromium: they answer, and load nothing before a touch."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route

from tests.site.waiting import until

pytestmark = pytest.mark.browser
FRONT = "book/index.html"
WAIT = 60_000  # milliseconds, on a busy machine
READY = "gpt2-flow[data-state='ready']"
FIRST = "gpt2-flow .next .name >> nth=0"


def test_without_javascript_there_are_tables(opened):
    page = opened(FRONT, java_script_enabled=False)
    assert "ate" in page.locator("gpt2-flow table").first.inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize("opening", ["http", "file"])
def test_the_first_frames_need_no_weights(opened, address, site, opening):
    page = opened("robots.txt", clock=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address if opening == 'http' else site.as_uri()}/{FRONT}")
    page.locator(READY).wait_for(timeout=WAIT)
    assert page.locator(FIRST).text_content() == "ate"
    assert [url for url in asked if re.search(r"live\.js|files/", url)] == []
    field = page.locator("gpt2-flow input[type=text]")
    field.fill("By the river, the crane")
    until(page, "document.querySelectorAll('gpt2-flow .token').length === 8", timeout=WAIT)
    assert any("files/crane.js" in url for url in asked)
    page.get_by_role("button", name="write on", exact=True).click()
    until(
        page, "document.querySelector('gpt2-flow input').value.length > 40", timeout=WAIT, hurry=200
    )
    page.get_by_role("button", name="stop", exact=True).click()
    page.wait_for_timeout(600)  # for an answer that is under way
    text = field.input_value()
    page.clock.run_for(2000)
    page.wait_for_timeout(100)
    assert field.input_value() == text and text.startswith("By the river, the crane ")
    page.get_by_role("button", name="In the city, the crane").click()
    until(page, "document.querySelector('gpt2-flow .next .name').textContent === 'lifted'")


@pytest.mark.thorough
def test_gpt2s_own_runs_open_without_a_download_and_are_not_written_on(opened):
    """And what is said of a text goes with it."""
    page = opened(FRONT)
    page.locator(READY).wait_for(timeout=WAIT)
    who = page.locator(".flow-who")
    assert "742,528 parameters" in who.inner_text()
    page.locator("gpt2-flow input[type=text]").fill("My Python code throws an")
    who.get_by_text("has never read “Python”").wait_for(timeout=WAIT)
    page.get_by_role("button", name="more", exact=True).click()
    page.get_by_role("button", name="Artificial Intelligence is transforming the").click()
    until(page, "document.querySelectorAll('gpt2-flow .room').length === 14", timeout=WAIT)
    shown = page.locator("gpt2-flow .next").first.text_content()
    assert "way" in shown and "0.25" in shown
    assert "stored" in page.locator("gpt2-flow .sentence").text_content()
    who.get_by_text("GPT-2 124M answered this once").wait_for(timeout=WAIT)
    until(page, "!document.querySelector('gpt2-flow').innerText.includes('Python')")  # nor aloud
    page.get_by_role("button", name="GPT-2: As the spaceship").click()
    until(page, "document.querySelector('gpt2-flow .next .name').textContent === 'planet'")
    page.locator(".flow-who").get_by_text("answered this once").wait_for()
    assert page.get_by_role("button", name="write on").is_disabled()
    page.get_by_role("button", name="In the city, the crane", exact=True).click()
    until(
        page,
        "[...document.querySelectorAll('gpt2-flow button')]"
        ".some((b) => b.textContent === 'write on' && !b.disabled)",
    )
    who.get_by_text("Crane World’s model answers").wait_for(timeout=WAIT)


@pytest.mark.thorough
def test_ribbons_are_cut_and_put_back(opened):
    """And a line has the result where no bars are seen."""
    page = opened(f"{FRONT}?place=1")
    page.locator(READY).wait_for(timeout=WAIT)
    share = "document.querySelector('gpt2-flow .next .p').textContent"
    result = page.locator(".flow-result")
    assert "ate 0.53" in result.inner_text()
    cut = [page.get_by_role("button", name=f"cut head {head}") for head in ("1.0", "1.2")]
    cut[0].click()
    cut[1].click()
    until(page, "document.querySelector('.flow-result').textContent.includes('ate 0.53 → 0.32')")
    page.get_by_role("button", name="model", exact=True).click()
    result.wait_for(state="hidden")
    until(page, f"{share} === '0.53 → 0.32'", timeout=WAIT)
    until(page, "location.search.includes('off=1.0')")
    page.get_by_role("button", name="reset").click()
    until(page, f"{share} === '0.53'", timeout=WAIT)
    for head in cut:
        head.click()
    until(page, f"{share} === '0.53 → 0.32'", timeout=WAIT)


@pytest.mark.thorough
def test_one_can_go_from_the_whole_to_one_product_and_back(opened):
    page = opened(FRONT)
    page.locator(READY).wait_for(timeout=WAIT)
    seen = ["block 1: open it", "head 1.0: open it", "␣crane looks at ␣marsh: 0.98"]
    for name in seen:
        page.get_by_role("button", name=name).press("Enter")
        page.locator(READY).wait_for(timeout=WAIT)
    until(page, "document.querySelector('.flow-picture .product') !== null", timeout=WAIT)
    assert page.locator(".flow-picture .product").text_content() == "1.86 × 2.68 = 4.98"
    figures = page.locator(".flow-picture .figure").all_text_contents()
    assert (figures[0], figures[1], figures[3]) == ("25.03", "4.43", "0.976")
    trail = page.locator(".flow-crumbs").inner_text()
    assert trail.split(" › ") == ["model", "block 1", "head 1.0", "score ␣crane → ␣marsh"]
    until(page, "location.search.includes('place=1.0.6.3')")
    page.go_back()
    until(page, "document.querySelector('.flow-crumbs b')?.textContent === 'head 1.0'")
    page.go_forward()
    until(page, "document.querySelector('.flow-picture .product') !== null", timeout=WAIT)
    for level, _ in enumerate(seen):
        page.keyboard.press("Escape")
        page.wait_for_function(
            "(n) => document.querySelectorAll('.flow-crumbs button').length === n", arg=2 - level
        )
    until(page, "document.querySelectorAll('gpt2-flow .token').length === 7")
    assert page.evaluate("document.activeElement.ariaLabel") == seen[0]  # what opened it


@pytest.mark.thorough
def test_the_tour_leads_through_and_gives_back_what_was_there(opened):
    page = opened(f"{FRONT}?text=In+the+city%2C+the+crane")
    page.locator(READY).wait_for(timeout=WAIT)
    page.get_by_role("button", name="Take the tour: two minutes").click()
    card = page.get_by_role("region", name="tour")
    titles = []
    for n in range(1, 11):
        page.get_by_text(f"{n} of 10", exact=True).wait_for()
        titles.append(card.get_by_role("heading").inner_text())
        if n == 3:
            card.get_by_role("button", name="lifted").click()
            card.get_by_text("Right: ␣lifted (0.44)").wait_for()
        if n == 9:
            card.get_by_role("button", name="cut both").click()
            card.get_by_text("falls to 0.32").wait_for(timeout=WAIT)
        page.keyboard.press("ArrowRight")
    assert titles[0] == "Seven pieces" and len(set(titles)) == 10
    field = page.locator("gpt2-flow input[type=text]")
    assert field.evaluate("field => field === document.activeElement")
    page.get_by_role("button", name="Take the tour: two minutes").click()
    page.keyboard.press("Escape")
    until(page, "document.querySelector('gpt2-flow .flow-tour').hidden")


PLAYED = "sessionStorage['gpt2-edu played'] = 1"
MOVES = {"reduced_motion": "no-preference"}
PLAYS = "document.querySelector('.flow-veil')?.dataset.says"
WATCH = """() => {
  window.said = [];
  const watch = () => {
    const veil = document.querySelector(".flow-veil:not([hidden])");
    if (veil && said.at(-1) !== veil.dataset.says) said.push(veil.dataset.says);
    requestAnimationFrame(watch);
  };
  watch();
}"""


def test_on_arrival_the_pass_runs_once_a_visit_and_then_one_word_changes(opened):
    page = opened(FRONT, before=f"({WATCH})()", clock=True, **MOVES)
    ended = "window.said.length > 12 && !document.querySelector('.flow-veil').dataset.says"
    until(page, ended, hurry=100)
    said = page.evaluate("said.filter(Boolean)")
    assert said[0] == "look up" and said[-1] == "choose"
    assert "block 0: gather" in said and said.index("block 1: copy") < said.index("block 2: write")
    assert page.locator(".flow-veil").is_hidden() and "station" not in page.url
    became = "document.querySelector('.flow-who').textContent.includes('marsh became city')"
    until(page, became, timeout=WAIT, hurry=500)
    assert page.locator(FIRST).text_content() == "lifted"
    field = page.locator("gpt2-flow input[type=text]")
    assert field.input_value() == "In the city, the crane"
    page.reload()
    page.locator(READY).wait_for(timeout=WAIT)
    page.clock.run_for(1000)
    assert page.evaluate("said") == []


@pytest.mark.thorough
def test_a_touch_ends_what_plays_by_itself(opened):
    page = opened(FRONT, clock=True, **MOVES)
    until(page, f"{PLAYS} === 'block 0: gather'", hurry=50)
    page.mouse.click(2, 2)
    assert page.locator(".flow-veil").is_hidden()
    page.clock.run_for(7000)  # after 6 seconds one word would change
    assert page.locator(".flow-veil").is_hidden()
    assert page.locator("gpt2-flow input[type=text]").input_value() == "In the marsh, the crane"
    assert "probabilities" in (page.locator(".flow-line").text_content() or "")


@pytest.mark.thorough
def test_what_plays_by_itself_is_stopped_by_its_button(opened):
    page = opened(FRONT, clock=True, **MOVES)
    until(page, f"{PLAYS} === 'block 0: gather'", hurry=50)
    page.get_by_role("button", name="stop", exact=True).click()
    page.get_by_role("button", name="play", exact=True).wait_for()
    until(page, "location.search.includes('station=')", hurry=50)
    page.clock.run_for(500)
    assert not page.evaluate(PLAYS)


@pytest.mark.thorough
def test_a_step_of_the_tour_is_stopped_by_the_same_button(opened):
    page = opened(f"{FRONT}?tour=4", before=PLAYED, clock=True, **MOVES)
    page.get_by_role("button", name="stop", exact=True).click(timeout=WAIT)
    page.get_by_role("button", name="play", exact=True).wait_for()
    page.get_by_role("button", name="go on").click()
    read(page)


@pytest.mark.thorough
def test_no_motion_and_a_readers_own_colours_are_respected(opened):
    page = opened(FRONT, before=f"({WATCH})()", clock=True)
    page.locator(READY).wait_for(timeout=WAIT)
    page.clock.run_for(1000)
    assert page.evaluate("said") == []
    page.emulate_media(forced_colors="active")
    grounds = page.evaluate("""() => [".flow-stage", ".flow-legend i", ".flow-controls input"]
      .map((one) => {
      const { backgroundColor, backgroundImage } = getComputedStyle(document.querySelector(one));
      return `${backgroundColor} ${backgroundImage}`;
    })""")
    assert grounds[0].startswith("rgb(10, 14, 19)") and "gradient" in grounds[2]
    assert grounds[1] not in (grounds[0], "rgb(255, 255, 255) none")


@pytest.mark.thorough
def test_a_pass_is_told_where_its_sweep_is_and_can_be_scrubbed(opened):
    page = opened(FRONT, before=PLAYED, clock=True, **MOVES)
    page.locator(READY).wait_for(timeout=WAIT)
    page.get_by_role("button", name="play", exact=True).click()
    line = "document.querySelector('.flow-line').textContent"
    until(page, f"{line}.startsWith('block 1: gather: ')", timeout=WAIT, hurry=100)
    assert " h.1.attn." in page.evaluate(line)
    page.get_by_role("button", name="stop", exact=True).click()
    until(page, "location.search.includes('station=')")
    page.get_by_role("slider", name="how far the pass has come").fill("10")
    page.locator(".flow-line").filter(has_text="attn.weights").wait_for(timeout=WAIT)
    assert page.locator(".flow-veil").is_visible()


READ = """() => {
  const [one] = document.querySelector(".flow-read")?.getAnimations() ?? [];
  if (one?.playState !== "running") return false;
  window.given = one.effect.getTiming().duration;
  one.finish();
  return true;
}"""


def read(page) -> float:
    """Seconds that the tour gives for its card; they are over at once."""
    until(page, READ, timeout=WAIT, hurry=200)
    return page.evaluate("given") / 1000


@pytest.mark.thorough
def test_the_tour_goes_on_by_itself_and_gives_time_to_guess(opened):
    page = opened(FRONT, before=PLAYED, clock=True, **MOVES)
    page.locator(READY).wait_for(timeout=WAIT)
    page.get_by_role("button", name="Take the tour: two minutes").click()
    card = page.get_by_role("region", name="tour")
    assert 2 < read(page) < 30
    card.get_by_text("2 of 10", exact=True).wait_for()
    pause, go_on = (card.get_by_role("button", name=name) for name in ("pause", "go on"))
    pause.click()
    go_on.wait_for()
    until(page, "document.activeElement.textContent === 'go on'")
    card.press("ArrowRight")
    card.get_by_text("3 of 10", exact=True).wait_for(timeout=WAIT)
    hidden = "getComputedStyle(document.querySelector('%s')).visibility === 'hidden'"
    drawn = (".flow-picture .word", ".flow-picture .next", ".flow-picture .fan", ".flow-knob")
    for spoils in (*drawn, "gpt2-flow .sentence"):
        assert page.evaluate(hidden % spoils), spoils
    go_on.click()
    card.get_by_role("button", name="ate").click()
    card.get_by_text("No: ␣lifted (0.44)").wait_for()
    assert not page.evaluate(hidden % ".flow-picture .word")
    read(page)
    card.get_by_text("4 of 10", exact=True).wait_for()
    card.get_by_role("button", name="next").click()
    card.get_by_text("5 of 10", exact=True).wait_for(timeout=WAIT)
    go_on.wait_for()  # a reader who steps takes over
    card.get_by_role("button", name="close").click()
    until(page, "document.querySelector('gpt2-flow .flow-tour').hidden")
    assert page.locator(".flow-veil").is_hidden()


@pytest.mark.thorough
def test_the_tour_answers_where_nobody_guesses(opened):
    page = opened(f"{FRONT}?tour=3", before=PLAYED, clock=True, **MOVES)
    card = page.get_by_role("region", name="tour")
    card.get_by_role("button", name="go on").click(timeout=WAIT)
    assert read(page) > 6  # some of them to guess
    card.get_by_text("model say? ␣lifted (0.44): it bets on the machine").wait_for()
    read(page)
    card.get_by_text("4 of 10", exact=True).wait_for()


@pytest.mark.thorough
def test_on_a_phone_the_line_that_says_who_answers_is_there_from_the_first_paint(browser, address):
    """It is the largest text of the first screen: the picture comes with the same, where it was."""
    context = browser.new_context(viewport={"width": 412, "height": 823}, has_touch=True)
    page = context.new_page()
    held: list[Route] = []
    page.route("**/flow.js", lambda route: held.append(route))
    page.goto(f"{address}/{FRONT}")
    until(page, "[...document.fonts].some((face) => face.family.includes('Edu Mono'))")
    line = page.locator("gpt2-flow > .flow-who")
    text, box = line.text_content(), line.bounding_box()
    held[0].continue_()
    page.locator(READY).wait_for(timeout=WAIT)
    came = page.locator(".flow-top > .flow-who")
    assert came.bounding_box() == pytest.approx(box, abs=0.1) and box["height"] > 20
    assert came.text_content().replace("back to the book’s model ", "") == text
    assert line.count() == 0
    context.close()


def test_the_face_of_italics_comes_with_the_first_of_them(opened):
    page = opened(FRONT)
    page.locator(READY).wait_for(timeout=WAIT)
    faces = "[...document.fonts].filter((one) => one.family.includes('Edu Serif'))"
    assert page.evaluate(f"{faces}.map(({{ status }}) => status)") == ["loaded", "unloaded"]
    page.evaluate("document.querySelector('.pitch').style.fontStyle = 'italic'")
    until(page, f"{faces}.every(({{ status }}) => status === 'loaded')")
    page.evaluate("document.querySelector('.pitch').style.fontStyle = ''")


@pytest.mark.thorough
def test_what_writes_stops_where_a_stored_pass_is_opened(opened):
    page = opened(FRONT)
    page.locator(READY).wait_for(timeout=WAIT)
    high = page.locator(".flow-picture").bounding_box()["height"]
    page.get_by_role("button", name="write on", exact=True).click()
    until(page, "document.querySelectorAll('gpt2-flow .token').length >= 9", timeout=WAIT)
    assert page.locator(".flow-picture").bounding_box()["height"] == high
    page.get_by_role("button", name="more", exact=True).click()
    page.get_by_role("button", name="Artificial Intelligence is transforming the").click()
    until(page, "document.querySelectorAll('gpt2-flow .room').length === 14", timeout=WAIT)
    page.get_by_role("button", name="stop", exact=True).wait_for(state="detached", timeout=2000)
    assert page.get_by_role("button", name="write on", exact=True).is_visible()


@pytest.mark.thorough
def test_a_model_that_does_not_come_is_named_and_asked_again(browser, address):
    blocked = "**/files/crane.js"
    page = browser.new_page()
    page.route(blocked, lambda route: route.abort())
    page.goto(f"{address}/{FRONT}")
    page.locator(READY).wait_for(timeout=WAIT)
    field = page.locator("gpt2-flow input[type=text]")
    field.fill("By the river")
    page.get_by_text("did not come").wait_for(timeout=WAIT)
    page.unroute(blocked)
    field.fill("By the river, the")
    until(page, "document.querySelectorAll('gpt2-flow .token').length === 7", timeout=WAIT)
    page.close()


@pytest.mark.thorough
def test_a_block_says_that_its_model_is_loading(browser, address):
    page = browser.new_page()
    held: list[Route] = []
    page.route("**/files/crane.js", lambda route: held.append(route))
    page.goto(f"{address}/{FRONT}")
    page.locator(READY).wait_for(timeout=WAIT)
    page.get_by_role("button", name="block 1: open it").press("Enter")
    page.get_by_text("Loading the model, to compute block 1.").first.wait_for(timeout=WAIT)
    page.close()


@pytest.mark.thorough
def test_the_picture_stands_above_the_fold_and_the_ways_to_begin_are_side_by_side(opened, address):
    page = opened("robots.txt")
    wide = ["h1", ".pitch", "gpt2-flow input[type=text]", ".flow-picture", ".flow-play"]
    for width, height, seen, rows in ((1280, 800, wide, 1), (390, 844, wide[:3], 2)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{address}/{FRONT}")
        page.locator(READY).wait_for(timeout=WAIT)
        for selector in seen:
            box = page.locator(f"article {selector}").first.bounding_box()
            assert box and box["y"] + box["height"] <= height and box["x"] >= 0, selector
        line = ".flow-result" if width < 700 else ".flow-controls"
        edge = page.locator(line).bounding_box()["y"]
        for room in page.locator(".room.opens").all():
            box = room.bounding_box()
            assert box["y"] + box["height"] < edge
        if width < 700:
            assert "ate 0.53" in page.locator(line).inner_text()
        boxes = [way.bounding_box() for way in page.locator(".begin a").all()]
        assert len(boxes) == 4 and len({box["y"] for box in boxes}) == rows


@pytest.mark.thorough
def test_in_a_chapter_too_play_is_at_the_edge_of_a_phones_screen(opened):
    page = opened("notebooks/17_inside.html", viewport={"width": 390, "height": 844})
    page.locator("gpt2-flow").scroll_into_view_if_needed()
    page.locator(READY).wait_for(timeout=WAIT)
    page.locator("gpt2-flow").evaluate("e => e.scrollIntoView()")
    box = page.get_by_role("button", name="play", exact=True).bounding_box()
    assert box and box["y"] + box["height"] <= 844
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
