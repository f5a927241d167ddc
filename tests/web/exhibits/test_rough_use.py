"""Ten changes in a frame, a reader who wants no motion, a tab behind others: exhibits hold."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import parse_qsl

import pytest

from gpt2_edu import crane as world

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city by the river, the crane"
STORY = world.story(1_000_000)
SHOT = {"good": 0.5, "story": "A crane .", "fails": None, "heads": [[100, 50, 50]]}
CASES = [
    {"name": name, "right": "", "wrong": "", "symptom": "", "text": "", "losses": [2.9, 0.4]}
    | {"use": [0.4, 0.4], "correct": 99, "kinds": 24}
    for name in ("no bug", "no mask", "scale by C", "transposed Conv1D", "erf for tanh")
]
SETTINGS: dict[str, dict[str, Any]] = {
    "blocks": {"text": MARSH, "stories": [STORY]},
    "crane": {
        "word": "crane",
        "q": [0.7, 0.7],
        "words": {
            "crane": {"k": [0.7, 0.7], "v": [0.5, 0.5]},
            "ate": {"k": [0.9, 0.1], "v": [0.9, 0.1]},
            "rain": {"k": [-2, -2], "v": [-1, -1]},
        },
        "sentences": {"A crane ate.": ["crane", "ate"]},
        "rejected": "rain",
        "axes": ["animal", "machine"],
    },
    "inside": {"text": MARSH, "giver": CITY},
    "mask": {"text": MARSH, "word": "city", "at": 3, "watch": 6, "words": []},
    "mistakes": {"text": MARSH, "story": STORY},
    "mlp": {"text": MARSH, "at": 3, "block": "1"},
    "museum": {"text": MARSH, "cases": CASES, "head": "1.0", "floor": 0.4, "every": 1, "draws": []},
    "scores": {"seed": 1},
    "snapshots": {
        "shots": [{"step": 10**n, "loss": 3 - n, **SHOT} for n in range(3)],
        "losses": [[10**n, 3 - n] for n in range(3)],
        "floor": 0.4,
        "tokens": ["crane", "ate"],
        "titles": ["0.0"],
        "watch": {"row": 1, "column": 0},
    },
    "valley": {},
}
TYPED = ["cache", "heads", "mask", "mistakes", "mlp", "museum", "stations", "writers"]


@pytest.fixture
def kind_of(exhibit):
    """``kind_of(kind)``: an exhibit with settings of its kind."""
    return lambda kind, **more: exhibit(kind, **SETTINGS.get(kind, {"text": CITY}), **more)


def middle(element) -> tuple[float, float]:
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def token(shown, name: str):
    return shown.element.locator(".strip button", has_text=name)


# Ten changes within a frame and ten a few milliseconds apart, each told before the next.
MANY = """async (part, act) => {
  const { x, y } = part.getBoundingClientRect();
  const text = "By the river, the crane ate fish.";
  const change = {
    drag: (i) => new PointerEvent("pointermove", { clientX: x + 4 * i, clientY: y - 3 * i }),
    press: () => new KeyboardEvent("keydown", { key: "ArrowRight", altKey: true, bubbles: true }),
    slide: (i) => {
      part.value = Number(part.min) + ((part.max - part.min) * (i + 1)) / 22;
      return new Event("input");
    },
    pick: (i) => {
      const all = part.parentElement.querySelectorAll("button");
      all[i % all.length].click();
      return new Event("picked");
    },
    type: (i) => {
      part.value = text.slice(0, text.length - 19 + i);
      return new Event("input");
    },
  };
  await new Promise(requestAnimationFrame);
  for (let i = 0; i < 20; i++) {
    (act === "press" ? document.activeElement : part).dispatchEvent(change[act](i));
    await (i < 10 ? null : new Promise((done) => setTimeout(done, 5 * (i % 3))));
  }
}"""


@pytest.mark.parametrize(
    ("kind", "part", "act"),
    [
        ("crane", "[aria-label^='query of crane']", "drag"),
        ("valley", "input[type=range] >> nth=0", "slide"),
        ("scores", "input[type=range]", "slide"),
        ("layernorm", "input[type=range]", "slide"),
        ("sampling", "input[type=range] >> nth=0", "slide"),
        ("order", ".strip button >> nth=1", "press"),
        ("blocks", ".strip button:has-text('block 0')", "press"),
        ("museum", ".console button:has-text('no bug')", "pick"),
        ("inside", "input[type=text] >> nth=1", "type"),
        *((kind, "input[type=text] >> nth=0", "type") for kind in TYPED),
    ],
)
def test_of_many_changes_at_once_the_last_is_shown(kind_of, kind, part, act):
    def seen(shown) -> tuple[Any, ...]:
        return shown.bars(), shown.table(), shown.tokens()

    shown = kind_of(kind)
    before = seen(shown)
    held = shown.element.locator(part)
    held.focus()
    if act == "drag":
        shown.page.mouse.move(*middle(held.locator(".handle")))
        shown.page.mouse.down()
    held.evaluate(MANY, act)
    shown.page.mouse.up()
    after = seen(shown)
    assert shown.state == "ready"
    query = dict(parse_qsl(shown.query[1:]))
    assert before != after == seen(kind_of(kind, query=query))


def test_a_word_goes_on_while_its_key_is_held(kind_of):
    shown = kind_of("order")
    token(shown, "In").focus()
    held = shown.element.locator(".strip")
    held.evaluate(MANY, "press")
    assert shown.tokens()[-2:] == ["In", "␣crane"]


MOVES = """async (button) => {
  button.click();
  let most = 0;
  for (const begin = performance.now(); performance.now() - begin < 300; ) {
    const moving = document.getAnimations().filter((one) => one.timeline === document.timeline);
    most = Math.max(most, moving.length); // others follow the reader's scrolling
    await new Promise(requestAnimationFrame);
  }
  return most;
}"""


@pytest.mark.parametrize(
    ("kind", "button", "moves"),
    [
        ("cache", "next token", True),
        ("snapshots", "play", False),
        ("sampling", "throw by chance", False),
        ("order", "shuffle", False),
        ("blocks", "block 1", False),
    ],
)
def test_nothing_moves_for_a_reader_who_wants_no_motion(kind_of, kind, button, moves):
    for motion in ("no-preference", "reduce"):
        shown = kind_of(kind, context={"reduced_motion": motion})
        most = shown.element.get_by_role("button", name=button).evaluate(MOVES)
        assert (most > 0) == (moves and motion == "no-preference")
    if button == "play":
        shown.element.get_by_role("button", name=button).wait_for()  # played when asked, to its end
        assert "to 100" in shown.sentence


class Tab:
    """A tab that can stand behind another. Playwright's own pages are told that none does."""

    def __init__(self, browser, address: str) -> None:
        self.session = browser.new_browser_cdp_session()
        self.answers: list[Any] = []
        self.session.on("Target.receivedMessageFromTarget", self.receive)
        self.other, self.own = (
            self.session.send("Target.createTarget", {"url": url, "background": url == address})
            for url in ("about:blank", address)
        )
        self.name = self.session.send("Target.attachToTarget", self.own)["sessionId"]

    def receive(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if "id" in message:  # not something that happened by itself
            self.answers.append(message["result"]["result"].get("value"))

    def ask(self, expression: str) -> Any:
        """What an expression of JavaScript is there."""
        asked = {"expression": expression, "returnByValue": True}
        call = {"id": 1, "method": "Runtime.evaluate", "params": asked}
        message = {"sessionId": self.name, "message": json.dumps(call)}
        self.session.send("Target.sendMessageToTarget", message)
        while not self.answers:
            self.session.send("Browser.getVersion")  # answers are received meanwhile
        return self.answers.pop()

    def until(self, expression: str) -> None:
        """Wait until it is true."""
        for _ in range(300):
            if self.ask(expression):
                return
            time.sleep(0.1)
        raise AssertionError(f"still not: {expression}")

    def bring(self, which: dict[str, str], state: str) -> None:
        """This tab or the other one to the front."""
        self.session.send("Target.activateTarget", which)
        self.until(f"document.visibilityState === '{state}'")


@pytest.fixture
def tab(pages):
    """``tab(kind, **settings)``: an exhibit in a tab that was opened behind another."""
    opened: list[Tab] = []

    def open_(kind: str, **settings: Any) -> Tab:
        opened.append(Tab(pages.browser, pages.put(kind, settings)))
        opened[0].until(
            f"document.querySelector('gpt2-{kind}') && document.readyState === 'complete'"
        )
        return opened[0]

    yield open_
    for one in opened:
        for target in (one.own, one.other):
            one.session.send("Target.closeTarget", target)


READY = "document.querySelector('.g2-live').dataset.state === 'ready'"
BARS = """Object.fromEntries(Array.from(document.querySelectorAll(".bar"), (bar) =>
  [bar.querySelector("b").textContent, Number(bar.querySelector("i").textContent)]))"""


def test_an_exhibit_behind_other_tabs_wakes_and_is_right_when_it_is_seen(tab, crane):
    shown = tab("heads", text=MARSH)
    assert shown.ask("document.visibilityState") == "hidden"
    assert "printed" in shown.ask("document.body.innerText")
    shown.bring(shown.own, "visible")
    shown.until(READY)
    shown.bring(shown.other, "hidden")
    shown.ask(
        "{ const input = document.querySelector('.g2-live input[type=text]');"
        f"input.value = '{CITY}'; input.dispatchEvent(new Event('input')); }}"
    )
    shown.bring(shown.own, "visible")
    shown.until(READY)
    assert shown.ask(BARS) == pytest.approx(crane.next(crane.trace(CITY)["logits"]), abs=1e-3)


def test_a_run_that_plays_behind_other_tabs_ends(tab):
    shown = tab("snapshots", **SETTINGS["snapshots"])
    shown.bring(shown.own, "visible")
    shown.until(READY)
    shown.ask("document.querySelector('.switchboard button').click()")
    shown.bring(shown.other, "hidden")
    shown.until("document.querySelector('.sentence').textContent.includes('to 100')")
    shown.bring(shown.own, "visible")
    assert shown.ask("document.querySelector('.switchboard button').textContent") == "play"
