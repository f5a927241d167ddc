"""The exhibit of chapter 3: shares from query and keys, the new crane from shares and values."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu.exercises.tasks.crane.build import right as attention

pytestmark = pytest.mark.browser
EAT, LIFT = "A crane ate fish.", "A crane lifted steel."
WORDS = {
    "crane": ((0.7, 0.7), (0.5, 0.5)),
    "ate": ((0.9, 0.1), (0.9, 0.1)),
    "fish": ((0.9, 0.1), (0.8, 0.2)),
    "lifted": ((0.1, 0.9), (0.1, 0.9)),
    "steel": ((0.1, 0.9), (0.2, 0.8)),
    "rain": ((-2, -2), (-1, -1)),
}
SETTINGS = {
    "word": "crane",
    "q": (0.7, 0.7),
    "words": {word: {"k": k, "v": v} for word, (k, v) in WORDS.items()},
    "sentences": {EAT: ["crane", "ate", "fish"], LIFT: ["crane", "lifted", "steel"]},
    "rejected": "rain",
    "axes": ["animal", "machine"],
}


def python(words, q=(0.7, 0.7), k=None, v=None):
    """The chapter's shares and new crane, with other keys and values for some words."""
    keys = torch.tensor([(k or {}).get(word, WORDS[word][0]) for word in words]).float()
    values = torch.tensor([(v or {}).get(word, WORDS[word][1]) for word in words]).float()
    shares = (keys @ torch.tensor(q)).softmax(dim=0)
    new = attention(torch.tensor(q), keys, values)
    return pytest.approx(dict(zip(words, shares.tolist(), strict=True)), abs=1e-3), new.tolist()


def result(shown):
    """The tip of the new crane."""
    arrow = shown.ready().element.locator(".arrows").nth(1).locator(".thick")
    return [float(arrow.get_attribute(f"data-{axis}")) for axis in "xy"]


def is_pythons(shown, words, **other):
    shares, new = python(words, **other)
    assert shown.bars() == shares
    assert result(shown) == pytest.approx(new, abs=1e-3)


def handle(shown, name):
    """The place of a tip on the screen."""
    tip = shown.element.get_by_label(f"{name}:").locator(".handle")
    tip.scroll_into_view_if_needed()
    box = tip.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(shown, name, right, up, touch=False):
    x, y = handle(shown, name)
    shown.drag((x, y), (x + right, y - up), touch)


def numbers(shown, name):
    """The two numbers that an arrow stands for."""
    arrow = shown.ready().element.get_by_label(f"{name}:")
    return tuple(float(arrow.get_attribute(f"data-{axis}")) for axis in "xy")


def test_all_switches_give_the_chapters_numbers(exhibit):
    shown = exhibit("crane", **SETTINGS)
    is_pythons(shown, ["crane", "ate", "fish"])
    assert shown.sentence.endswith("New crane: (0.71, 0.29).")
    shown.element.get_by_text("add the rain").click()
    is_pythons(shown, ["crane", "rain", "ate", "fish"])
    assert "gets 0.009, so the new crane goes from (0.71, 0.29) to (0.70, 0.28)." in shown.sentence
    assert shown.sentence.endswith("(0.30, −0.05).")
    shown.element.get_by_role("button", name="lifted steel").click()
    is_pythons(shown, ["crane", "rain", "lifted", "steel"])
    assert shown.sentence.startswith("Other values in the same shares (crane 0.395, rain 0.009")
    shown.element.get_by_text("sees only itself and earlier words").click()
    assert shown.bars() == {"crane": 1, "rain": 0, "lifted": 0, "steel": 0}
    assert result(shown) == [0.5, 0.5]


def test_a_value_that_is_dragged_freezes_the_shares(exhibit):
    shown = exhibit("crane", **SETTINGS)
    before, shares = result(shown), shown.bars()
    drag(shown, "value of fish", -100, 90)
    moved = numbers(shown, "value of fish")
    assert moved != (0.8, 0.2)
    assert shown.bars() == shares and result(shown) != before
    is_pythons(shown, ["crane", "ate", "fish"], v={"fish": moved})
    assert shown.sentence.startswith("Another value of fish: no share moves (crane 0.398")
    ghosts = shown.element.locator(".arrows").nth(1).locator(".ghost")
    assert ghosts.first.get_attribute("data-x") == str(before[0])
    assert shown.query == f"?v.fish.x={moved[0]:g}&v.fish.y={moved[1]:g}"


def test_a_key_or_the_query_that_is_dragged_moves_shares(exhibit):
    shown = exhibit("crane", **SETTINGS)
    drag(shown, "key of fish", -200, 40)  # ate has the same key: the later word is taken
    key = numbers(shown, "key of fish")
    assert numbers(shown, "key of ate") == (0.9, 0.1) != key
    is_pythons(shown, ["crane", "ate", "fish"], k={"fish": key})
    assert shown.sentence.startswith("Another key of fish: its score goes from 0.70 to")
    drag(shown, "query of crane", 60, -60)
    q = numbers(shown, "query of crane")
    assert numbers(shown, "key of crane") == (0.7, 0.7) != q
    is_pythons(shown, ["crane", "ate", "fish"], k={"fish": key}, q=q)
    assert shown.element.locator(".bar.moved").count()


@pytest.mark.thorough
def test_labels_stay_in_the_plane_and_apart(exhibit):
    shown = exhibit("crane", query={"rejected": "true"}, **SETTINGS)
    assert shown.element.get_by_role("button", name="crane in the rain").count() == 2
    boxes = """svg => {
      const box = (one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        return [left, right, top, bottom];
      };
      const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent);
      return [box(svg), texts.map((text) => [text.textContent, ...box(text)])];
    }"""
    for plane in shown.element.locator(".arrows").all():
        (left, right, top, bottom), texts = plane.evaluate(boxes)
        for i, (name, x, to_x, y, to_y) in enumerate(texts):
            assert left - 1 <= x and to_x <= right + 1 and top - 1 <= y and to_y <= bottom + 1, name
            for other, x2, to_x2, y2, to_y2 in texts[:i]:
                beside = to_x <= x2 + 3 or to_x2 <= x + 3
                lines = abs(y + to_y - y2 - to_y2) / 2
                assert beside or lines > 13, (name, other)
    from_above = [name for name, _, _, y, _ in sorted(texts, key=lambda text: text[3])]
    tips = ["crane", "new crane", "fish", "ate", "average"]
    assert [name for name in from_above if name in tips] == tips
