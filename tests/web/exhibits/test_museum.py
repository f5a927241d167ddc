"""The exhibit of chapter 19: all bugs of the museum on one console, known or as a riddle."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import KVCache
from gpt2_edu.analysis import bugs
from gpt2_edu.sampling import next_probabilities
from tests.thorough import thorough
from tests.web.exhibits.conftest import READY, WAIT

pytestmark = pytest.mark.browser
MARSH = "In the marsh, the crane"
RIVER = "By the river, the crane"
FORWARD = [
    "no mask",
    "mask after softmax",
    "finite mask",
    "wrong view",
    "positions forgotten",
    "softmax before cross-entropy",
    "transposed Conv1D",
    "scale by C",
    "ε outside the root",
    "unbiased variance",
    "erf for tanh",
]


def case(name: str, **more) -> dict:
    """What a notebook stores of a bug; the numbers are made up, and healthy if not given."""
    bug = bugs.find(name)
    words = {"name": name, "right": bug.right, "wrong": bug.wrong, "symptom": bug.symptom}
    healthy = {"losses": [2.9, 0.5, 0.35], "use": [0.35, 0.35], "correct": 99, "kinds": 24}
    return words | {"text": "A crane beside a bat ate fish ."} | healthy | more


def cases() -> list[dict]:
    known = {
        "no mask": {"losses": [2.9, 0.2, 0.0], "use": [0.0, 0.0], "correct": 75, "kinds": 2},
        "wrong view": {"losses": [2.9, 0.2, 0.0], "use": [0.0, 0.0], "correct": 0, "kinds": 0},
        "dropout left on": {"use": [0.36, 0.47]},
        "if targets": {"error": "a tensor is neither true nor false"},
    }
    return [case("no bug"), *(case(name, **known.get(name, {})) for name in bugs.BUGS)]


@pytest.fixture
def museum(exhibit):
    def show(**more):
        settings = {"text": MARSH, "head": "1.0", "floor": 0.353, "every": 100}
        return exhibit("museum", cases=cases(), draws=["wrong view"], **(settings | more))

    return show


def choose(shown, name: str) -> None:
    shown.element.locator(".console").get_by_role("button", name=name, exact=True).click()
    shown.ready()


def lit(shown) -> dict[str, str]:
    """The signs that are lit, with their values."""
    signs = shown.ready().element.locator(".signs .lit")
    return {
        sign.locator("span").first.inner_text().rsplit(" ", 1)[0]: sign.locator("i").inner_text()
        for sign in signs.all()
    }


def wrote(shown) -> str:
    shown.page.wait_for_selector("gpt2-museum[data-wrote=yes]")
    return shown.element.get_by_text("It continues:").inner_text().removeprefix("It continues:")


# Each of some bugs is switched on; what the exhibit shows of it.
EACH = f"""async (element, [names, wait]) => {{
  const all = (selector, read) => [...element.querySelectorAll(selector)].map(read);
  const text = (selector) => (one) => one.querySelector(selector).innerText;
  const found = {{}};
  for (const name of names) {{
    const buttons = [...element.querySelectorAll(".console button")];
    buttons.find((one) => one.textContent === name).click();
    await ({READY})(element, wait);
    const bars = [...element.querySelectorAll(".bar")];
    const visible = bars.filter((one) => one.style.visibility !== "hidden");
    found[name] = {{
      bars: visible.map((one) => [text("b")(one), text("i")(one)]),
      cells: all(".board tr", (row) => [...row.querySelectorAll("td")].map((td) => td.innerText)),
      lit: all(".signs .lit", text("span")),
      sentence: element.querySelector(".sentence").innerText,
    }};
  }}
  return found;
}}"""


@pytest.mark.thorough
def test_maps_and_bars_are_those_of_the_same_bug_in_python(museum, crane):
    found = museum().element.evaluate(EACH, [FORWARD, WAIT])
    ids = torch.tensor([crane.ids(MARSH)])
    for name in FORWARD:
        with torch.no_grad(), bugs.broken(crane.model, name) as (copy, tape):
            logits = copy(ids)[0]
            later = ids.clone()
            later[0, -1] = (later[0, -1] + 1) % 1024
            weights = tape["transformer.h.1.attn.weights"][0, 0]
            past = (copy(later)[0] - logits)[:, :-1].abs().max().item()
        shown, expected = found[name], crane.next(logits, 1024)
        bars = {token: float(share.lstrip("<")) for token, share in shown["bars"]}
        assert bars == pytest.approx({n: expected[n] for n in bars}, abs=1.1e-3), name
        numbers = [[float(cell) for cell in row] for row in shown["cells"][1:]]
        assert numbers == [pytest.approx(row, abs=6e-3) for row in weights.tolist()], name
        signs = [sign.rsplit(" ", 1)[0] for sign in shown["lit"]]
        assert ("a later token changes the past" in signs) == (past > 1e-4), name
        assert ("colour above the diagonal" in signs) == (name in ("no mask", "finite mask")), name
        assert ("a row that does not sum to 1" in signs) == (name == "mask after softmax"), name
        assert "logits differ from the correct ones" in signs, name
        assert "no error is raised" in shown["sentence"]


@pytest.mark.thorough
def test_bugs_around_the_forward_pass_show_where_they_are(museum):
    shown = museum()
    assert shown.sentence == "No bug is on, and no sign is lit."
    assert lit(shown) == {}
    choose(shown, "dropout left on")
    symptoms = {"worse in use", "two passes differ", "logits differ from the correct ones"}
    assert set(lit(shown)) == symptoms
    choose(shown, "tied by copy")
    assert lit(shown) == {"parameters": f"{742_528 + 1024 * 128:,}"}
    choose(shown, "targets off by two")
    assert (
        shown.sentence == "With targets off by two no error is raised, and no sign is lit at all."
    )
    choose(shown, "if targets")
    assert lit(shown) == {"an error": "raised"}
    assert shown.sentence.endswith("1 of 17 bugs does this.")
    assert shown.query == "?bug=if+targets"


def drawn(model, ids: list[int], n: int) -> list[int]:
    """What the page draws: with a cache, by the page's random numbers."""
    seed, cache, text = 1, KVCache(model.config, batch_size=1), list(ids)
    whole = 2**32

    def chance() -> float:
        nonlocal seed
        seed = (seed + 0x6D2B79F5) % whole
        x = (seed ^ seed >> 15) * (seed | 1) % whole
        x ^= (x + (x ^ x >> 7) * (x | 61)) % whole
        return (x ^ x >> 14) / whole

    waiting = text
    for _ in range(n):
        logits = model(torch.tensor([waiting]), cache=cache)[0]
        shares = next_probabilities(logits[:, -1].double())[0]
        waiting = [int((shares.cumsum(0) > chance()).float().argmax())]
        if waiting == [1023]:
            break
        text += waiting
    return text[len(ids) :]


@pytest.mark.parametrize(
    "name", [thorough("no bug"), "cache with the wrong mask", thorough("transposed Conv1D")]
)
def test_the_text_is_what_the_bug_writes_in_python(museum, crane, name):
    shown = museum(text=RIVER)
    choose(shown, name)
    with torch.no_grad(), bugs.broken(crane.model, name) as (copy, _):
        ids = drawn(copy, crane.ids(RIVER), 12)
    assert wrote(shown) == "".join(crane.show(ids)).replace("␣", " ").replace("⏎", "\n")
    same = shown.element.get_by_text("So does the correct model.")
    assert (name == "no bug") == same.is_visible()


@pytest.mark.thorough
def test_a_riddle_names_nothing_until_it_is_guessed(museum):
    shown = museum(mystery=1)
    assert shown.sentence.startswith("Riddle 1: a bug is on, no error is raised, and 5 of 12 signs")
    assert "x.view(B, H, T, D)" not in shown.element.inner_text()
    choose(shown, "no mask")
    assert shown.sentence.startswith("Not no mask. There you would see this: The loss falls")
    assert shown.element.locator(".struck").all_inner_texts() == ["no mask"]
    choose(shown, "wrong view")
    assert shown.sentence.startswith("Yes, it is wrong view, at guess 2.")
    assert "x.view(B, H, T, D)" in shown.element.inner_text()
    shown.element.get_by_role("button", name="end the riddle").click()
    assert shown.ready().element.locator(".struck").count() == 0
    assert shown.sentence == "No bug is on, and no sign is lit."
    assert shown.query == "?mystery=0"
