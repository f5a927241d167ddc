"""What holds for every exhibit: keyboard, touch, odd addresses, haste, small models, errors."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu import crane as world
from gpt2_edu.web import save_for_page
from tests.thorough import thorough
from tests.web.exhibits.test_ask import SETTINGS as ASK
from tests.web.exhibits.test_cost import SETTINGS as COST
from tests.web.exhibits.test_crane import SETTINGS as CRANE
from tests.web.exhibits.test_cups import SETTINGS as CUPS
from tests.web.exhibits.test_downhill import SETTINGS as DOWNHILL
from tests.web.exhibits.test_draft import SETTINGS as DRAFT
from tests.web.exhibits.test_museum import cases
from tests.web.exhibits.test_own_model import TOKENIZER, choose
from tests.web.exhibits.test_rotation import SETTINGS as ROTATION

pytestmark = pytest.mark.browser
MARSH, CITY = "In the marsh, the crane", "In the city by the river, the crane"
STORY = world.story(1_000_000)
SHOT = {"good": 0.5, "story": "A crane .", "fails": None, "heads": [[100, 50, 50]]}
SETTINGS: dict[str, dict[str, Any]] = {
    "ask": ASK,
    "bits": {"head": "1.0"},
    "blocks": {"stories": [STORY]},
    "cache": {},
    "cost": COST,
    "crane": CRANE,
    "cups": CUPS,
    "downhill": DOWNHILL,
    "draft": DRAFT,
    "heads": {"head": "1.0"},
    "layernorm": {},
    "mask": {"word": "city", "at": 3, "watch": 6, "words": []},
    "mistakes": {"story": STORY},
    "mlp": {"at": 3, "block": "1"},
    "museum": {"cases": cases(), "head": "1.0", "floor": 0.4, "every": 1, "draws": ["no mask"]},
    "order": {},
    "rotation": ROTATION,
    "sampling": {},
    "scores": {"seed": 1},
    "snapshots": {
        "shots": [{"step": 10**n, "loss": 3 - n, **SHOT} for n in range(3)],
        "losses": [[10**n, 3 - n] for n in range(3)],
        "floor": 0.4,
        "tokens": ["crane", "ate"],
        "titles": ["0.0"],
        "watch": {"row": 1, "column": 0},
    },
    "tokens": {},
    "unit": {"examples": [{"unit": "1.356", "text": "A crane", "name": "a bird"}]},
    "units": {"block": "1", "unit": 304},
    "valley": {},
    "writers": {},
}


@pytest.fixture
def kind_of(exhibit):
    """``kind_of(kind)``: an exhibit with settings of its kind."""

    def show(kind: str, **more: Any):
        return exhibit(kind, **{"text": MARSH, "chips": [CITY], **SETTINGS[kind], **more})

    return show


KEYS = [
    ("ask", "input[type=range]", "Home", "?strength=0"),
    ("bits", "input[type=range]", "Home", "?bits=2"),
    ("blocks", ".strip button", "Alt+ArrowRight", "?order=1+0+2"),
    ("cache", ".switchboard > button", "Enter", "?steps=7"),
    ("cost", ".choice button", "ArrowRight Enter", "?job=train"),
    ("crane", "[aria-label^='query of crane']", "ArrowRight ArrowUp", "?q.x=0.8&q.y=0.8"),
    ("cups", ".cups button", "Enter ArrowRight Enter", "?swaps=AC+BD+AB&now=false&steps=false"),
    ("downhill", "input[type=range]", "ArrowRight ArrowRight", "?steps=2"),
    ("draft", "input[type=range]", "ArrowRight", "?ahead=4"),
    ("heads", ".thumbs button", "ArrowRight Enter", "?head=1.1&off=1.1"),
    ("layernorm", ".strip button", "ArrowLeft Enter", "?at=5"),
    ("mask", "input[type=checkbox]", "Space", "?mask=false"),
    ("mistakes", "input[type=checkbox]", "Space", "?wrong=square+nothing"),
    ("mlp", ".strip button", "ArrowRight Enter", "?at=4"),
    ("museum", ".console button", "ArrowRight ArrowRight Enter", "?bug=mask+after+softmax"),
    ("order", ".strip button", "ArrowRight ArrowRight Alt+ArrowLeft", "?order=2+1+3+4+5"),
    ("rotation", "[aria-label^='query:']", "ArrowRight ArrowUp", "?query=5"),
    ("sampling", "input[type=range]", "Home", "?temperature=0"),
    ("scores", "input[type=checkbox]", "Space", "?root=true"),
    ("snapshots", "input[type=range]", "End ArrowLeft", "?shot=1"),
    ("tokens", "input[type=range]", "Home ArrowRight", "?merges=1"),
    ("unit", "input[type=range]", "Home ArrowRight", "?which=1"),
    ("units", "input[type=range]", "Home ArrowRight", "?unit=1"),
    ("valley", "input[type=range]", "Home", "?rate=0.001"),
    ("writers", "button.bar", "Enter", "?off=embd"),
]


ODD = """async (text) => {
  const { state } = await import("/web/exhibits/state.mjs");
  const odd = ({ first }) => (typeof first === "number" ? "1e99" : text);
  return Object.fromEntries([...state.known].map(([name, known]) => [name, odd(known)]));
}"""


SOON = [thorough(*key) if number % 8 else key for number, key in enumerate(KEYS)]


@pytest.mark.parametrize(("kind", "part", "keys", "query"), SOON, ids=[key[0] for key in KEYS])
def test_keys_alone_are_enough(kind_of, kind, part, keys, query):
    shown = kind_of(kind)
    before = shown.sentence
    shown.tab_to(part)
    shown.press(*keys.split())
    assert shown.query == query
    assert shown.sentence != before
    shown.tab_to(".foot > span > :last-child")  # reset
    shown.press("Enter")
    assert (shown.query, shown.state) == ("", "ready")


def among(kinds: set[str]) -> list[Any]:
    """All kinds; in make test only these."""
    return [kind if kind in kinds else thorough(kind) for kind in SETTINGS]


@pytest.mark.parametrize("kind", among({"crane", "heads"}))
def test_an_odd_address_is_taken_as_far_as_it_makes_sense(kind_of, kind):
    shown = kind_of(kind)
    odd = shown.page.evaluate(ODD, "<img src=x onerror=alert(1)> \u202e שלום 🐦" * 12)
    shown = kind_of(kind, query=odd)
    shown.stands()
    assert len(shown.tokens()) <= 400
    shown.element.get_by_role("button", name="reset").click()
    assert (shown.query, shown.state) == ("", "ready")


def test_every_kind_has_keys():
    assert {kind for kind, *_ in KEYS} == set(SETTINGS)


TAPS = [
    ("ask", ".go", "?asked=true"),
    ("blocks", ".strip button >> nth=1", "?out=1"),
    ("cost", ".choice button >> nth=1", "?job=train"),
    ("heads", ".board td[data-place='2 1'] >> nth=0", ""),
    ("mlp", ".choice button >> nth=-1", "?block=2"),
    ("museum", ".console button >> nth=1", "?bug=no+mask"),
    ("rotation", ".choice button >> nth=2", "?pair=2"),
    ("sampling", ".track", "?dart="),
    ("tokens", ".halves .strip button >> nth=0", "?token=gpt2+0"),
    ("units", "canvas", "?unit="),
    ("writers", "button.bar >> nth=1", "?off=h.0.attn.out"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "part", "query"), TAPS)
def test_a_finger_is_enough(kind_of, kind, part, query):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    shown = kind_of(kind, context=phone)
    shown.element.locator(part).tap()
    assert shown.query.startswith(query)
    shown.stands()


# While the exhibit comes up from below a phone's screen: what sticks leaves its place, and the
# texts before it that it covers. The picture of the whole is longer than a screen, and shows below.
UNDER = """(exhibit) => {
  document.body.style.marginTop = "100vh";
  const all = [...exhibit.querySelectorAll("*")];
  const sticky = all.filter((e) => getComputedStyle(e).position === "sticky" && e.offsetHeight);
  const told = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const seen = (e) => e.checkVisibility() && !e.matches(".flow-stage *, .aloud");
  const texts = all.filter((e) => told(e) && seen(e));
  const [places, covered] = [new Set(), new Set()];
  const high = exhibit.getBoundingClientRect().bottom;
  for (let y = 0; y < high; y += 40) {
    scrollTo(0, y);
    for (const one of sticky) {
      const { top, bottom } = one.getBoundingClientRect();
      places.add(Math.round(top - exhibit.getBoundingClientRect().top));
      for (const text of texts) {
        const { top: over, bottom: under } = text.getBoundingClientRect();
        const before = one.compareDocumentPosition(text) === Node.DOCUMENT_POSITION_PRECEDING;
        if (before && over < bottom - 1 && under > top + 1) covered.add(text.textContent);
      }
    }
  }
  return [places.size > sticky.length, [...covered]];
}"""


@pytest.mark.parametrize("kind", ["cost", "flow", thorough("museum"), thorough("sampling")])
def test_what_sticks_on_a_phone_covers_nothing_that_comes_before_it(exhibit, kind):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    settings = {"text": MARSH, "chips": [CITY], **SETTINGS.get(kind, {})}
    shown = exhibit(kind, first="Move it. What changes?", context=phone, **settings)
    assert shown.element.evaluate(UNDER) == [True, []]


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
        thorough("layernorm", "input[type=range]", "slide"),
        thorough("order", ".strip button >> nth=1", "press"),
        thorough("heads", "input[type=text]", "type"),
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
        box = held.locator(".handle").bounding_box()
        shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        shown.page.mouse.down()
    held.evaluate(MANY, act)
    shown.page.mouse.up()
    after = seen(shown)
    query = dict(parse_qsl(shown.query[1:]))
    assert before != after == seen(kind_of(kind, query=query))


MOVES = """async (button) => {
  button.click();
  let most = 0;
  for (const begin = performance.now(); !most && performance.now() - begin < 300; ) {
    // others follow the reader's scrolling
    most = document.getAnimations().filter((one) => one.timeline === document.timeline).length;
    await new Promise(requestAnimationFrame);
  }
  return most;
}"""


@pytest.mark.parametrize(("kind", "button"), [("cache", "next token"), ("snapshots", "play")])
@pytest.mark.thorough
def test_nothing_moves_for_a_reader_who_wants_no_motion(kind_of, kind, button):
    for motion in ("no-preference", "reduce"):
        shown = kind_of(kind, context={"reduced_motion": motion, "speed": 1})
        most = shown.element.get_by_role("button", name=button).evaluate(MOVES)
        assert (most > 0) == (kind == "cache" and motion == "no-preference")
    if button == "play":
        shown.element.get_by_role("button", name=button).wait_for()  # played when asked, to its end
        assert "to 100" in shown.sentence


def test_no_frame_is_needed(kind_of, crane):
    """A tab behind others draws none."""
    shown = kind_of("heads")
    shown.page.evaluate("() => { globalThis.requestAnimationFrame = () => 0; }")
    shown.element.locator("input[type=text]").fill(CITY)
    assert shown.bars() == pytest.approx(crane.next(crane.trace(CITY)["logits"]), abs=1e-3)


LEAST = {"n_layer": 1, "n_head": 1, "n_embd": 1, "block_size": 1}


@pytest.mark.thorough
@pytest.mark.parametrize("kinds", [["heads", "layernorm"], list(SETTINGS)], ids=len)
def test_the_smallest_model_answers(kind_of, tmp_path, kinds):
    path = tmp_path / "mine.safetensors"
    save_for_page(GPT2(GPT2Config(vocab_size=270, **LEAST)), TOKENIZER, path)
    choose(kind_of("heads"), path)
    for kind in kinds:
        shown = kind_of(kind)
        shown.stands()
        asks = shown.element.evaluate("(e) => e.own.needsModel")
        assert shown.status == ("mine answers." if asks else ""), kind


def test_a_browsers_own_error_is_not_shown(kind_of):
    shown = kind_of("heads")
    shown.element.evaluate("(e) => { e.parts.show = () => undefined.length; e.update(); }")
    assert shown.status.startswith("something went wrong. Press “reset”")
    assert shown.state == "stale"
    shown.element.evaluate("(e) => { e.parts.show = () => {}; }")
    shown.element.get_by_role("button", name="reset").click()
    assert (shown.ready().status, shown.state) == ("", "ready")


def test_the_books_model_is_offered_where_an_exhibit_fails(kind_of, crane):
    shown = kind_of("heads")
    shown.element.evaluate("(e) => { e.model.loaded.own = true; e.fail(new TypeError('engine')); }")
    assert "does not answer: something went wrong" in shown.element.inner_text()
    shown.element.get_by_role("button", name="the book's model").click()
    shown.element.locator(".bar").first.wait_for()
    assert shown.bars() == pytest.approx(crane.next(crane.trace(MARSH)["logits"]), abs=1e-3)
